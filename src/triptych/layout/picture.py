"""What a picture of a layout shows: rows, columns, and a label, a colour and a note for every cell.

Input: a layout, or any function with a shape. Output: a grid, to be drawn as text, SVG or LaTeX.
Rows are the first mode and columns all others, as a matrix is written; a single mode is one row.
"""

from __future__ import annotations

from collections.abc import Callable, Container
from dataclasses import dataclass
from typing import Any, Protocol

from triptych.layout.coordinates import index_to_coord
from triptych.layout.errors import UndecidableError
from triptych.layout.tuples import Coord, IntTuple, Shape, product, tuple_text

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
