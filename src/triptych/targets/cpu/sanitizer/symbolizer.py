"""A byte of shared memory in the user's words: the allocation it lies in, the element, and its coordinate."""

from __future__ import annotations

import re
from collections.abc import Sequence

from triptych.layout import Layout, idx2crd, parse, size
from triptych.support.source import Span

_TENSOR = re.compile(r"a tensor (\S+) of (\w+)")
_MOST_ELEMENTS = 1 << 16
"""Of a layout whose coordinates are tried one after the other."""


def described(byte: int, parts: Sequence[Sequence[object]], element: int) -> tuple[str, Span | None]:
    """The element of `element` bytes that a byte of shared memory is in, and where its allocation was made."""
    for what, offset, extent, span in parts:
        begin = int(str(offset))
        if begin <= byte < begin + int(str(extent)):
            number = (byte - begin) // element
            return f"element {number}{_coordinate(str(what), number)} of {what}", _span(span)
    return "", None


def _span(facts: object) -> Span | None:
    return Span(**facts) if isinstance(facts, dict) else None


def _coordinate(what: str, number: int) -> str:
    """Where the layout of a tensor puts that element; nothing for what is no tensor with a plain layout."""
    found = _TENSOR.fullmatch(what)
    layout = parse(found[1]) if found else None
    if not isinstance(layout, Layout):
        return ""
    count = size(layout)
    if not isinstance(count, int) or count > _MOST_ELEMENTS:
        return ""
    place = next((i for i in range(count) if layout(i) == number), None)
    return "" if place is None else f" at {idx2crd(place, layout.shape)}"
