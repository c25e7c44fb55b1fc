"""The stubs that type checkers read instead of modules whose names they cannot see, made from the run-time tables.

Of packages that load their names on first use, where each name comes from; of the numeric classes, what operators give,
asked of the function that the compiler asks.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from types import ModuleType
from typing import Any

from triptych.metastage.trace.errors import OperandTypeError
from triptych.metastage.values.numeric import operator_type
from triptych.metastage.values.scalars import NUMERIC_CLASSES, Numeric

HEAD = '"""Written by `pytest tests/contracts --update-golden`, from the tables of the module beside it."""\n'

WITHOUT_TYPE = {"struct"}
"""Annotations are made of `struct.MemRange[T, 8]`, and mypy has no form for a type with a number in it."""

OPERATORS = {
    "+": ("__add__", "__sub__", "__mul__", "__floordiv__", "__mod__"),
    "/": ("__truediv__",),
    "&": ("__and__", "__or__", "__xor__"),
    "<<": ("__lshift__", "__rshift__"),
}
"""An operator of each kind, and the methods that have its types; written out, since pyright looks behind no alias."""


def package_stub(package: ModuleType) -> str:
    """The public names of a package that loads them on first use, imported from where they are."""
    names = vars(package)["_NAMES"]
    lines = [HEAD, "from typing import Any", ""]
    lines += [f"from {package.__name__} import {module} as {module}" for module in names.modules]
    imports = {name: f"from {home} import {spelled} as {name}" for name, (home, spelled) in names.homes.items()}
    lines += [imports[name] for name in sorted(imports, key=_natural) if name not in WITHOUT_TYPE]
    lines += ["", *(f"{name}: Any" for name in sorted(WITHOUT_TYPE & set(imports)))]
    lines += ["", "__version__: str"] if "__version__" in package.__all__ else []
    lines += ["", "__all__ = [", *(f'    "{name}",' for name in sorted(package.__all__, key=_natural)), "]", ""]
    return "\n".join(lines)


def numbers_stub() -> str:
    """The numeric classes with the types of their operators."""
    lines = [
        HEAD,
        "from typing import Any, Never, TypeVar, overload",
        "",
        "from triptych.metastage.values.numeric import NUMERIC_CLASSES as NUMERIC_CLASSES",
        "from triptych.metastage.values.numeric import Numeric as Numeric",
        "from triptych.metastage.values.numeric import materialize as materialize",
        "from triptych.metastage.values.numeric import as_number as as_number",
        "from triptych.metastage.values.numeric import is_number_class as is_number_class",
        "from triptych.metastage.values.numeric import numeric_class as numeric_class",
        "",
        "class Integer(Numeric): ...",
        "class Float(Numeric): ...",
        "",
        '_F = TypeVar("_F", bound=Float)',
        "",
        "def dtype_named(name: str) -> type[Numeric]: ...",
    ]
    for name, number in NUMERIC_CLASSES.items():
        kind = "Float" if number.is_float else "Integer"
        lines += ["", f"class {name}({kind}):", *(f"    {line}" for line in _members(number))]
    return "\n".join(lines) + "\n"


def _members(number: type[Numeric]) -> Iterator[str]:
    for op, methods in OPERATORS.items():
        for method in methods:
            yield from _operator(op, method, number)
    yield from _power(number)
    counted = _result("+", number, number)
    for method in ("__neg__", "__pos__", "__abs__"):
        yield f"def {method}(self) -> {counted}: ..."
    if not number.is_float:
        yield f"def __invert__(self) -> {_result('&', number, int)}: ..."
    for method in ("__lt__", "__le__", "__gt__", "__ge__"):
        yield f"def {method}(self, other: Numeric | float) -> Boolean: ..."
    yield "def __eq__(self, other: object) -> Boolean: ...  # type: ignore[override]"
    yield "def __ne__(self, other: object) -> Boolean: ...  # type: ignore[override]"


def _operator(op: str, method: str, number: type[Numeric]) -> Iterator[str]:
    forms = _forms(op, number)
    if not forms:
        yield f"def {method}(self, other: Never) -> Any: ..."
    for result, operands in forms.items():
        if len(forms) > 1:
            yield "@overload"
        overlap = "  # type: ignore[overload-overlap]" if "bool" in operands else ""
        yield f"def {method}(self, other: {' | '.join(_joined(operands))}) -> {result}: ...{overlap}"


def _power(number: type[Numeric]) -> Iterator[str]:
    """A constant exponent keeps the type; otherwise it is a power of floats."""
    counted = _result("+", number, number)
    yield "@overload"
    yield f"def __pow__(self, other: int, modulus: None = None) -> {counted}: ..."
    yield "@overload"
    yield "def __pow__(self, other: Numeric | float, modulus: None = None) -> Any: ..."


def _forms(op: str, number: type[Numeric]) -> dict[str, list[str]]:
    """The right operands by what they give; Python's numbers last, where a checker takes an int for a float."""
    forms: dict[str, list[str]] = {}
    for other in NUMERIC_CLASSES.values():
        result = _result(op, number, other)
        if result is not None:
            forms.setdefault(result, []).append(other.__name__)
    for python in (bool, int, float):
        result = _result(op, number, python)
        if result is not None and (python is not bool or result != _result(op, number, int)):
            forms.setdefault(result, []).append(python.__name__)
    floats = [name for name, other in NUMERIC_CLASSES.items() if other.is_float]
    if all(name in forms.get(name, ()) for name in floats):
        rest = {result: [name for name in operands if name not in floats] for result, operands in forms.items()}
        forms = {"_F": ["_F"], **{result: operands for result, operands in rest.items() if operands}}
    return dict(sorted(forms.items(), key=lambda form: ("float" in form[1], "bool" not in form[1])))


def _joined(operands: list[str]) -> list[str]:
    """All integers as what they have in common, all floats likewise."""
    for kind, is_float in (("Integer", False), ("Float", True)):
        every = [name for name, number in NUMERIC_CLASSES.items() if number.is_float is is_float]
        if set(every) <= set(operands):
            operands = [kind, *(name for name in operands if name not in every)]
    return [name for name in operands if not (name == "int" and "float" in operands)]


def _result(op: str, left: type[Numeric], right: type[Any]) -> str | None:
    beside = right.constant(0) if issubclass(right, Numeric) else right(0)
    try:
        return operator_type(op, left.constant(0), beside).name
    except OperandTypeError:
        return None


def _natural(name: str) -> list[tuple[int, str]]:
    return [(int(part), "") if part.isdigit() else (-1, part) for part in re.split(r"(\d+)", name)]
