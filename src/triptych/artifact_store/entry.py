"""Entry of the store: its artifacts, and how it is listed without them."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import TypeAlias

JSON: TypeAlias = "bool | int | float | str | list[JSON] | tuple[JSON, ...] | Mapping[str, JSON] | None"


@dataclass(frozen=True, slots=True)
class Entry:
    """One compiled program, as data."""

    facts: Mapping[str, JSON]
    """Small: function, target, ingredients of the key, how to call it. Tuples come back as lists."""
    artifacts: Mapping[str, bytes]
    """By name, as `object`, `ptx`, `cubin`, `mlir`; each as the tool that made it wrote it."""


@dataclass(frozen=True, slots=True)
class Listed:
    """An entry as a listing shows it."""

    key: str
    facts: Mapping[str, JSON]
    artifacts: Mapping[str, int]
    """Their sizes in bytes, by name."""
    bytes: int
    """Of the record and its artifacts; an artifact that two entries share counts for both."""
    used: float
    """Seconds since the epoch, within a minute."""


@dataclass(frozen=True, slots=True)
class Checked:
    """What `Store.verify` and `Store.import_` saw."""

    good: int
    discarded: tuple[str, ...]
    """What was not as it should be: `ac/KEY` or `cas/DIGEST`."""


@dataclass(frozen=True, slots=True)
class Pruned:
    """What `Store.prune` removed, and what is left."""

    files: int
    freed: int
    left: int
