"""`redis://`, `rediss://` and `unix://`: a string for each part, as `triptych:ac:KEY`. Needs the package redis.

What leaves, and when, is the server's own policy (`maxmemory-policy`): an entry without an artifact is a miss.
"""

from __future__ import annotations

import os
from typing import Any
from urllib.parse import unquote, urlsplit

from triptych.artifact_store.directory import Part, check_owner
from triptych.artifact_store.record import NotAnEntry
from triptych.support.forking import import_late

PACKAGES: tuple[str, ...] = ("redis", "redis.exceptions", "redis.retry", "redis.backoff")


class RedisCache:
    """One client, for one look-up or one publication."""

    def __init__(self, client: Any) -> None:
        self._client = client

    def read(self, part: Part, name: str, limit: int) -> bytes | None:
        """A range, in one round trip: of a value that is larger, the rest is not sent. None of ours is empty."""
        try:
            content: bytes = self._client.getrange(f"triptych:{part}:{name}", 0, limit)
        except import_late("redis.exceptions").ResponseError as error:
            if str(error).startswith("WRONGTYPE"):  # somebody else's key, and no fault of the server
                raise NotAnEntry("a value of Redis that is no string") from error
            raise
        return content or None

    def write(self, part: Part, name: str, data: bytes) -> None:
        self._client.set(f"triptych:{part}:{name}", data)

    def close(self) -> None:
        self._client.close()


def connect(url: str, timeout: float, *, trusts_anyone: bool) -> RedisCache:
    """Nothing is tried again: whoever waits would rather compile. Who can write to a socket can write to the store."""
    parts = urlsplit(url)
    if parts.scheme == "unix" and not trusts_anyone:
        for path in (unquote(parts.path), os.path.dirname(unquote(parts.path))):
            check_owner(path, os.stat(path))
    redis = import_late("redis")
    options: dict[str, Any] = {"ssl_check_hostname": True} if parts.scheme == "rediss" else {}
    once = import_late("redis.retry").Retry(import_late("redis.backoff").NoBackoff(), 0)
    client = redis.Redis.from_url(
        url, socket_timeout=timeout, socket_connect_timeout=timeout, retry=once, decode_responses=False, **options
    )
    return RedisCache(client)
