"""`redis://`, `rediss://` and `unix://`: a string for each part, as `triptych:ac:KEY`. Needs the package redis.

What leaves, and when, is the server's own policy (`maxmemory-policy`): an entry without an artifact is a miss.
"""

from __future__ import annotations

from typing import Any

from triptych.artifact_store.directory import Part
from triptych.support.forking import import_late

PACKAGES: tuple[str, ...] = ("redis", "redis.retry", "redis.backoff")


class RedisCache:
    """One client, for one look-up or one publication."""

    def __init__(self, client: Any) -> None:
        self._client = client

    def read(self, part: Part, name: str) -> bytes | None:
        content: bytes | None = self._client.get(f"triptych:{part}:{name}")
        return content

    def write(self, part: Part, name: str, data: bytes) -> None:
        self._client.set(f"triptych:{part}:{name}", data)

    def close(self) -> None:
        self._client.close()


def connect(url: str, timeout: float) -> RedisCache:
    """Nothing is tried again: whoever waits would rather compile."""
    redis = import_late("redis")
    once = import_late("redis.retry").Retry(import_late("redis.backoff").NoBackoff(), 0)
    client = redis.Redis.from_url(
        url, socket_timeout=timeout, socket_connect_timeout=timeout, retry=once, decode_responses=False
    )
    return RedisCache(client)
