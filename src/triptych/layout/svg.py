"""Drawing grids and bars as SVG.

Input: grids and counts. Output: a self-contained SVG text; a cell tells its coordinate and index on hover.
Numbers are rounded and nothing depends on time or chance, so the same picture is the same text.
"""

from __future__ import annotations

from collections.abc import Sequence
from colorsys import hls_to_rgb
from dataclasses import dataclass
from html import escape

from triptych.layout.picture import Cell, Grid

_CELL = 34
_MARGIN = 26
_TITLE = 30
_LETTER = 7.4
"""Width of a letter of the labels, in pixels."""


@dataclass(frozen=True, slots=True)
class Panel:
    """A drawn part with its size."""

    width: float
    height: float
    body: str


def draw_svg(*grids: Grid) -> str:
    """Grids side by side."""
    return page([grid_panel(grid) for grid in grids])


def page(panels: Sequence[Panel], *, vertical: bool = False) -> str:
    """Panels in a row, or in a column, as one SVG document."""
    placed, x, y = [], 0.0, 0.0
    for panel in panels:
        placed.append(f'<g transform="translate({x:g},{y:g})">{panel.body}</g>')
        x, y = (x, y + panel.height) if vertical else (x + panel.width, y)
    width = max(panel.width for panel in panels) if vertical else x
    height = y if vertical else max(panel.height for panel in panels)
    head = (
        f'<svg xmlns="http://www.w3.org/2000/svg" width="{width:g}" height="{height:g}" '
        f'viewBox="0 0 {width:g} {height:g}" font-family="monospace" font-size="12" '
        f'text-anchor="middle" stroke="#888">'
    )
    return "\n".join(
        [head, f'<rect width="{width:g}" height="{height:g}" fill="white" stroke="none"/>', *placed, "</svg>"]
    )


def grid_panel(grid: Grid) -> Panel:
    """A grid with its title and the numbers of rows and columns."""
    longest = max(len(cell.label) for row in grid.cells for cell in row)
    cell_width = max(_CELL, round(longest * _LETTER + 8))
    parts = [_text(_MARGIN, 18, grid.title, anchor="start", weight="bold")]
    for column in range(grid.columns):
        parts.append(_text(_MARGIN + (column + 0.5) * cell_width, _TITLE + 10, str(column), colour="#666"))
    framed: list[str] = []
    for row, cells in enumerate(grid.cells):
        top = _TITLE + 16 + row * _CELL
        parts.append(_text(_MARGIN - 6, top + _CELL / 2 + 4, str(row), anchor="end", colour="#666"))
        for column, cell in enumerate(cells):
            drawn = _cell(cell, _MARGIN + column * cell_width, top, cell_width, grid.cyclic)
            (framed if cell.framed else parts).append(drawn)
    width = max(_MARGIN + grid.columns * cell_width + 12, _MARGIN + len(grid.title) * _LETTER + 12)
    return Panel(width, _TITLE + 16 + grid.rows * _CELL + 12, "".join(parts + framed))


def bar_panel(title: str, counts: Sequence[int], unit: str, *, width: float = 34 * 32 + 38) -> Panel:
    """One bar per count, its number above it; a full bar is one that serves as many words as there are bars."""
    tallest = max(len(counts), *counts)
    step = (width - 38) / len(counts)
    height = 90
    parts = [_text(_MARGIN, 18, title, anchor="start", weight="bold")]
    for place, count in enumerate(counts):
        size = height * count / tallest
        x, top = _MARGIN + place * step, 40 + height - size
        colour = _colour(place / len(counts), cyclic=True)
        note = escape(f"{unit} {place}: {count}")
        parts.append(
            f'<rect x="{x:g}" y="{top:g}" width="{step - 2:g}" height="{size:g}" fill="{colour}" '
            f'stroke="#444"><title>{note}</title></rect>'
        )
        if count:
            parts.append(_text(x + step / 2 - 1, top - 4, str(count)))
        parts.append(_text(x + step / 2 - 1, 40 + height + 14, str(place), colour="#666"))
    return Panel(width, 40 + height + 26, "".join(parts))


def _cell(cell: Cell, x: float, y: float, width: float, cyclic: bool) -> str:
    fill = "white" if cell.colour is None else _colour(cell.colour, cyclic)
    frame = ' stroke="black" stroke-width="3"' if cell.framed else ""
    dark = cell.colour is not None and not cyclic and cell.colour > 0.6
    label = _text(x + width / 2, y + _CELL / 2 + 4, cell.label, colour="white" if dark else "black")
    box = f'<path d="M{x:g} {y:g}h{width:g}v{_CELL}h-{width:g}z" fill="{fill}"{frame}/>'
    return f"<g><title>{escape(cell.note)}</title>{box}{label}</g>"


def _colour(value: float, cyclic: bool) -> str:
    """Hues all the way round, or one hue from light to dark."""
    if cyclic:
        return _hex(value, 0.8, 0.7)
    return _hex(0.59, 0.96 - 0.56 * value, 0.65)


def _hex(hue: float, lightness: float, saturation: float) -> str:
    return "#" + "".join(f"{round(255 * part):02x}" for part in hls_to_rgb(hue, lightness, saturation))


def _text(
    x: float, y: float, text: str, *, anchor: str = "middle", colour: str = "black", weight: str = "normal"
) -> str:
    """What the page already says (middle, black, normal) is not repeated for each of thousands of labels."""
    given = {"text-anchor": anchor, "fill": colour, "font-weight": weight}
    usual = {"text-anchor": "middle", "fill": "black", "font-weight": "normal"}
    extra = "".join(f' {name}="{value}"' for name, value in given.items() if value != usual[name])
    return f'<text x="{x:g}" y="{y:g}" stroke="none"{extra}>{escape(text)}</text>'
