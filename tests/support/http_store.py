"""A small HTTP server that keeps `/ac/…` and `/cas/…`, and misbehaves when it is told to."""

from __future__ import annotations

import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer


class Server(ThreadingHTTPServer):
    """What it keeps, what it was asked, and how it answers."""

    daemon_threads = True
    block_on_close = False

    def __init__(self) -> None:
        super().__init__(("127.0.0.1", 0), Handler)
        self.content: dict[str, bytes] = {}
        self.asked: list[str] = []
        self.status = 0
        """What it answers instead, unless it is 0."""
        self.delay = 0.0
        """Seconds before each answer."""
        self.pace = 0.0
        """Seconds between two bytes of an answer."""
        self.authorization: list[str | None] = []

    @property
    def url(self) -> str:
        return f"http://127.0.0.1:{self.server_address[1]}/cache"


class Handler(BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"
    server: Server

    def do_GET(self) -> None:
        if self._begin("GET"):
            content = self.server.content.get(self.path)
            self._answer(200 if content is not None else 404, content or b"")

    def do_PUT(self) -> None:
        content = self.rfile.read(int(self.headers["Content-Length"]))
        if self._begin("PUT"):
            self.server.content[self.path] = content
            self._answer(200, b"")

    def _begin(self, verb: str) -> bool:
        self.server.asked.append(f"{verb} {self.path}")
        self.server.authorization.append(self.headers.get("Authorization"))
        time.sleep(self.server.delay)
        if self.server.status:
            self._answer(self.server.status, b"")
        return not self.server.status

    def _answer(self, status: int, content: bytes) -> None:
        self.send_response(status)
        self.send_header("Content-Length", str(len(content)))
        self.end_headers()
        if not self.server.pace:
            self.wfile.write(content)
            return
        for byte in content:
            self.wfile.write(bytes([byte]))
            self.wfile.flush()
            time.sleep(self.server.pace)

    def handle_one_request(self) -> None:
        try:
            super().handle_one_request()
        except ConnectionError:  # the client did not wait
            self.close_connection = True

    def log_message(self, format: str, *arguments: object) -> None:
        """Tests print nothing."""


@contextmanager
def http_store() -> Iterator[Server]:
    server = Server()
    thread = threading.Thread(target=server.serve_forever, kwargs={"poll_interval": 0.01}, daemon=True)
    thread.start()
    try:
        yield server
    finally:
        server.shutdown()
        server.server_close()
        thread.join()
