"""An integer known later and nothing else: the least that the algebra may rely on.

Input: a hidden number. Output: a value that computes with it but never shows it, as a traced integer does.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from triptych.layout import ComposedLayout, Layout, ScaledBasis, SymInt


class OpaqueInt:
    """`hidden` is for the test that made it; the algebra sees no value and no relation to other integers."""

    divisibility = 1
    width = 32

    def __init__(self, hidden: int) -> None:
        self.hidden = hidden

    def known_equal(self, other: object) -> bool:
        return self is other

    def minimum(self, other: Any) -> Any:
        return OpaqueInt(min(self.hidden, reveal(other)))

    def __str__(self) -> str:
        return "?"

    def __bool__(self) -> bool:
        raise AssertionError("the algebra looked at a dynamic value")

    def __eq__(self, other: object) -> bool:
        raise AssertionError("the algebra compared a dynamic value")

    def __hash__(self) -> int:
        return id(self)


def _operator(name: str) -> Callable[[OpaqueInt, Any], Any]:
    def apply(self: OpaqueInt, *others: Any) -> Any:
        return OpaqueInt(getattr(self.hidden, name)(*map(reveal, others)))

    return apply


for _name in ("add", "sub", "mul", "floordiv", "mod", "and", "xor", "lshift", "rshift"):
    setattr(OpaqueInt, f"__{_name}__", _operator(f"__{_name}__"))
    setattr(OpaqueInt, f"__r{_name}__", _operator(f"__r{_name}__"))
setattr(OpaqueInt, "__neg__", _operator("__neg__"))  # noqa: B010 - operators are given as above, to mypy too


def reveal(value: Any) -> Any:
    """The numbers behind a value."""
    return _mapped(value, lambda leaf: leaf.hidden if isinstance(leaf, OpaqueInt) else leaf)


def opaque(value: Any) -> Any:
    """A value with its symbolic integers replaced by opaque ones; 7 is hidden behind each."""
    return _mapped(value, lambda leaf: OpaqueInt(7) if isinstance(leaf, SymInt) else leaf)


def _mapped(value: Any, function: Callable[[Any], Any]) -> Any:
    match value:
        case tuple():
            return tuple(_mapped(item, function) for item in value)
        case Layout():
            return Layout(_mapped(value.shape, function), _mapped(value.stride, function))
        case ComposedLayout():
            return ComposedLayout(
                _mapped(value.inner, function), _mapped(value.offset, function), _mapped(value.outer, function)
            )
        case ScaledBasis():
            return ScaledBasis(_mapped(value.value, function), value.mode)
        case _:
            return function(value)
