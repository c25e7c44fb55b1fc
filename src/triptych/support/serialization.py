"""Serialization: dataclasses read strictly, so that a missing field never becomes its default, and long text
compressed.
"""

from __future__ import annotations

import zlib
from collections.abc import Mapping
from dataclasses import fields
from typing import Any, TypeVar


class CompressedText:
    """A text that is small while nobody looks at it."""

    __slots__ = ("_bytes", "_text")

    def __init__(self, text: str) -> None:
        self._text: str | None = text
        self._bytes = b""

    def store(self) -> None:
        """From now on keep it compressed: a tenth to a third of its length, at 100 MB and more a second."""
        if self._text is not None:
            self._bytes = zlib.compress(self._text.encode(), 1)
            self._text = None

    def __str__(self) -> str:
        return zlib.decompress(self._bytes).decode() if self._text is None else self._text


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
