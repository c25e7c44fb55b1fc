"""Facts about values that follow from facts about what they are computed from: chains are longer than any stack."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import Any, TypeVar

Fact = TypeVar("Fact")


def fact(
    value: Any, known: dict[Any, Fact], sources: Callable[[Any], Iterable[Any]], conclude: Callable[[Any], Fact]
) -> Fact:
    """What is known of a value. `conclude` is called once for each value, when its sources are known."""
    pending = [value]
    while pending:
        found = pending[-1]
        unknown = [] if found in known else [source for source in sources(found) if source not in known]
        if unknown:
            pending += unknown
            continue
        pending.pop()
        if found not in known:
            known[found] = conclude(found)
    return known[value]
