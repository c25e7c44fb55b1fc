"""Explanations of Python's own errors in a traced program.

A mistake such as `threadIdx.x` or `x[i][0]` fails in the interpreter, not in the framework. Where its words do not say
what to write, they become an error with a code; exceptions that the program raises itself stay what they are.
"""

from __future__ import annotations

import builtins
import opcode
import re
from collections.abc import Callable, Iterable
from itertools import islice
from types import CodeType, ModuleType, TracebackType
from typing import Any

from triptych.diagnostics.likely_mistakes import MODULES, NAMES, MissingAttributeError, missing_attribute
from triptych.metastage.trace import locations
from triptych.metastage.trace.errors import (
    NotCallableError,
    OperandTypeError,
    StaticRequiredError,
    UndefinedNameError,
    UnpackingError,
)
from triptych.metastage.values.scalars import NUMERIC_CLASSES
from triptych.support.errors import TriptychError
from triptych.support.source import Span
from triptych.support.tracebacks import is_framework
from triptych.support.wording import nearest, with_article

_OPERATING = {
    "triptych.hooks",
    "triptych.metastage.tracing_hooks",
    *(f"triptych.metastage.calls.{name}" for name in ("inlining", "special_methods", "opaque_calls")),
}
"""Modules that do an operation of the program for it: what fails there is the operation."""
_RAISE = opcode.opmap["RAISE_VARARGS"]
_NOTHING = "an argument for it: it is None here, or test `is not None` first"
_ONE_NUMBER = "`x[i, j]`: one coordinate for each mode (`x[i]` of two modes counts through all elements)"

_WITHOUT_ITEMS = {"NoneType": _NOTHING, **dict.fromkeys(NUMERIC_CLASSES, _ONE_NUMBER)}
_NOT_ASSIGNED = {
    "NoneType": _NOTHING,
    "TensorSSA": "a tensor in registers (`cute.make_rmem_tensor`), whose elements can be written, or `cute.where`",
    "tuple": "a list, or a tuple that is rebuilt with the new item",
    **dict.fromkeys(NUMERIC_CLASSES, _ONE_NUMBER),
}
_COORDINATES = {"x": 0, "y": 1, "z": 2}


def explained(error: Exception) -> TriptychError | None:
    """The error that says what to write; None when Python's says it, or when the program raised it."""
    explain = _BY_TYPE.get(type(error))
    at = _innermost(error.__traceback__)
    if explain is None or at is None:
        return None
    span = _span(at)
    return explain(error, at, span)


def _innermost(traceback: TracebackType | None) -> TracebackType | None:
    """Where the program failed, if by an operation of its own: in its code, or in the hook that does the operation."""
    found = None
    below: list[str] = []
    while traceback is not None:
        if locations.is_program(traceback.tb_frame.f_code):
            found, below = traceback, []
        elif not is_framework(traceback.tb_frame):
            found = None  # a library, which says what is wrong in its own words
        else:
            below.append(str(traceback.tb_frame.f_globals.get("__name__")))
        traceback = traceback.tb_next
    if found is None or not set(below) <= _OPERATING:
        return None
    raising = not below and found.tb_frame.f_code.co_code[found.tb_lasti] == _RAISE
    return None if raising else found


def _span(at: TracebackType) -> Span:
    code: CodeType = at.tb_frame.f_code
    line, end_line, column, end_column = next(islice(code.co_positions(), max(at.tb_lasti, 0) // 2, None))
    return Span(code.co_filename, line or at.tb_lineno, column or 0, end_line, end_column, locations.name_of(code))


def _name(error: NameError, at: TracebackType, span: Span) -> TriptychError | None:
    name = error.name or ""
    frame = at.tb_frame
    near, far = {**frame.f_globals, **frame.f_locals}, vars(builtins)  # what the program has named is likelier meant
    guess = nearest(name, near) or _doubled(name, near) or nearest(name, far)
    assigned = f"`{name} = ...` before its use, an import, or a parameter `{name}`"
    return UndefinedNameError(
        str(error),
        span=span,
        found=f"`{name}`",
        expected="a variable, a parameter or a global name",
        instead=NAMES.get(name) or (f"did you mean `{guess}`?" if guess else assigned),
    )


def _doubled(name: str, known: Iterable[str]) -> str | None:
    """A known name that becomes `name` by a key that was hit twice: of short names nothing else is near."""
    shorter = {name[:at] + name[at + 1 :] for at in range(1, len(name)) if name[at] == name[at - 1]}
    return next((other for other in known if other in shorter), None)


def _attribute(error: AttributeError, at: TracebackType, span: Span) -> TriptychError | None:
    if isinstance(error.obj, tuple) and error.name in _COORDINATES:
        index = _COORDINATES[error.name]
        instead = f"`[{index}]`, as in `cute.arch.thread_idx()[{index}]`: the three numbers are a tuple"
    elif error.obj is None and "'NoneType'" in str(error):  # without an object of its own it says nothing of None
        instead = _NOTHING
    elif isinstance(error.obj, ModuleType) and error.obj.__name__.startswith("triptych."):
        return missing_attribute(f"module {error.obj.__name__!r}", error.name or "", MODULES, dir(error.obj), span=span)
    else:
        return None
    found = with_article(type(error.obj).__name__)
    return MissingAttributeError(str(error), span=span, found=found, expected="an object that has it", instead=instead)


def _type(error: TypeError, at: TracebackType, span: Span) -> TriptychError | None:
    for pattern, make in _TYPE_ERRORS:
        match = pattern.search(str(error))
        if match is not None:
            return make(str(error), match, span)
    return None


def _without_items(message: str, match: re.Match[str], span: Span) -> TriptychError | None:
    table = _NOT_ASSIGNED if "assignment" in message else _WITHOUT_ITEMS
    if match[1] not in table:
        return None
    found = with_article(match[1])
    return OperandTypeError(message, span=span, found=found, expected="a tensor or a list", instead=table[match[1]])


def _operands(message: str, match: re.Match[str], span: Span) -> TriptychError | None:
    operator, left, right = match.groups()
    traced = [kind for kind in (left, right) if kind in NUMERIC_CLASSES]
    if not traced and "NoneType" not in (left, right):
        return None
    other = right if traced and traced[0] == left else left
    advice = {
        "NoneType": _NOTHING,
        "complex": "two numbers, the real and the imaginary part: complex numbers are not compiled",
        "str": "`tt.printf` to show a number; texts are not compiled",
        "tuple": "one of its items, as `x.shape[0]`",
        "list": "one of its items, or a loop over them",
        "Tensor": "`x.load()`, the elements as a value, or `x[i]`, one of them",
    }
    return OperandTypeError(
        f"no operator {operator.split(' ')[0]} for {left} and {right}",
        span=span,
        found=f"{left} {operator.split(' ')[0]} {right}",
        expected="two numbers, or tensor values",
        instead=advice.get(other, f"a number in place of the {other}"),
    )


def _format(message: str, match: re.Match[str], span: Span) -> TriptychError | None:
    return OperandTypeError(
        "a run-time number cannot become text while the function is traced",
        span=span,
        found=message,
        expected="a value that is known while tracing",
        instead='`tt.printf("%d", n)`, which prints when the program runs',
    )


def _not_iterable(message: str, match: re.Match[str], span: Span) -> TriptychError | None:
    if match[1] != "NoneType":
        return None
    return OperandTypeError(message, span=span, found="None", expected="a tuple or a list", instead=_NOTHING)


def not_callable(function: object, span: Span | None) -> NotCallableError:
    """The error for a call of something that is no function."""
    called = _called(span)
    if called.endswith(".is_integer"):
        instead = f"`x == cute.math.trunc(x)`; `{called}` says whether the type is one of integers"
    elif called in vars(builtins):
        instead = f"another name for the variable `{called}`, which hides the builtin function"
    elif "." in called:
        instead = f"`{called}` without parentheses: it is {with_article(type(function).__name__)}, not a method"
    else:
        instead = f"`{called or 'x'}[...]` for an item, or an operator between the two"
    return NotCallableError(
        f"{with_article(type(function).__name__)} cannot be called",
        span=span,
        found=f"a call of `{called}`" if called else f"a call of {function!r}",
        expected="a function",
        instead=instead,
    )


def _called(span: Span | None) -> str:
    """The dotted name before the parenthesis, as it was written."""
    if span is None:
        return ""
    match = re.match(r"[\w.]+(?=\s*\()", span.text().encode()[span.column :].decode(errors="ignore"))
    return match[0] if match else ""


def _value(error: object, at: TracebackType, span: Span) -> TriptychError | None:
    if re.search(r"values to unpack \(expected \d+", str(error)) is None:
        return None
    return UnpackingError(
        str(error),
        span=span,
        found=span.text().strip(),
        expected="as many names as there are values",
        instead="as many names as the value has parts: a shape has one for each mode, `cute.rank(x)` in all",
    )


def _index(error: object, at: TracebackType, span: Span) -> TriptychError | None:
    if not str(error).startswith("only integers, slices"):
        return None
    return StaticRequiredError(
        "an array of NumPy is indexed while the function is traced",
        span=span,
        found="a run-time index",
        expected="an index that is known while tracing",
        instead="the array as an argument, which is a tensor then, or `tuple(TABLE)[i]` of a short one",
    )


_TYPE_ERRORS: tuple[tuple[re.Pattern[str], Callable[[str, re.Match[str], Span], TriptychError | None]], ...] = (
    (re.compile(r"^'(\w+)' object is not subscriptable"), _without_items),
    (re.compile(r"^'(\w+)' object does not support item assignment"), _without_items),
    (re.compile(r"^unsupported operand type\(s\) for (.+): '(.+)' and '(.+)'"), _operands),
    (re.compile(r"^'([<>=!]+)' not supported between instances of '(.+)' and '(.+)'"), _operands),
    (re.compile(r"format: (?:a real|an integer|a) number|format: an integer is required"), _format),
    (re.compile(r"^cannot unpack non-iterable (\w+) object"), _not_iterable),
    (re.compile(r"^'(\w+)' object is not iterable"), _not_iterable),
)
"""The words of the interpreter, which are the same in all versions that are supported."""

_BY_TYPE: dict[type[Exception], Callable[[Any, TracebackType, Span], TriptychError | None]] = {
    NameError: _name,
    AttributeError: _attribute,
    TypeError: _type,
    ValueError: _value,
    IndexError: _index,
}
