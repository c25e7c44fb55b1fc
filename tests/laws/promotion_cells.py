"""The table of promotion: every function of two numbers, for every pair of types, against the type of `a + b`.

Cells are traced and not compiled. A cell is right if its type is the one of the rule, refused if it is an error with a
code, and wrong otherwise; what must not be refused where `a + b` is not is said for each function.
"""

from __future__ import annotations

import operator
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from typing import Any, cast

import triptych as tt
from tests.ir.traced import traced
from triptych import cute
from triptych.metastage.trace.trace import in_progress
from triptych.metastage.values.scalars import NUMERIC_CLASSES
from triptych.support.errors import TriptychError

LITERALS: tuple[Any, ...] = (True, 3, 2.5)
REFUSED = "refused"


@dataclass(frozen=True, slots=True)
class Function:
    """A function of two numbers: how it is called, what its type follows, and whether it is there for all types."""

    name: str
    call: Callable[[Any, Any], Any]
    rule: Callable[[Any, Any], Any]
    complete: bool = False
    tensors: bool = False
    """Whether it takes tensors too."""


@dataclass(frozen=True, slots=True)
class Cell:
    function: str
    left: str
    right: str
    expected: str
    found: str
    complete: bool

    @property
    def is_right(self) -> bool:
        return self.found == self.expected or (self.found == REFUSED and not self.complete)


def hooked(function: Any, *args: Any, **kwargs: Any) -> Any:
    """A builtin function as a program calls it."""
    trace = in_progress()
    assert trace is not None
    return trace.hooks.call(function, *args, **kwargs)


def _kept(left: Any, right: Any) -> Any:
    """The sum, but truth values stay what they are."""
    both = all(getattr(value, "dtype", type(value)) in (tt.Boolean, bool) for value in (left, right))
    return tt.Boolean(True) if both else left + right


def _quotient(left: Any, right: Any) -> Any:
    """The sum, and integers as true division has them."""
    both = left + right
    return both / both


FUNCTIONS = (
    Function("min", lambda a, b: hooked(min, a, b), _kept, True),
    Function("max", lambda a, b: hooked(max, a, b), _kept, True),
    Function("min of a tuple", lambda a, b: hooked(min, (a, b)), _kept, True),
    Function("max by a key", lambda a, b: hooked(max, (a, b), key=lambda v: v), _kept, True),
    Function("min by a key", lambda a, b: hooked(min, a, b, key=lambda v: -v), _kept),
    Function("max of three", lambda a, b: hooked(max, a, b, a), _kept, True),
    Function("sum", lambda a, b: hooked(sum, (a, b)), lambda a, b: 0 + a + b),
    Function("divmod, quotient", lambda a, b: hooked(divmod, a, b)[0], operator.floordiv),
    Function("divmod, remainder", lambda a, b: hooked(divmod, a, b)[1], operator.mod),
    Function("pow", lambda a, b: hooked(pow, a, b), operator.pow),
    Function("arch.fmax", cute.arch.fmax, operator.add, True),
    Function("arch.fmin", cute.arch.fmin, operator.add, True),
    Function("arch.fma", lambda a, b: cute.arch.fma(a, b, a), _quotient, True),
    Function("arch.fma, last", lambda a, b: cute.arch.fma(a, a, b), _quotient, True),
    Function("where", lambda a, b: cute.where(True, a, b), _kept, True, True),
    *(
        Function(f"math.{name}", getattr(cute.math, name), rule, complete, True)
        for names, rule, complete in (
            (("min", "max"), _kept, True),
            (("add", "sub", "mul"), operator.add, False),
            (("div", "rem", "pow", "atan2", "copysign"), _quotient, False),
        )
        for name in names
    ),
    Function("math.fma", lambda a, b: cute.math.fma(a, b, a), _quotient, False, True),
    Function("math.clamp", lambda a, b: cute.math.clamp(a, b, a), _kept, True, True),
)


def _type_of(compute: Callable[[], Any]) -> str:
    try:
        found = compute()
    except TriptychError:
        return REFUSED
    return getattr(found, "dtype", type(found)).__name__


def cells(names: Sequence[str] = tuple(NUMERIC_CLASSES)) -> list[Cell]:
    """The cells of these types and of literals, computed in one trace."""
    found: list[Cell] = []

    @tt.kernel(preprocessor=False)
    def body(n: tt.Int32) -> None:
        numbers = {name: n.to(NUMERIC_CLASSES[name]) for name in names}
        operands = {**numbers, **{f"{type(value).__name__} {value}": value for value in LITERALS}}
        tensors = {name: cute.full((2,), value, type(value)) for name, value in numbers.items()}
        for function in FUNCTIONS:
            found.extend(_row(function, operands, operands))
            if function.tensors:
                found.extend(_row(function, tensors, operands, "tensor of "))

    @tt.jit(preprocessor=False)
    def launch(n: tt.Int32) -> None:
        cast(Any, body)(n).launch(grid=1, block=1)

    traced(launch, 3)
    return found


def _row(function: Function, lefts: dict[str, Any], rights: dict[str, Any], prefix: str = "") -> Iterator[Cell]:
    for left, a in lefts.items():
        for right, b in rights.items():
            if type(a) in (bool, int, float) and type(b) in (bool, int, float):
                continue
            expected = _type_of(lambda: function.rule(a, b))  # noqa: B023 - called at once
            outcome = _type_of(lambda: function.call(a, b))  # noqa: B023
            yield Cell(function.name, prefix + left, right, expected, outcome, function.complete)
