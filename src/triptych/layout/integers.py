"""The integers a layout is made of: Python ints and anything that satisfies `DynamicInt`.

Input: integers known now or later. Output: the few questions the algebra may ask about them, and `require`,
the one place where an operation states what must hold. Nothing is assumed in silence: a requirement that cannot
be decided is checked when the program runs if its integers are run-time numbers, and refused otherwise, unless the
program opened `assuming()`, which collects it.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from contextvars import ContextVar
from typing import Protocol, TypeAlias

from triptych.layout.errors import DivisibilityError, LayoutError, UndecidableError
from triptych.support.dataclass import dataclass


class HasWidth(Protocol):
    """A type of elements, as far as the algebra asks: how many bits one has."""

    @property
    def width(self) -> int: ...


class DynamicInt(Protocol):
    """An integer known later: symbolic here, traced in a kernel. Arithmetic gives a plain int when it can."""

    @property
    def divisibility(self) -> int:
        """The largest integer known to divide the value."""

    @property
    def width(self) -> int:
        """Bits of the machine integer: 32 or 64."""

    def known_equal(self, other: Int) -> bool:
        """Whether the two values are equal for every run; never a guess."""

    def minimum(self, other: Int) -> Int:
        """The smaller of two values."""

    def promise(self, requirement: Requirement) -> bool:
        """Have it checked that the value is zero when it is known; False when that will not happen."""

    def __add__(self, other: Int) -> Int: ...
    def __radd__(self, other: int) -> Int: ...
    def __sub__(self, other: Int) -> Int: ...
    def __rsub__(self, other: int) -> Int: ...
    def __mul__(self, other: Int) -> Int: ...
    def __rmul__(self, other: int) -> Int: ...
    def __floordiv__(self, other: Int) -> Int: ...
    def __rfloordiv__(self, other: int) -> Int: ...
    def __mod__(self, other: Int) -> Int: ...
    def __rmod__(self, other: int) -> Int: ...
    def __neg__(self) -> Int: ...
    def __lt__(self, other: Int) -> bool: ...
    def __gt__(self, other: Int) -> bool: ...
    def __and__(self, other: int) -> Int: ...
    def __xor__(self, other: Int) -> Int: ...
    def __rxor__(self, other: int) -> Int: ...
    def __lshift__(self, other: int) -> Int: ...
    def __rshift__(self, other: int) -> Int: ...
    def __rlshift__(self, other: int) -> Int: ...


Int: TypeAlias = int | DynamicInt


def is_static(value: object) -> bool:
    """Whether every integer inside a value is known now."""
    if isinstance(value, tuple):
        return all(is_static(item) for item in value)
    return value is None or isinstance(value, int) or getattr(value, "is_static", False) is True


def is_one(value: Int) -> bool:
    """Whether a value is the number 1, known now."""
    return isinstance(value, int) and value == 1


def divisibility(value: Int) -> int:
    """The largest integer known to divide a value; 0 for the number 0, which everything divides."""
    return abs(value) if isinstance(value, int) else value.divisibility


def known_equal(a: Int, b: Int) -> bool:
    """Whether two integers are equal for every run, so that a dynamic comparison is never taken for an answer."""
    if isinstance(a, int):
        return a == b if isinstance(b, int) else b.known_equal(a)
    return a.known_equal(b)


def minimum(a: Int, b: Int) -> Int:
    """The smaller of two integers."""
    if isinstance(a, int):
        return min(a, b) if isinstance(b, int) else b.minimum(a)
    return a.minimum(b)


def divide_up(a: Int, b: Int) -> Int:
    """The quotient rounded up, for a positive divisor."""
    return (a + b - 1) // b


@dataclass(frozen=True, slots=True)
class Requirement:
    """What an operation needs of run-time values: `residue` must be zero."""

    operation: str
    statement: str
    residue: DynamicInt

    def __str__(self) -> str:
        return f"{self.operation} needs {self.statement}"


def _promise(requirement: Requirement) -> None:
    if requirement.residue.promise(requirement):
        return
    raise UndecidableError(
        f"{requirement.operation} cannot be decided for a dynamic layout",
        expected=requirement.statement,
        instead="a static integer, a declared divisibility (assume, ?{div=…}), or the operation inside "
        "`with assuming():`",
    )


_on_requirement: ContextVar[Callable[[Requirement], None]] = ContextVar("on_requirement", default=_promise)


@contextmanager
def assuming(sink: Callable[[Requirement], None] | None = None) -> Iterator[list[Requirement]]:
    """Let operations go on when they need something undecidable; every need is collected and given to `sink`."""
    collected: list[Requirement] = []

    def collect(requirement: Requirement) -> None:
        collected.append(requirement)
        if sink is not None:
            sink(requirement)

    token = _on_requirement.set(collect)
    try:
        yield collected
    finally:
        _on_requirement.reset(token)


def require(
    residue: Int,
    operation: str,
    statement: str,
    found: str,
    error: type[LayoutError] = DivisibilityError,
    instead: str = "",
) -> None:
    """State that `residue` must be zero: checked now when static; when dynamic promised, refused or collected."""
    if not isinstance(residue, int):
        _on_requirement.get()(Requirement(operation, f"{statement} ({found})", residue))
    elif residue != 0:
        raise error(f"{operation} has no exact result", found=found, expected=statement, instead=instead)
