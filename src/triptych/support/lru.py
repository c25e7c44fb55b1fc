"""LRU cache: a table with a bound, from which the least recently used entry is evicted.

Looking up takes no lock (a child that is forked while one is held would wait for ever): it notes a tick in the slot of
what it found. Putting in is the business of one thread at a time, which the owner sees to.
"""

from __future__ import annotations

import itertools
from collections.abc import Callable
from typing import Generic, TypeVar

K = TypeVar("K")
V = TypeVar("V")


class _Slot(Generic[V]):
    """A value and when it was last asked for."""

    __slots__ = ("used", "value")

    def __init__(self, value: V, used: int) -> None:
        self.value = value
        self.used = used


class LRUCache(Generic[K, V]):
    """At most `most()` values by key."""

    def __init__(self, most: Callable[[], int]) -> None:
        self._most = most
        self._slots: dict[K, _Slot[V]] = {}
        self._clock = itertools.count()

    def __len__(self) -> int:
        return len(self._slots)

    def get(self, key: K) -> V | None:
        """The value of a key, which becomes the one that was used last."""
        slot = self._slots.get(key)
        if slot is None:
            return None
        slot.used = next(self._clock)
        return slot.value

    def values(self) -> list[V]:
        """All that there are now."""
        return [slot.value for slot in self._slots.copy().values()]

    def put(self, key: K, value: V) -> V:
        """Add or replace a value; the one that was unused for the longest makes room for it."""
        self._slots.pop(key, None)
        while len(self._slots) >= self._most():
            # A copy: other threads may look up, and one that reads the last value of a slot changes nothing else.
            del self._slots[min(self._slots.copy().items(), key=lambda item: item[1].used)[0]]
        self._slots[key] = _Slot(value, next(self._clock))
        return value
