"""Results of a compiled function: run-time numbers, aggregates of them, and what was known while tracing.

How Python makes a result of native numbers is a `Rebuild`; one that names no class of the program has a recipe, by
which another process makes the same.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from types import CodeType
from typing import Any

from triptych.metastage.trace import locations
from triptych.metastage.trace.errors import ReturnValueError
from triptych.metastage.values.aggregates import describe, take_apart
from triptych.metastage.values.dynamic_text import Refused
from triptych.metastage.values.scalars import Numeric, as_number
from triptych.stages import Leaf
from triptych.support.dataclass import dataclass

Rebuild = Callable[[Iterator[Any]], Any]


def take_results(value: object, code: CodeType, path: str = "result") -> tuple[list[tuple[Leaf, Any]], Rebuild]:
    """The numbers that the function of `code` returns natively, and how Python makes the returned value of them."""
    value = as_number(value)
    if isinstance(value, Refused):
        raise value.refusal
    if isinstance(value, Numeric):
        return [(Leaf(path, type(value).__name__), value.ir_value())], next
    if value is None or isinstance(value, bool | int | float | str):
        return [], Known(value)
    parts = take_apart(value)
    if parts is None:
        raise ReturnValueError(
            f"a compiled function cannot return {describe(value)}",
            span=locations.last_return(code),
            found=describe(value),
            expected="a number, or a tuple, NamedTuple or dataclass of numbers",
            instead="a tuple" if isinstance(value, list | dict) else "a tensor argument that the function writes to",
        )
    taken = [take_results(v, code, path + label) for v, label in zip(parts.values, parts.labels, strict=True)]
    return [leaf for leaves, _ in taken for leaf in leaves], Whole(parts.rebuild, [rebuild for _, rebuild in taken])


@dataclass(frozen=True, slots=True)
class Known:
    """A result that was known while tracing."""

    value: Any

    def __call__(self, values: Iterator[Any]) -> Any:
        return self.value


@dataclass(frozen=True, slots=True)
class Whole:
    """An aggregate, of parts that are made one after the other."""

    make: Callable[[list[Any]], Any]
    parts: Sequence[Rebuild]

    def __call__(self, values: Iterator[Any]) -> Any:
        return self.make([part(values) for part in self.parts])


_PLAIN: dict[str, tuple[Callable[[Any], str], Callable[[str], Any]]] = {
    "NoneType": (str, lambda _: None),
    "bool": (str, lambda text: text == "True"),
    "int": (str, int),
    "float": (float.hex, float.fromhex),
    "str": (str, str),
}
"""How values of these types are written and read."""


def recipe_of(rebuild: Rebuild) -> list[Any] | None:
    """A rebuild as lists of text; None if it needs an object that only this process has."""
    if rebuild is next:
        return ["number"]
    if isinstance(rebuild, Known):
        kind = type(rebuild.value).__name__
        exact = kind in _PLAIN and type(rebuild.value).__module__ == "builtins"
        return ["known", kind, _PLAIN[kind][0](rebuild.value)] if exact else None
    if isinstance(rebuild, Whole) and rebuild.make is tuple:
        parts = [recipe_of(part) for part in rebuild.parts]
        return None if None in parts else ["tuple", *parts]
    return None


def rebuild_from(recipe: Sequence[Any]) -> Rebuild:
    """The rebuild of a recipe."""
    match recipe:
        case ["number"]:
            return next
        case ["known", kind, text]:
            return Known(_PLAIN[kind][1](text))
        case ["tuple", *parts]:
            return Whole(tuple, [rebuild_from(part) for part in parts])
    raise ValueError(f"no recipe of a result: {recipe!r}")
