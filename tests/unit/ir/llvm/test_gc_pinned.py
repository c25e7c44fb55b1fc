"""Handles that Python's collector does not look at: what they hold outlives every finalizer of a cycle."""

from __future__ import annotations

import gc
import weakref

from triptych.ir.llvm.loader import GcPinned


class Value:
    """Something that can be seen to go."""


class Owner:
    """In a cycle with itself."""

    def __init__(self, told: list[bool]) -> None:
        self.handle = GcPinned(Value())
        self.gone = weakref.ref(self.handle.value)
        self.me = self
        self._told = told

    def __del__(self) -> None:
        self._told.append(self.gone() is not None and isinstance(self.handle.value, Value))


def test_the_value_goes_with_the_last_reference() -> None:
    handle = GcPinned(Value())
    gone, again = weakref.ref(handle.value), handle
    del handle
    assert again.value is gone()
    del again
    assert gone() is None


def test_finalizers_of_a_cycle_find_the_value() -> None:
    told: list[bool] = []
    gone = Owner(told).gone
    gc.collect()
    assert told == [True]
    assert gone() is None


def test_the_collector_does_not_look_at_handles() -> None:
    assert not gc.is_tracked(GcPinned(Value()))
