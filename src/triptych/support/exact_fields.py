"""Strict deserialization of dataclasses: all fields must be there, so that a missing one never becomes its default.

Each is of the type that it is annotated with: what was read may have been written by somebody else.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import fields
from typing import Any, TypeVar

T = TypeVar("T")


def from_dict_strict(kind: type[T], values: Mapping[str, Any]) -> T:
    """A dataclass of these values. KeyError: one is missing, or is no field; TypeError: one is not as annotated.

    The annotations are text (`from __future__ import annotations`) of built-in types, dataclasses and unions of them.
    """
    written = {field.name: field.type for field in fields(kind)}  # type: ignore[arg-type]  # a dataclass, which no type says
    if values.keys() != written.keys():
        raise KeyError(f"fields of {kind.__name__}: {', '.join(sorted(values.keys() ^ written.keys()))}")
    for name, value in values.items():
        if not _fits(value, str(written[name])):
            raise TypeError(f"{kind.__name__}.{name} is a {type(value).__name__}, not {written[name]}")
    return kind(**values)


def _fits(value: object, annotation: str) -> bool:
    return any(_is_a(value, each) for each in annotation.split(" | "))


def _is_a(value: object, kind: str) -> bool:
    """Exactly: True is no int."""
    name, _, inner = kind.partition("[")
    if name == "tuple":
        return type(value) is tuple and all(_fits(part, inner.removesuffix(", ...]")) for part in value)
    if name in ("dict", "Mapping"):
        of = inner.removeprefix("str, ").removesuffix("]")
        return type(value) is dict and all(type(key) is str and _fits(part, of) for key, part in value.items())
    return name == "Any" or type(value).__name__ == ("NoneType" if name == "None" else name)
