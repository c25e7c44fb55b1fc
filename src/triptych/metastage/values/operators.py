"""Operators and functions that other code applies to traced values: Python's operators of two operands as one method of
their sign, and `np.exp(x)` or `math.sin(n)`, which say what to call instead.
"""

from __future__ import annotations

import sys
from abc import abstractmethod
from collections.abc import Sequence
from typing import TYPE_CHECKING, Any, ClassVar, NoReturn, Protocol

from triptych.diagnostics.likely_mistakes import MATHEMATICS, missing_attribute
from triptych.metastage.trace.errors import ForeignFunctionError
from triptych.metastage.trace.trace import place


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


_ARITHMETIC = "add subtract multiply divide true_divide floor_divide remainder divmod power negative positive absolute"
_BITS = "bitwise_and bitwise_or bitwise_xor invert left_shift right_shift"
_COMPARISONS = "equal not_equal less less_equal greater greater_equal"
_OPERATORS = frozenset(f"{_ARITHMETIC} {_BITS} {_COMPARISONS}".split())
"""Ufuncs that are Python's operators: on arrays of objects they apply the operators of the elements."""


class NumpyFunction(Protocol):
    """A function of NumPy or one of its ufuncs, as it asks an operand for an answer of its own."""

    __name__: str

    def __call__(self, *args: object, **kwargs: object) -> Any: ...


class ForeignOperand:
    """A traced value, as array libraries ask about it."""

    __slots__ = ()

    _called: ClassVar[str] = ""
    """How an error names such a value; empty for the name of its class."""
    _looked_for: ClassVar[dict[str, str]]
    """Attributes that people of array libraries look for, and what to write instead."""

    if not TYPE_CHECKING:  # to a type checker, an attribute that is not there is an error

        def __getattr__(self, name: str) -> Any:
            if name.startswith("__"):  # a protocol asks
                raise AttributeError(name)
            cls = type(self)
            raise missing_attribute(cls._called or cls.__name__, name, cls._looked_for, dir(cls), span=place())

    def __array_ufunc__(self, ufunc: NumpyFunction, method: str, *inputs: object, **options: object) -> Any:
        if method != "__call__" or ufunc.__name__ not in _OPERATORS:
            refuse_foreign(f"np.{ufunc.__name__}", ufunc.__name__, inputs)
        return ufunc(*map(_as_object, inputs), **options)

    def __array_function__(
        self, function: NumpyFunction, types: object, args: Sequence[Any], options: object
    ) -> NoReturn:
        refuse_foreign(f"np.{function.__name__}", function.__name__, args)

    @classmethod
    def __torch_function__(
        cls, function: object, types: object, args: Sequence[Any] = (), options: object = None
    ) -> NoReturn:
        name = getattr(function, "__name__", str(function))
        refuse_foreign(f"torch.{name}", name, args)


def _as_object(value: object) -> Any:
    """A traced value as an array of that one object; arrays and numbers as they are."""
    if not isinstance(value, ForeignOperand):
        return value
    array = sys.modules["numpy"].empty((), dtype=object)
    array[()] = value
    return array


def refuse_foreign(function: str, name: str, args: Sequence[Any]) -> NoReturn:
    """Say what a function of another library is called here."""
    kinds = [type(arg).__name__ for arg in args if isinstance(arg, ForeignOperand)]
    raise ForeignFunctionError(
        f"`{function}` cannot compute with a run-time {kinds[0] if kinds else 'value'}",
        span=place(),
        found=f"`{function}`, which would need the value while the function is traced",
        expected="functions that are compiled: operators, Python's builtins, `cute.math`",
        instead=MATHEMATICS.get(name, "the elements in a loop, or the call outside the compiled function"),
    )
