"""`printf`: printing at run time, with C formats (`%d`) or braces (`{}`)."""

from __future__ import annotations

import re
from collections.abc import Callable, Sequence
from typing import Any

from triptych.metastage.trace.errors import PrintFormatError
from triptych.metastage.trace.trace import Trace, active, place
from triptych.metastage.values.aggregates import describe
from triptych.metastage.values.dynamic_text import DynamicText
from triptych.metastage.values.promotion import PYTHON_NUMBERS, TYPES, TypeInfo
from triptych.metastage.values.scalars import Numeric, as_number, materialize

_DIRECTIVE = re.compile(
    r"%(?:(?P<literal>%)|(?P<flags>[-+ #0]*)(?P<width>\d*)(?P<precision>(?:\.\d+)?)[hlL]*(?P<kind>.))"
)
BRACES = re.compile(r"\{\{|\}\}|\{(?P<field>\d*)(?::(?P<spec>[^{}]*))?\}")
_INTEGERS, _FLOATS = "dixXuo", "feEgGaA"


_PRINTED: dict[type, Callable[[Any], Sequence[Any]]] = {}


def register_printed(cls: type, parts: Callable[[Any], Sequence[Any]]) -> None:
    """Let `{}` print instances of a class with their run-time numbers: as these parts, one after the other."""
    _PRINTED[cls] = parts


def printf(template: object, *args: object) -> None:
    """Print at run time. `printf("%d %f\\n", i, x)`, `printf("{} {}", i, x)` (adds a newline), or just values."""
    if type(template) is DynamicText:
        raise template.refusal
    if not isinstance(template, str):
        args, template = (template, *args), " ".join(["{}"] * (1 + len(args)))
    trace = active()
    if trace is None:
        print(_for_python(template, args), end="")
        return
    text, values = _to_c(template, args, trace)
    trace.operation("gpu.printf", values, attributes={"format": trace.builder.string(text)})
    trace.prints = True


def _to_c(template: str, args: tuple[Any, ...], trace: Trace) -> tuple[str, list[Any]]:
    if args and BRACES.search(template) and not _has_directives(template):
        return _braces(template, args, trace)
    values: list[Any] = []
    remaining = list(args)

    def directive(match: re.Match[str]) -> str:
        if match["literal"]:
            return "%%"
        if not remaining:
            raise _wrong_count(template, args)
        return _directive(match, remaining.pop(0), values, trace)

    text = _DIRECTIVE.sub(directive, template)
    if remaining:
        raise _wrong_count(template, args)
    return text, values


def _has_directives(template: str) -> bool:
    return any(not m["literal"] for m in _DIRECTIVE.finditer(template))


def _directive(match: re.Match[str], value: object, values: list[Any], trace: Trace) -> str:
    value = as_number(value)
    kind = match["kind"]
    shape = f"%{match['flags']}{match['width']}{match['precision']}"
    if kind == "s" and not isinstance(value, Numeric):
        return str(value).replace("%", "%%")
    info = _info(value)
    if info is None or kind not in (_FLOATS if info.kind == "float" else _INTEGERS):
        raise PrintFormatError(
            f"`%{kind}` cannot print {describe(value)}",
            span=place(),
            found=describe(value),
            expected="%d or %u for integers, %f or %g for floats, %s for Python strings",
            instead="a matching directive, or `{}` which fits every number",
        )
    return shape + _argument(kind, value, info, values, trace)


def _braces(template: str, args: tuple[Any, ...], trace: Trace) -> tuple[str, list[Any]]:
    values: list[Any] = []
    used: set[int] = set()
    counter = iter(range(len(args)))

    def field(match: re.Match[str]) -> str:
        if match[0] in ("{{", "}}"):
            return match[0][0]
        index = int(match["field"]) if match["field"] else next(counter, len(args))
        if index >= len(args):
            raise _wrong_count(template, args)
        used.add(index)
        return _brace(args[index], match["spec"] or "", values, trace)

    text = BRACES.sub(field, template.replace("%", "%%"))
    if len(used) != len(args):
        raise _wrong_count(template, args)
    return text + ("" if text.endswith("\n") else "\n"), values


def _brace(value: object, spec: str, values: list[Any], trace: Trace) -> str:
    value = as_number(value)
    if isinstance(value, tuple):
        return "(" + ",".join(_brace(v, spec, values, trace) for v in value) + ")"
    if type(value) in _PRINTED:
        return "".join(_brace(part, spec, values, trace) for part in _PRINTED[type(value)](value))
    info = _info(value)
    if info is None:
        return format(value, spec).replace("%", "%%")
    shape = re.fullmatch(r"(?P<flags>[-+ 0]*)(?P<width>\d*)(?P<precision>(?:\.\d+)?)(?P<kind>[a-zA-Z]?)", spec)
    kind = shape["kind"] or ("f" if info.kind == "float" else "d") if shape is not None else ""
    if shape is None or kind not in (_FLOATS if info.kind == "float" else _INTEGERS + _FLOATS):
        raise PrintFormatError(
            f"the format {spec!r} cannot print {describe(value)}",
            span=place(),
            found=f"{{:{spec}}}",
            expected="flags, width, precision and one of d x X o for integers, f e g for any number",
            instead="for example {:5d} or {:.3f}",
        )
    if kind in _FLOATS and info.kind != "float":
        info = TYPES["Float64"]
    return f"%{shape['flags']}{shape['width']}{shape['precision']}" + _argument(kind, value, info, values, trace)


def _info(value: object) -> TypeInfo | None:
    if isinstance(value, Numeric):
        return value.info
    return TYPES[PYTHON_NUMBERS[type(value)]] if type(value) in PYTHON_NUMBERS else None


# Any: the number that `info` was read from.
def _argument(kind: str, value: Any, info: TypeInfo, values: list[Any], trace: Trace) -> str:
    """Pass a number as C passes variadic ones: floats as double, integers as long long."""
    if info.kind == "float":
        values.append(materialize(value, TYPES["Float64"], trace))
        return kind
    unsigned = info.kind == "uint"
    values.append(materialize(value, TYPES["Uint64" if unsigned else "Int64"], trace))
    return "ll" + ("u" if unsigned and kind in "di" else kind)


def _wrong_count(template: str, args: tuple[Any, ...]) -> PrintFormatError:
    return PrintFormatError(
        "the format has more or fewer places than there are arguments",
        span=place(),
        found=f"{template!r} with {len(args)} argument{'' if len(args) == 1 else 's'}",
        expected="one place for each argument",
    )


def _for_python(template: str, args: tuple[Any, ...]) -> str:
    """What the same call prints when nothing is compiled."""
    if args and BRACES.search(template) and not _has_directives(template):
        text = template.format(*(_SixDigits(a) if isinstance(a, float) else a for a in args))
        return text if text.endswith("\n") else text + "\n"
    return template % args if args else template.replace("%%", "%")


class _SixDigits(float):
    """A float that `{}` shows as compiled code does."""

    def __format__(self, spec: str) -> str:
        return super().__format__(spec or "f")
