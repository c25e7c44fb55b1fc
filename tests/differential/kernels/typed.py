"""Numbers of the reference machine: Python numbers that wrap, promote and compare as those of the language do.

Floats must stay exact: a result that its type cannot hold is a mistake of the generator, because kernels may contract a
product and a sum. What contraction may do to floats that are rounded is a law of its own, in `tests/laws`.
"""

from __future__ import annotations

import operator
from collections.abc import Callable, Mapping
from typing import Any

import numpy as np

from tests.differential.kernels.program import NUMPY_TYPES
from triptych.hooks import COMPARISONS
from triptych.metastage.values import promotion
from triptych.metastage.values.promotion import TYPES, TypeInfo

OPERATORS: Mapping[str, Callable[[Any, Any], Any]] = {
    "+": operator.add,
    "-": operator.sub,
    "*": operator.mul,
    "//": operator.floordiv,
    "%": operator.mod,
    "&": operator.and_,
    "|": operator.or_,
    "^": operator.xor,
    "<<": operator.lshift,
    ">>": operator.rshift,
}


class InexactError(Exception):
    """A float result had to be rounded."""


class Number:
    """A number of one type of the language."""

    __slots__ = ("info", "value")

    def __init__(self, info: TypeInfo, value: int | float) -> None:
        self.info = info
        self.value = value

    def __repr__(self) -> str:
        return f"{self.info.name}({self.value})"

    def __bool__(self) -> bool:
        return bool(self.value)

    def __index__(self) -> int:
        assert isinstance(self.value, int)
        return self.value

    def to(self, dtype: NumberType) -> Number:
        return dtype(self)

    def __hash__(self) -> int:
        return hash((self.info.name, self.value))

    def __neg__(self) -> Number:
        return converted(self.info, -self.value)

    def __abs__(self) -> Number:
        return converted(self.info, abs(self.value))

    def __invert__(self) -> Number:
        return converted(self.info, ~self.__index__())


class NumberType:
    """A numeric class such as `Int32`: calling it converts."""

    def __init__(self, name: str) -> None:
        self.info = TYPES[name]

    def __call__(self, value: Any) -> Number:
        return converted(self.info, value.value if isinstance(value, Number) else value)


NUMBER_TYPES = {name: NumberType(name) for name in NUMPY_TYPES}


def converted(info: TypeInfo, value: int | float) -> Number:
    """A value in a type: integers wrap, floats truncate to integers; what a float type cannot hold is refused."""
    if info.is_integer:
        low, _ = info.bounds
        return Number(info, (int(value) - low) % (1 << info.width) + low)
    with np.errstate(over="ignore"):
        held = float(np.dtype(NUMPY_TYPES[info.name]).type(value))
    if held != value:
        raise InexactError(f"{value} is not a {info.name}")
    return Number(info, float(value))


def _common(left: Any, right: Any) -> TypeInfo:
    """The type in which an operator works; a Python constant adapts to the number beside it."""
    if isinstance(left, Number) and isinstance(right, Number):
        name = promotion.arithmetic(left.info.name, right.info.name)
        assert name is not None
        return TYPES[name]
    info: TypeInfo = left.info if isinstance(left, Number) else right.info
    return info


def _combined(op: str, left: Any, right: Any) -> Number:
    values = [v.value if isinstance(v, Number) else v for v in (left, right)]
    if op in ("<<", ">>"):
        values[1] = min(values[1], 128)
        return converted(left.info, OPERATORS[op](*values))
    return converted(_common(left, right), OPERATORS[op](*values))


def _compared(op: str, left: Any, right: Any) -> bool:
    return bool(COMPARISONS[op](*(v.value if isinstance(v, Number) else v for v in (left, right))))


def _install() -> None:
    for op, function in OPERATORS.items():
        name = function.__name__.strip("_")
        setattr(Number, f"__{name}__", lambda self, other, op=op: _combined(op, self, other))
        setattr(Number, f"__r{name}__", lambda self, other, op=op: _combined(op, other, self))
    for op, name in {"<": "lt", "<=": "le", ">": "gt", ">=": "ge", "==": "eq", "!=": "ne"}.items():
        setattr(Number, f"__{name}__", lambda self, other, op=op: _compared(op, self, other))


_install()


def extreme(choose: Callable[..., Any]) -> Callable[[Any, Any], Any]:
    """Python's `min` or `max` of a number and a number or constant, which takes the number's type."""

    def chosen(left: Any, right: Any) -> Any:
        number = left if isinstance(left, Number) else right
        return converted(number.info, getattr(found := choose(left, right), "value", found))

    return chosen
