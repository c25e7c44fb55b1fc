"""Variables that are not simply assigned: assigned on some paths only, or not yet when a loop starts."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from triptych.hooks import DEAD, UNDEFINED
from triptych.metastage.control_flow.join_plans import Plan, carry
from triptych.support.source import Span


class Partial:
    """A variable that some path leaves unassigned; reading it is an error unless every path to the read assigned it."""

    __slots__ = ("missing", "value")

    def __init__(self, value: object, missing: tuple[str, Span | None]) -> None:
        self.value = value
        self.missing = missing
        """The path without a definition: its description and place."""


class Pending:
    """A variable that is unassigned when a loop starts: its type is known once something in the loop assigns it."""

    __slots__ = ("_materialize", "dead", "value")

    def __init__(self, materialize: Callable[[Plan], Any], dead: bool) -> None:
        self._materialize = materialize
        self.dead = dead
        """Whether no path reads it before assigning it, so that it is never missing."""
        self.value: Any = UNDEFINED
        """The value at the loop's head, once it has a type."""

    def like(self, value: object) -> Any:
        """The value that this variable has at the loop's head, shaped like `value`."""
        return self.shaped(carry(value))

    def shaped(self, plan: Plan) -> Any:
        """The value that this variable has at the loop's head; it crosses by `plan` unless it has a shape already."""
        if self.value is UNDEFINED:
            self.value = self._materialize(plan)
        return self.value


def bare(value: object) -> Any:
    """The value itself, with a placeholder on the paths that leave it unassigned."""
    if value is DEAD:
        return UNDEFINED
    if isinstance(value, Partial):
        return value.value
    return value.value if isinstance(value, Pending) else value


def is_dead(value: object) -> bool:
    """Whether no path reads this variable before assigning it."""
    return value is DEAD or (isinstance(value, Pending) and value.dead)


def settle(one: object, other: object) -> tuple[Any, Any]:
    """Two values about to meet: a pending one takes the shape of the other."""
    for pending, known in ((one, other), (other, one)):
        if isinstance(pending, Pending) and pending is not known and bare(known) is not UNDEFINED:
            pending.like(bare(known))
    return bare(one), bare(other)


def missing_path(*values: object) -> tuple[str, Span | None] | None:
    """The path on which one of the values is unassigned, if any."""
    found = [v.missing for v in values if isinstance(v, Partial)]
    waiting = [v for v in values if isinstance(v, Pending) and not v.dead]
    found += [("when the loop has not assigned it before", None) for _ in waiting]
    return found[0] if found else None
