"""Dataclasses from what was read: all of their fields, so that one that is not there never becomes its default."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import fields
from typing import Any, TypeVar

T = TypeVar("T")


def exactly(kind: type[T], values: Mapping[str, Any]) -> T:
    """A dataclass of these values; KeyError where one is missing, or is no field."""
    names = {field.name for field in fields(kind)}  # type: ignore[arg-type]  # a dataclass, which no type says
    if values.keys() != names:
        raise KeyError(f"fields of {kind.__name__}: {', '.join(sorted(values.keys() ^ names))}")
    return kind(**values)
