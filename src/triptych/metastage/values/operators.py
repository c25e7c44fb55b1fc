"""Python's operators of two operands as one method of the operator's sign, for every kind of traced value."""

from __future__ import annotations

from abc import abstractmethod
from typing import Any


class Operators:
    """`left op right` is `_operate(op, left, right)`, whichever of the two operands is the instance.

    Operands are Any: what an operator takes is said by each class, narrower than any type that could stand here.
    """

    __slots__ = ()

    @staticmethod
    @abstractmethod
    def _operate(op: str, left: object, right: object) -> Any:
        """The result, or NotImplemented when the other operand is nothing to compute with."""

    def __add__(self, other: Any) -> Any:
        return self._operate("+", self, other)

    def __radd__(self, other: Any) -> Any:
        return self._operate("+", other, self)

    def __sub__(self, other: Any) -> Any:
        return self._operate("-", self, other)

    def __rsub__(self, other: Any) -> Any:
        return self._operate("-", other, self)

    def __mul__(self, other: Any) -> Any:
        return self._operate("*", self, other)

    def __rmul__(self, other: Any) -> Any:
        return self._operate("*", other, self)

    def __truediv__(self, other: Any) -> Any:
        return self._operate("/", self, other)

    def __rtruediv__(self, other: Any) -> Any:
        return self._operate("/", other, self)

    def __floordiv__(self, other: Any) -> Any:
        return self._operate("//", self, other)

    def __rfloordiv__(self, other: Any) -> Any:
        return self._operate("//", other, self)

    def __mod__(self, other: Any) -> Any:
        return self._operate("%", self, other)

    def __rmod__(self, other: Any) -> Any:
        return self._operate("%", other, self)

    def __divmod__(self, other: Any) -> Any:
        return _both(self._operate("//", self, other), self._operate("%", self, other))

    def __rdivmod__(self, other: Any) -> Any:
        return _both(self._operate("//", other, self), self._operate("%", other, self))

    def __pow__(self, other: Any, modulus: Any = None) -> Any:
        return NotImplemented if modulus is not None else self._operate("**", self, other)

    def __rpow__(self, other: Any) -> Any:
        return self._operate("**", other, self)

    def __lshift__(self, other: Any) -> Any:
        return self._operate("<<", self, other)

    def __rlshift__(self, other: Any) -> Any:
        return self._operate("<<", other, self)

    def __rshift__(self, other: Any) -> Any:
        return self._operate(">>", self, other)

    def __rrshift__(self, other: Any) -> Any:
        return self._operate(">>", other, self)

    def __and__(self, other: Any) -> Any:
        return self._operate("&", self, other)

    def __rand__(self, other: Any) -> Any:
        return self._operate("&", other, self)

    def __or__(self, other: Any) -> Any:
        return self._operate("|", self, other)

    def __ror__(self, other: Any) -> Any:
        return self._operate("|", other, self)

    def __xor__(self, other: Any) -> Any:
        return self._operate("^", self, other)

    def __rxor__(self, other: Any) -> Any:
        return self._operate("^", other, self)

    def __lt__(self, other: Any) -> Any:
        return self._operate("<", self, other)

    def __le__(self, other: Any) -> Any:
        return self._operate("<=", self, other)

    def __gt__(self, other: Any) -> Any:
        return self._operate(">", self, other)

    def __ge__(self, other: Any) -> Any:
        return self._operate(">=", self, other)

    def __eq__(self, other: object) -> Any:
        return self._operate("==", self, other)

    def __ne__(self, other: object) -> Any:
        return self._operate("!=", self, other)


def _both(quotient: object, remainder: object) -> Any:
    return NotImplemented if quotient is NotImplemented else (quotient, remainder)
