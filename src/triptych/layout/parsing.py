"""One reader for everything the notation can say.

Input: text. Output: a layout, a composed layout, a swizzle, a tile, or a nested tuple.
"""

from __future__ import annotations

from typing import Any

from triptych.layout.composed import read_composed
from triptych.layout.notation import Reader, read_tuple


def parse(text: str) -> Any:
    """The value written in a text; `[4:1;_]` is a tile, a text without `:` or `o` a nested tuple."""
    if "[" not in text and ":" not in text and "o" not in text and "S" not in text:
        return read_tuple(text)
    reader = Reader(text)
    value = _tile(reader)
    reader.finish()
    return value


def _tile(reader: Reader) -> Any:
    if reader.skip("_"):
        return None
    if not reader.skip("["):
        return read_composed(reader)
    items = [_tile(reader)]
    while reader.skip(";"):
        items.append(_tile(reader))
    reader.take("]")
    return tuple(items)


def tile_text(tile: object) -> str:
    """A tile in the notation."""
    if isinstance(tile, tuple):
        return "[" + ";".join(map(tile_text, tile)) + "]"
    return "_" if tile is None else str(tile)
