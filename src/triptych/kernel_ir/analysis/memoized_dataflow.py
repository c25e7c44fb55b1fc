"""Memoized dataflow: facts about values that follow from facts about their operands, without recursion."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import TypeVar

Subject = TypeVar("Subject")
Fact = TypeVar("Fact")


def fact(
    value: Subject,
    known: dict[Subject, Fact],
    sources: Callable[[Subject], Iterable[Subject]],
    conclude: Callable[[Subject], Fact],
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
