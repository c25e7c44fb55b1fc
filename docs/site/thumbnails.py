"""Small pictures: cells of a layout by their colours, and counts as bars.

The colours are of middle lightness, and nothing else is painted: pictures can be read on white and on black. Cells of
one colour are one path, which makes a picture a few kilobytes.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Sequence
from colorsys import hls_to_rgb
from html import escape

from triptych.layout.picture import Cell, Grid

WIDTH, HEIGHT = 320, 144
_GAP = 1
_FRAMED = "#e5484d"


def cells(grid: Grid, title: str = "") -> str:
    """The cells of a grid, without their labels."""
    width, height = WIDTH // grid.columns, HEIGHT // grid.rows
    boxes: defaultdict[str, list[str]] = defaultdict(list)
    for row, line in enumerate(grid.cells):
        for column, cell in enumerate(line):
            if cell.colour is not None:
                box = f"M{column * width} {row * height}h{width - _GAP}v{height - _GAP}h{_GAP - width}z"
                boxes[_colour(cell, cyclic=grid.cyclic)].append(box)
    return _picture(title or grid.title, boxes, (width * grid.columns, height * grid.rows))


def bars(title: str, numbers: Sequence[int], wasted: Sequence[int] = ()) -> str:
    """A column for each number, from below; what is wasted stands on top of it in red."""
    width = WIDTH // len(numbers)
    lost = wasted or [0] * len(numbers)
    largest = max(map(sum, zip(numbers, lost, strict=True))) or 1
    boxes: defaultdict[str, list[str]] = defaultdict(list)
    for column, (number, waste) in enumerate(zip(numbers, lost, strict=True)):
        low, high = (round(HEIGHT * each / largest) for each in (number, number + waste))
        left = column * width
        boxes[_hex(0.58, 0.55, 0.55)].append(f"M{left} {HEIGHT}h{width - _GAP}v{-max(low, 1)}h{_GAP - width}z")
        if high > low:
            boxes[_FRAMED].append(f"M{left} {HEIGHT - low}h{width - _GAP}v{low - high}h{_GAP - width}z")
    return _picture(title, boxes, (width * len(numbers), HEIGHT))


def _colour(cell: Cell, *, cyclic: bool) -> str:
    if cell.framed:
        return _FRAMED
    part = cell.colour or 0.0
    return _hex(part, 0.58, 0.45) if cyclic else _hex(0.58, 0.75 - 0.4 * round(part * 16) / 16, 0.55)


def _hex(hue: float, lightness: float, saturation: float) -> str:
    return "#" + "".join(f"{round(255 * part):02x}" for part in hls_to_rgb(hue, lightness, saturation))


def _picture(title: str, boxes: dict[str, list[str]], size: tuple[int, int]) -> str:
    paths = "".join(f'<path fill="{colour}" d="{"".join(each)}"/>\n' for colour, each in boxes.items())
    area = f'viewBox="0 0 {size[0]} {size[1]}" width="{WIDTH}" height="{HEIGHT}" preserveAspectRatio="none"'
    return f'<svg xmlns="http://www.w3.org/2000/svg" {area}>\n<title>{escape(title)}</title>\n{paths}</svg>\n'
