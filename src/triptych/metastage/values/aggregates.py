"""Aggregates: values made of values. They flatten to numbers to cross branches, loops and calls, and are rebuilt.

Tuples, NamedTuples and dataclasses take part by themselves; any class does by the dynamic-expression protocol
(`__extract_mlir_values__`, `__new_from_mlir_values__`, and `__static_part__` for what must be the same on all paths),
or by a view registered for it. Everything else is static: one Python object.
"""

from __future__ import annotations

import dataclasses
from collections.abc import Callable, Sequence
from typing import Any, NamedTuple, Protocol

from triptych.metastage.values.promotion import PYTHON_NUMBERS
from triptych.metastage.values.scalars import Numeric
from triptych.support.wording import with_article


class DynamicExpression(Protocol):
    """A value that knows its own MLIR values: crosses branches and loops as those."""

    def __extract_mlir_values__(self) -> Sequence[Any]: ...
    def __new_from_mlir_values__(self, values: Sequence[Any]) -> Any: ...


_VIEWS: dict[type, Callable[[Any], DynamicExpression]] = {}


def register_view(cls: type, view: Callable[[Any], DynamicExpression]) -> None:
    """Let a class that knows nothing of MLIR cross: `view(instance)` is taken apart, and rebuilds an instance."""
    _VIEWS[cls] = view


def is_dynamic_expression(value: object) -> bool:
    """Asked of the class: `isinstance` takes 20 us for a protocol."""
    return hasattr(type(value), "__extract_mlir_values__") or type(value) in _VIEWS


def may_have_values(value: object) -> bool:
    """Whether a dynamic expression can be made of run-time values; one with a view (a layout) need not be."""
    return type(value) not in _VIEWS or bool(as_expression(value).__extract_mlir_values__())


# Any: its class is asked, `isinstance` takes 20 us for a protocol.
def as_expression(value: Any) -> DynamicExpression:
    """What crosses for a value that is a dynamic expression, or has a view that is one."""
    view = _VIEWS.get(type(value))
    crossing: DynamicExpression = value if view is None else view(value)
    return crossing


def static_part(value: DynamicExpression) -> Any:
    """What of an expression does not cross, and so must be the same on every path."""
    part = getattr(type(value), "__static_part__", None)
    return None if part is None else part(value)


class Parts(NamedTuple):
    """An aggregate taken apart. Two aggregates are alike when their `key`s are equal."""

    key: tuple[Any, ...]
    labels: tuple[str, ...]
    """How each part is reached, as written after the whole: `[0]`, `.x`."""
    values: tuple[Any, ...]
    rebuild: Callable[[Sequence[Any]], Any]
    besides: tuple[tuple[str, Any], ...] = ()
    """Attributes of a dataclass instance that are no fields: a copy has them as they are."""

    def summary(self) -> str:
        """What it is, in messages."""
        return f"{self.key[0].__name__} of {len(self.values)}"


# Any: told apart by its exact class.
def take_apart(value: Any) -> Parts | None:
    """The parts of a tuple, NamedTuple or dataclass instance; None for anything else."""
    cls = type(value)
    if cls is tuple:
        labels = tuple(f"[{i}]" for i in range(len(value)))
        return Parts((tuple, len(value)), labels, value, tuple)
    if isinstance(value, tuple) and hasattr(cls, "_make"):
        return Parts((cls,), tuple(f".{name}" for name in cls._fields), tuple(value), cls._make)
    if dataclasses.is_dataclass(value) and not isinstance(value, type):
        names = [field.name for field in dataclasses.fields(value)]
        return Parts(
            (cls,),
            tuple(f".{name}" for name in names),
            tuple(getattr(value, name) for name in names),
            lambda values: _copy_with(value, dict(zip(names, values, strict=True))),
            tuple((name, held) for name, held in getattr(value, "__dict__", {}).items() if name not in names),
        )
    return None


def list_parts(value: list[Any]) -> Parts:
    """The parts of a list that crosses as fixed as a tuple; the other side has a list of its own."""
    return Parts((list, len(value)), tuple(f"[{i}]" for i in range(len(value))), tuple(value), list)


def _copy_with(instance: object, fields: dict[str, Any]) -> Any:
    """A new instance of the same class without running its constructor, which the user wrote for other moments."""
    copied = object.__new__(type(instance))
    for name, value in {**getattr(instance, "__dict__", {}), **fields}.items():
        object.__setattr__(copied, name, value)
    return copied


def describe(value: object) -> str:
    """A value as an error names it."""
    if isinstance(value, Numeric):
        return type(value).__name__
    if type(value) in PYTHON_NUMBERS:
        return f"the Python {type(value).__name__} {value!r}"
    if value is None:
        return "None"
    if is_dynamic_expression(value) and static_part(as_expression(value)) is not None:
        return str(value)
    parts = take_apart(value)
    if parts is not None:
        return f"{type(value).__name__} of ({', '.join(describe(p) for p in parts.values)})"
    kind = with_article(type(value).__name__)
    return f"{kind} ({value!r})" if isinstance(value, str) else kind
