"""Identity, type and text of run-time numbers: questions that would tell them from Python ones.

Refused where the answers differ.

While tracing, a run-time number is an object of ours: `x is y`, `type(x) == int`, `isinstance(x, int)` and `f"{x}"`
would speak of that object, not of the number that the program computes.
"""

from __future__ import annotations

import numbers
from collections.abc import Callable
from typing import Any

from triptych.metastage.trace.errors import StaticRequiredError
from triptych.metastage.trace.trace import place
from triptych.metastage.trace.user_code import is_own
from triptych.metastage.values.aggregates import take_apart
from triptych.metastage.values.describing import describe
from triptych.metastage.values.scalars import Numeric
from triptych.metastage.values.truth import is_dynamic

PYTHON_TYPES = (
    bool,
    int,
    float,
    complex,
    numbers.Number,
    numbers.Complex,
    numbers.Real,
    numbers.Rational,
    numbers.Integral,
)


def involves_dynamic(value: object) -> bool:
    """Whether a value is, or is made of, something that only the run knows."""
    if is_dynamic(value) or hasattr(type(value), "__as_number__"):
        return True
    # A layout shows itself, with `?` for what it does not know.
    parts = None if is_own(type(value)) else take_apart(value)
    if parts is not None:
        return any(map(involves_dynamic, parts.values))
    return isinstance(value, list) and any(map(involves_dynamic, value))


def check_operands(op: str, left: object, right: object) -> None:
    """Refuse operators whose answer would be about the objects of tracing instead of the program's values."""
    if op in ("is", "is not"):
        _check_identity(op, left, right)
        _check_types(op, left, right)
    elif op in ("==", "!="):
        _check_types(op, left, right)
    elif op == "%" and isinstance(left, str | bytes):
        check_shown(right, "`%` formatting")


def _check_identity(op: str, left: object, right: object) -> None:
    for one, other in ((left, right), (right, left)):
        if is_dynamic(one) and isinstance(other, Numeric | bool | int | float | complex):
            raise StaticRequiredError(
                f"`{op}` between numbers, one of which is known only at run time",
                span=place(),
                found=f"{describe(left)} and {describe(right)}",
                expected="a comparison of values: which object holds a number is not a property of the program",
                instead="`==`" if op == "is" else "`!=`",
            )


def _check_types(op: str, left: object, right: object) -> None:
    for one, other in ((left, right), (right, left)):
        if isinstance(one, type) and issubclass(one, Numeric):
            for kind in PYTHON_TYPES:
                if other is kind:
                    raise _python_type(f"`{op}` between types", one.__name__, kind.__name__)


def check_isinstance(value: object, classes: type | tuple[type, ...]) -> bool:
    """`isinstance` of a run-time number: about Python's own types the answer would depend on the stage."""
    answer = isinstance(value, classes)
    asked = classes if isinstance(classes, tuple) else (classes,)
    if not answer and is_dynamic(value) and any(cls is kind for cls in asked for kind in PYTHON_TYPES):
        kind = next(cls for cls in asked if cls in PYTHON_TYPES)
        raise _python_type("`isinstance` of a run-time number", type(value).__name__, kind.__name__)
    return answer


def _python_type(use: str, found: str, asked: str) -> StaticRequiredError:
    return StaticRequiredError(
        f"{use} with Python's `{asked}`",
        span=place(),
        found=f"{found}, a run-time number, which is no Python {asked} while the function is traced",
        expected=f"a question about Triptych's types, such as `tt.{found}` or `tt.Numeric`",
        instead=f"`isinstance(x, tt.{found})`, or a Constexpr argument",
    )


def check_shown(value: object, use: str) -> Any:
    """`value`, which becomes text now; a run-time value has none yet."""
    if involves_dynamic(value):
        raise StaticRequiredError(
            f"a run-time value in {use}",
            span=place(),
            found=f"{describe(value)}, whose text would be `?`, whatever it is at run time",
            expected="values that are known while the function is traced",
            instead='`tt.printf("{}", x)` to print it; in `print(f"...")`, `raise` and `assert` it shows itself as `?`',
        )
    return value


def shown_by(name: str) -> Callable[..., Any]:
    """The answer of `str`, `repr` … to a run-time value."""

    def refuse(value: object, *_: object) -> Any:
        return check_shown(value, f"`{name}()`")

    return refuse
