"""Pictures of layouts: a grid of cells, each with a label, a colour and a note, and its SVG.

Input: a layout, or any function with a shape. Output: a grid, to be drawn as text, SVG or LaTeX.
Rows are the first mode and columns all others, as a matrix is written; a single mode is one row. A cell of an SVG tells
its coordinate and index on hover. Numbers are rounded, so the same picture is the same text.
"""

from __future__ import annotations

from collections.abc import Callable, Container, Sequence
from colorsys import hls_to_rgb
from html import escape
from typing import Any, Protocol

from triptych.layout.coordinates import index_to_coord
from triptych.layout.errors import UndecidableError
from triptych.layout.tuples import Coord, IntTuple, Shape, product, tuple_text
from triptych.support.dataclass import dataclass

LARGEST = 128 * 128
"""Cells of the largest grid that is drawn without being asked to."""


class Function(Protocol):
    """A function on the coordinates of a shape."""

    @property
    def shape(self) -> Shape: ...

    def __call__(self, coord: Coord) -> IntTuple: ...


@dataclass(frozen=True, slots=True)
class Cell:
    """One coordinate: what is written, which colour out of 0..1 (None for white), the note, and whether framed."""

    label: str
    colour: float | None
    note: str
    framed: bool = False


@dataclass(frozen=True, slots=True)
class Grid:
    """A matrix of cells under a title; `cyclic` colours go round the hues, others from light to dark."""

    title: str
    cells: tuple[tuple[Cell, ...], ...]
    cyclic: bool = False

    @property
    def rows(self) -> int:
        return len(self.cells)

    @property
    def columns(self) -> int:
        return len(self.cells[0])


def fits_a_picture(function: Function) -> bool:
    """Whether every extent is known and the grid is not too large to look at."""
    size = product(function.shape)
    return isinstance(size, int) and 0 < size <= LARGEST


def index_grid(function: Function) -> Grid:
    """Each coordinate with its index; memory goes from light to dark."""
    largest = max((_number(function(i)) for i in range(_size(function))), default=0) or 1
    return _grid(function, str(function), lambda value: _number(value) / largest)


def cycle_grid(function: Function, period: int, framed: Container[Coord] = (), title: str = "") -> Grid:
    """Each coordinate coloured by its index modulo a period, as banks are; chosen coordinates are framed."""
    grid = _grid(function, title or str(function), lambda value: _number(value) % period / period, framed)
    return Grid(grid.title, grid.cells, cyclic=True)


def thread_value_grid(tv: Function, tile: tuple[int, int], colours: int = 8) -> Grid:
    """The tile that a (thread, value) layout covers: who holds each element, coloured by thread."""
    rows, columns = tile
    threads, held = (product(mode) for mode in _modes(tv.shape))
    owner: dict[int, tuple[int, int]] = {}
    for thread in range(_static(threads)):
        for value in range(_static(held)):
            owner[_number(tv((thread, value)))] = (thread, value)
    cells = tuple(
        tuple(_owned(owner.get(row + column * rows), (row, column), colours) for column in range(columns))
        for row in range(rows)
    )
    return Grid(f"{tv} on {tuple_text(tile)}", cells, cyclic=True)


def _owned(owner: tuple[int, int] | None, coord: tuple[int, int], colours: int) -> Cell:
    if owner is None:
        return Cell("", None, f"{tuple_text(coord)} belongs to nobody")
    thread, value = owner
    note = f"{tuple_text(coord)} is value {value} of thread {thread}"
    # Threads below each other are often `colours` apart; a shift per round keeps them apart in colour too.
    return Cell(f"T{thread} V{value}", (thread + thread // colours * 3) % colours / colours, note)


def _grid(function: Function, title: str, colour: Callable[[IntTuple], float], framed: Container[Coord] = ()) -> Grid:
    rows = _static(product(_modes(function.shape)[0])) if isinstance(function.shape, tuple) else 1
    cells: list[tuple[Cell, ...]] = []
    for row in range(rows):
        line: list[Cell] = []
        for index in range(row, _size(function), rows):
            coord = index_to_coord(index, function.shape)
            value = function(coord)
            label = tuple_text(value)
            line.append(Cell(label, colour(value), f"{tuple_text(coord)} → {label}", coord in framed))
        cells.append(tuple(line))
    return Grid(title, tuple(cells))


def _modes(shape: Shape) -> tuple[Any, ...]:
    return shape if isinstance(shape, tuple) and len(shape) > 1 else (1, shape)


def _size(function: Function) -> int:
    return _static(product(function.shape))


def _static(value: object) -> int:
    if not isinstance(value, int):
        raise UndecidableError("only a static layout can be drawn", found=str(value))
    return value


def _number(value: IntTuple) -> int:
    """One number to colour by; a coordinate counts the sum of its parts."""
    return sum(map(_number, value)) if isinstance(value, tuple) else _static(value)


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
