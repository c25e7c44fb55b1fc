"""`http://` and `https://`: GET and PUT of `/ac/KEY` and `/cas/DIGEST` below the URL, as caches for Bazel have them.

A cache that insists on Bazel's own form of `/ac` has to be told not to (`--disable_http_ac_validation`); any server
that keeps files will do. A query of the URL, such as a token, is sent with each request. Redirections are not followed,
and proxies are not asked.
"""

from __future__ import annotations

from base64 import b64encode
from http.client import HTTPConnection, HTTPResponse, HTTPSConnection
from urllib.parse import unquote, urlsplit

from triptych.artifact_store.directory import Part

PACKAGES: tuple[str, ...] = ()
_LONGEST_REPLY = 1 << 16
"""Bytes of an answer that says nothing but its status."""


class HttpCache:
    """One connection, kept for all parts of an entry."""

    def __init__(self, url: str, timeout: float) -> None:
        parts = urlsplit(url)
        kind = HTTPSConnection if parts.scheme == "https" else HTTPConnection
        self._connection = kind(parts.hostname or "", parts.port, timeout=timeout)
        self._path = parts.path.rstrip("/")
        self._query = f"?{parts.query}" if parts.query else ""
        self._headers = {}
        if parts.username is not None:
            who = f"{unquote(parts.username)}:{unquote(parts.password or '')}"
            self._headers["Authorization"] = f"Basic {b64encode(who.encode()).decode()}"

    def read(self, part: Part, name: str, limit: int) -> bytes | None:
        answer = self._ask("GET", part, name, None)
        content = answer.read(limit + 1 if answer.status == 200 else _LONGEST_REPLY)
        if answer.status in (404, 410):
            return None
        if answer.status != 200:
            raise OSError(f"GET answered {answer.status} {answer.reason}")
        return content

    def write(self, part: Part, name: str, data: bytes) -> None:
        answer = self._ask("PUT", part, name, data)
        answer.read(_LONGEST_REPLY)
        if answer.status not in (200, 201, 202, 204):
            raise OSError(f"PUT answered {answer.status} {answer.reason}")

    def close(self) -> None:
        self._connection.close()

    def _ask(self, verb: str, part: Part, name: str, data: bytes | None) -> HTTPResponse:
        headers = {**self._headers, "Content-Type": "application/octet-stream"} if data is not None else self._headers
        self._connection.request(verb, f"{self._path}/{part}/{name}{self._query}", data, headers)
        return self._connection.getresponse()


def connect(url: str, timeout: float, *, trusts_anyone: bool) -> HttpCache:
    """The server is reached by the first question."""
    return HttpCache(url, timeout)
