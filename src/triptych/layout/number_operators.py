"""Operators on run-time numbers that the polynomials of the algebra do not answer.

Input: an integer known later and another operand. Output: what is the same in every run where that is seen; else an
operation of the run-time number that the integer stands for. One that stands for none is refused.
A language registers the class of its numbers; as coordinates of a layout they become integers of the algebra, and its
answers numbers again. Otherwise what is exact in the algebra would wrap where the type of the number ends.
"""

from __future__ import annotations

import operator
from abc import abstractmethod
from collections.abc import Callable, Mapping
from types import MappingProxyType
from typing import Any, TypeAlias

from triptych.layout.errors import UndecidableError
from triptych.layout.integers import Int

Bounds: TypeAlias = tuple[int | None, int | None]
"""The smallest and the largest number that a value may be, as far as they are known."""

COMPARISONS: Mapping[str, Callable[[Any, Any], Any]] = MappingProxyType(
    {
        "<": operator.lt,
        "<=": operator.le,
        ">": operator.gt,
        ">=": operator.ge,
        "==": operator.eq,
        "!=": operator.ne,
    }
)
MOST_FACTORS = 64
"""The largest exponent of a power that is written as a product, as for run-time numbers."""


def decided(op: str, bounds: Bounds) -> bool | None:
    """Whether `difference op 0` holds for every difference within the bounds; None when it holds for some."""
    low, high = bounds
    if low is not None and low == high:
        outcome: bool = COMPARISONS[op](low, 0)
        return outcome
    above = low is not None and low > 0
    below = high is not None and high < 0
    if above or below:
        return bool(COMPARISONS[op](1 if above else -1, 0))
    if op in (">=", "<") and low == 0:
        return op == ">="
    if op in ("<=", ">") and high == 0:
        return op == "<="
    return None


class NumberOperators:
    """The operators of an integer known later that need its number, or only ask which of two is larger."""

    __slots__ = ()

    @abstractmethod
    def run_time_number(self) -> Any:
        """The number of the program that the integer stands for; None when there is none."""

    @abstractmethod
    def run_time_sides(self) -> tuple[Any, Any] | None:
        """Two exact numbers of the program that are the integer apart; None when there are none."""

    @abstractmethod
    def bounds(self) -> Bounds: ...

    @abstractmethod
    def __sub__(self, other: object) -> Any: ...

    @abstractmethod
    def __mul__(self, other: object) -> Any: ...

    @abstractmethod
    def __floordiv__(self, other: object) -> Any: ...

    @abstractmethod
    def __mod__(self, other: object) -> Any: ...

    @abstractmethod
    def __neg__(self) -> Any: ...

    def __as_number__(self) -> Any:
        """For who computes with numbers: the number of the program, or an error."""
        number = self.run_time_number()
        if number is None:
            raise self._undecided("the number")
        return number

    def _undecided(self, what: str, instead: str = "") -> UndecidableError:
        return UndecidableError(
            f"{what} of a symbolic integer is not known",
            found=repr(self),
            expected="an integer that is known now",
            instead=instead,
        )

    # where Python needs the number now ----------------------------------------------------------------------------
    def __bool__(self) -> bool:
        raise self._undecided("the truth", "`if`, `and`, `or` or `not` in the compiled function itself")

    def __index__(self) -> int:
        raise self._undecided(
            "the value", "a static layout or a Constexpr argument, or `for i in range(n):` in the compiled function"
        )

    def __float__(self) -> float:
        raise self._undecided("the value", "`float(n)` in the compiled function itself")

    # comparisons --------------------------------------------------------------------------------------------------
    def __eq__(self, other: object) -> Any:
        return self._compare("==", other)

    def __ne__(self, other: object) -> Any:
        return self._compare("!=", other)

    def __lt__(self, other: object) -> Any:
        return self._compare("<", other)

    def __le__(self, other: object) -> Any:
        return self._compare("<=", other)

    def __gt__(self, other: object) -> Any:
        return self._compare(">", other)

    def __ge__(self, other: object) -> Any:
        return self._compare(">=", other)

    def _compare(self, op: str, other: object) -> Any:
        """What is the same in every run is a bool; what is not is decided by the numbers of the run."""
        difference = self._minus(other)
        if difference is NotImplemented:
            return self._by_number(COMPARISONS[op], other)
        if not isinstance(difference, NumberOperators):
            return COMPARISONS[op](difference, 0)
        answer = decided(op, difference.bounds())
        if answer is not None:
            return answer
        sides = difference.run_time_sides()
        if sides is not None:
            return COMPARISONS[op](*sides)
        if op in ("==", "!="):  # of integers that no program runs with: whether they are the same expression
            return op == "!="
        raise UndecidableError("the comparison depends on a symbolic integer", found=f"{self!r} {op} {other!r}")

    @abstractmethod
    def _minus(self, other: object) -> Any:
        """The exact difference, or NotImplemented; 0 at once of the same expression, as dictionaries ask of keys."""

    # operators that are made of others, or need the number --------------------------------------------------------
    def __pos__(self) -> Any:
        return self

    def __invert__(self) -> Any:
        return -self - 1

    def __abs__(self) -> Any:
        low, high = self.bounds()
        if low is not None and low >= 0:
            return self
        return -self if high is not None and high <= 0 else abs(self.__as_number__())

    def __divmod__(self, other: object) -> Any:
        return self // other, self % other

    # Any: Python asks here only after the other operand did not know how.
    def __rdivmod__(self, other: Any) -> Any:
        return other // self, other % self

    def __lshift__(self, other: object) -> Any:
        return self * (1 << _count(other)) if isinstance(other, int) else self._by_number(operator.lshift, other)

    def __rshift__(self, other: object) -> Any:
        return self // (1 << _count(other)) if isinstance(other, int) else self._by_number(operator.rshift, other)

    def __pow__(self, other: object) -> Any:
        if not isinstance(other, int) or not 0 <= other <= MOST_FACTORS:
            return self._by_number(operator.pow, other)
        product: Any = 1
        for _ in range(other):
            product = product * self
        return product

    def __truediv__(self, other: object) -> Any:
        return self._by_number(operator.truediv, other)

    def __rtruediv__(self, other: object) -> Any:
        return self._from_number(operator.truediv, other)

    def __rlshift__(self, other: object) -> Any:
        return self._from_number(operator.lshift, other)

    def __rrshift__(self, other: object) -> Any:
        return self._from_number(operator.rshift, other)

    def __rpow__(self, other: object) -> Any:
        return self._from_number(operator.pow, other)

    # Python's numbers know nothing of the program's: for them its number computes. Other operands do it themselves.
    def _by_number(self, operation: Callable[[Any, Any], Any], other: object) -> Any:
        return operation(self.__as_number__(), other) if isinstance(other, _OPERANDS) else NotImplemented

    def _from_number(self, operation: Callable[[Any, Any], Any], other: object) -> Any:
        return operation(other, self.__as_number__()) if isinstance(other, _OPERANDS) else NotImplemented


_OPERANDS = (int, float, NumberOperators)


def _count(shift: int) -> int:
    if shift < 0:
        raise ValueError("negative shift count")
    return shift


_KINDS: dict[type, tuple[Callable[[Any], Int], Callable[[Any], Any]]] = {}


def register_numbers(kind: type, integer: Callable[[Any], Int], number: Callable[[Any], Any]) -> None:
    """Let layouts take numbers of a class: `integer` makes an integer of the algebra of one, `number` a number."""
    _KINDS[kind] = (integer, number)


def answer_in_numbers(function: Callable[[Any], Any], coord: object) -> Any:
    """`function(coord)`, computed by the algebra whether or not there are numbers of a program in the coordinate."""
    for kind, (integer, number) in _KINDS.items():
        if _has(coord, kind):
            return number(function(_changed(coord, kind, integer)))
    return function(coord)


def _has(coord: object, kind: type) -> bool:
    return any(_has(item, kind) for item in coord) if isinstance(coord, tuple) else isinstance(coord, kind)


def _changed(coord: object, kind: type, integer: Callable[[Any], Int]) -> Any:
    if isinstance(coord, tuple):
        return tuple(_changed(item, kind, integer) for item in coord)
    return integer(coord) if isinstance(coord, kind) else coord
