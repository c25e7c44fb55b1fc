"""Stores for tests: entries that say which key they belong to, and what happens while a store is used."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from hashlib import sha256
from pathlib import Path

from triptych.artifact_store.events import StoreEvent, add_hook
from triptych.artifact_store.record import Entry
from triptych.artifact_store.store import Store


def key_of(number: int) -> str:
    return sha256(f"key {number}".encode()).hexdigest()


def entry_of(number: int, size: int = 200) -> Entry:
    """An entry whose content follows from its number: what is loaded is right, or it is seen."""
    content = (sha256(f"content {number}".encode()).digest() * (size // 32 + 1))[:size]
    return Entry({"function": f"f{number}", "options": [1, 2.5, None, True]}, {"object": content, "mlir": b"module {}"})


def files_of(folder: Path, part: str) -> list[Path]:
    return sorted(path for path in (folder / part).rglob("*") if path.is_file())


def store_in(folder: Path, **settings: object) -> Store:
    return Store(str(folder), **settings)  # type: ignore[arg-type]  # as the test says


@contextmanager
def events() -> Iterator[list[StoreEvent]]:
    """Every event of the block."""
    seen: list[StoreEvent] = []
    remove = add_hook(seen.append)
    try:
        yield seen
    finally:
        remove()


def kinds(seen: list[StoreEvent]) -> list[str]:
    return [event.kind for event in seen]
