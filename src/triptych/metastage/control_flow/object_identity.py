"""Identity, type and text of values that only the run knows: numbers, which would differ there from Python's, and
objects that a run-time value may have chosen.
"""

from __future__ import annotations

import numbers
import operator
from collections.abc import Callable, Iterable
from types import UnionType
from typing import Any, get_args

from triptych.diagnostics.tensor_errors import PYTHON_TYPES_ASKED_FOR
from triptych.hooks import UNDEFINED, PythonHooks
from triptych.metastage.control_flow.join_plans import same
from triptych.metastage.control_flow.object_joins import Merged, merged_among
from triptych.metastage.trace.effects import is_pure
from triptych.metastage.trace.errors import StaticRequiredError
from triptych.metastage.trace.trace import Trace, place
from triptych.metastage.trace.user_code import is_own
from triptych.metastage.values.aggregates import describe, take_apart
from triptych.metastage.values.binding_time import is_dynamic
from triptych.metastage.values.dynamic_text import DynamicText
from triptych.metastage.values.provenance import is_surely_typed
from triptych.metastage.values.scalars import Boolean, Numeric

_ASKING: frozenset[Any] = frozenset({dict, frozenset, hash, id, set, operator.eq, operator.ne, operator.contains})
_ASKING |= {operator.countOf, operator.indexOf, operator.getitem}
_ASKING_METHODS = frozenset({"index", "count", "remove", "discard", "add", "get", "setdefault", "pop", "fromkeys"})
_HOLDING = frozenset({"append", "extend", "insert", "pop", "clear", "reverse", "copy", "__setitem__", "__getitem__"})
"""Methods of a list that ask its items nothing."""

_ClassInfo = type | tuple[Any, ...] | UnionType
"""What `isinstance` takes."""


def compared(trace: Trace, op: str, left: object, right: object, operate: Callable[..., Any]) -> Any:
    """`left op right`; `operate` answers what has nothing to do with identity."""
    if op in ("is", "is not"):
        return _signed(_decided(trace, left, right, f"`{op}`"), op == "is")
    if op not in ("==", "!=") or not trace.merged:
        return operate(op, left, right)
    if compares_identity(left) and compares_identity(right):
        return _signed(_decided(trace, left, right, f"`{op}`"), op == "==")
    check_comparable(trace, (left, right), f"`{op}`")
    equal = operate(op, left, right)
    if not (may_hold_nan(left) and may_hold_nan(right) and type(left).__eq__ is not Numeric.__eq__):
        return equal
    one = _decided(trace, left, right, f"`{op}`")  # its fields may be unequal to themselves
    return equal if one is False else _signed(one, True) | equal if op == "==" else _signed(one, False) & equal


def _signed(answer: bool | Boolean, positive: bool) -> Any:
    if positive:
        return answer
    return not answer if isinstance(answer, bool) else answer ^ True


def identical(trace: Trace, one: object, other: object) -> bool | Boolean | None:
    """Whether two values are one object: known now, by a run-time value, or None where nothing tells."""
    return _Identity(trace).of(one, other)


class _Identity:
    """One question; what it has found out about originals, of which chains of choices have many in common."""

    def __init__(self, trace: Trace) -> None:
        self._trace = trace
        self._known: dict[tuple[int, int], bool | Boolean | None] = {}

    def of(self, one: object, other: object) -> bool | Boolean | None:
        trace = self._trace
        if one is other:
            return None if id(one) in trace.interchangeable else True
        if type(one) is not type(other):
            return False
        if any(id(value) in trace.interchangeable for value in (one, other)) and same(one, other):
            return None
        for copy, beside in ((one, other), (other, one)):
            merged = trace.merged.get(id(copy))
            if merged is not None and merged.originals is not None:
                key = id(copy), id(beside)
                if key not in self._known:
                    self._known[key] = self._among(merged, merged.originals, beside)
                return self._known[key]
        return False

    def _among(self, merged: Merged, originals: tuple[Any, ...], beside: object) -> bool | Boolean | None:
        known = [(at, self.of(each, beside)) for at, each in enumerate(originals) if each is not UNDEFINED]
        answers = [answer for _, answer in known]
        if not answers or any(answer is None for answer in answers):
            return None
        if all(answer is answers[0] for answer in answers) and isinstance(answers[0], bool):
            return answers[0]
        if merged.pick is None or merged.region is None or not merged.region.open:
            return None
        outcome: Any = Boolean(False)
        for at, answer in known:
            if answer is not False:
                outcome = outcome | (merged.pick(at) & answer)
        return outcome  # type: ignore[no-any-return]


def _decided(trace: Trace, one: object, other: object, use: str) -> bool | Boolean:
    """Whether two values are one object; refused where nothing tells."""
    answer = identical(trace, one, other)
    if answer is None:
        raise undecided(trace, one, use)
    return answer


def compares_identity(value: object) -> bool:
    """Whether `==` and `hash` of an object ask which object it is."""
    return type(value).__eq__ is object.__eq__


def _is_copy(trace: Trace, value: object) -> bool:
    """Whether it is a copy, or a constant that stands for others."""
    merged = trace.merged.get(id(value))
    return id(value) in trace.interchangeable or (merged is not None and merged.originals is not None)


def check_comparable(trace: Trace, values: Iterable[Any], use: str) -> None:
    """Refuse copies, alone or in containers, where Python's own code would ask which objects they are."""
    for value in merged_among(trace, values):
        if compares_identity(value) and _is_copy(trace, value):
            raise undecided(trace, value, use)


def check_unasked(trace: Trace, function: object, merged: Iterable[Any]) -> None:
    """Refuse a call of Python's own code that may ask which object a copy is: by `id`, `hash`, `==`, as a key."""
    copies = [value for value in merged if _is_copy(trace, value)]
    if copies and function is id:
        raise undecided(trace, copies[0], "`id`")
    name = getattr(function, "__name__", type(function).__name__)
    if type(getattr(function, "__self__", None)) is list and name in _HOLDING:
        return
    asks = name in _ASKING_METHODS or any(function is each for each in _ASKING)
    if is_pure(function) and not asks:
        return
    check_comparable(trace, (each for each in copies if asks or not is_own(type(each))), f"`{name}`")


def may_hold_nan(value: object) -> bool:
    """Whether a value is unequal to itself by its parts, so that only its identity makes `==` true."""
    if isinstance(value, Numeric):
        return value.info.kind == "float"
    parts = take_apart(value)
    return value != value if isinstance(value, float) else parts is not None and any(map(may_hold_nan, parts.values))


def undecided(trace: Trace, value: object, use: str) -> StaticRequiredError:
    """The error for a question after the identity of an object that only the run knows."""
    merged = trace.merged.get(id(value))
    return StaticRequiredError(
        f"{use} asks which object a variable is, where the run decides",
        span=place(),
        found=f"{describe(value)}, one of several that a variable can be",
        expected="a comparison of numbers, or an object that is known while the function is traced",
        instead="a number kept beside the object, which is compared: `which = 1 if n > 1 else 0`",
        related=[("where they meet", merged.span)] if merged is not None and merged.span is not None else [],
    )


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
    if is_dynamic(value) or hasattr(type(value), "__as_number__") or type(value) is DynamicText:
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


def check_isinstance(value: object, classes: _ClassInfo) -> bool:
    """`isinstance` of a run-time number: about Python's own types the answer would depend on the stage, where Python
    could have a number of its own."""
    answer = isinstance(value, classes)
    if answer or not is_dynamic(value):
        return answer
    kind = next((cls for cls in _each_class(classes) if cls in PYTHON_TYPES), None)
    if kind is not None and not _is_of_the_language(value):
        error = _python_type("`isinstance` of a run-time number", type(value).__name__, kind.__name__)
        if not PYTHON_TYPES_ASKED_FOR:
            raise error
        PYTHON_TYPES_ASKED_FOR[-1](error)
    return answer


def _is_of_the_language(value: object) -> bool:
    """A truth value may be Python's wherever it comes from: comparisons give one."""
    return isinstance(value, Numeric) and not isinstance(value, Boolean) and is_surely_typed(value)


def _each_class(classes: _ClassInfo) -> list[Any]:
    """The classes that `isinstance` is asked about: of a tuple, and of `int | float`."""
    if isinstance(classes, tuple):
        return [cls for part in classes for cls in _each_class(part)]
    return list(get_args(classes)) or [classes]


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
        raise _no_text(value, use)
    return value


def dynamic_text(value: object, conversion: str, spec: str) -> DynamicText | None:
    """What an f-string makes of a value that only the run knows; None of any other."""
    if not involves_dynamic(value):
        return None
    return DynamicText(PythonHooks().formatted(value, conversion, spec), _no_text(value, "an f-string"))


def _no_text(value: object, use: str) -> StaticRequiredError:
    if isinstance(value, DynamicText):
        return value.refusal
    return StaticRequiredError(
        f"a run-time value in {use}",
        span=place(),
        found=f"{describe(value)}, whose text would be `?`, whatever it is at run time",
        expected="values that are known while the function is traced",
        instead='`tt.printf("{}", x)` to print it; what is printed, logged, raised or asserted shows it as `?`',
    )


def shown_by(name: str) -> Callable[..., Any]:
    """The answer of `str`, `repr` … to a run-time value."""

    def refuse(value: object, *_: object) -> Any:
        return check_shown(value, f"`{name}()`")

    return refuse
