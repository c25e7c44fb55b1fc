"""Drawings of layouts, as text for a terminal, as LaTeX (TikZ) and as SVG."""

from __future__ import annotations

from triptych.layout.composed import AnyLayout, ComposedLayout
from triptych.layout.integers import Int
from triptych.layout.layout import Layout
from triptych.layout.memory import BANK_BITS, BANKS, accessed, bank_conflicts
from triptych.layout.picture import (
    Grid,
    bar_panel,
    cycle_grid,
    draw_svg,
    grid_panel,
    index_grid,
    page,
    thread_value_grid,
)

_LATEX_TINTS = 8
"""Steps of colour; print tells no more apart."""


def draw_text(grid: Grid) -> str:
    """A ruled table with row and column numbers."""
    width = max(len(cell.label) for row in grid.cells for cell in row)
    width = max(width, len(str(grid.columns - 1)))
    margin = len(str(grid.rows - 1))
    rule = " " * margin + " +" + ("-" * (width + 2) + "+") * grid.columns
    numbers = " " * (margin + 2) + "".join(f" {column:>{width}}  " for column in range(grid.columns))
    lines = [numbers.rstrip(), rule]
    for number, row in enumerate(grid.cells):
        lines.append(f"{number:>{margin}} |" + "".join(f" {cell.label:>{width}} |" for cell in row))
        lines.append(rule)
    return "\n".join(lines)


def draw_latex(grid: Grid) -> str:
    """A TikZ picture, one node per cell."""
    lines = [
        f"% {grid.title}",
        r"\begin{tikzpicture}[x={(0cm,-1cm)},y={(1cm,0cm)},every node/.style={minimum size=1cm,outer sep=0pt}]",
    ]
    for row, cells in enumerate(grid.cells):
        for column, cell in enumerate(cells):
            fill = "white" if cell.colour is None else _tint(cell.colour, grid.cyclic)
            frame = "draw,very thick" if cell.framed else "draw"
            lines.append(rf"\node[fill={fill},{frame}] at ({row},{column}) {{{cell.label}}};")
    numbers = [rf"\node at ({row},-1) {{\Large\texttt{{{row}}}}};" for row in range(grid.rows)]
    numbers += [rf"\node at (-1,{column}) {{\Large\texttt{{{column}}}}};" for column in range(grid.columns)]
    return "\n".join([*lines, *numbers, r"\end{tikzpicture}"])


def _tint(colour: float, cyclic: bool) -> str:
    step = min(int(colour * _LATEX_TINTS), _LATEX_TINTS - 1)
    if cyclic:
        return f"{('red', 'orange', 'yellow', 'lime', 'green', 'cyan', 'blue', 'violet')[step]}!30"
    return f"blue!{10 + 6 * step}"


def layout_svg(layout: AnyLayout) -> str:
    """A layout: every coordinate with its index, memory from light to dark."""
    return draw_svg(index_grid(layout))


def thread_value_svg(tv: Layout, tile: tuple[Int, ...]) -> str:
    """A (thread, value) layout on its tile, coloured by thread."""
    rows, columns = (tile[0], tile[1]) if len(tile) > 1 else (1, tile[0])
    assert isinstance(rows, int), rows
    assert isinstance(columns, int), columns
    return draw_svg(thread_value_grid(tv, (rows, columns)))


def swizzle_svg(layout: ComposedLayout, period: int = 8) -> str:
    """A layout before and after its swizzle, coloured by index modulo a period."""
    before = cycle_grid(layout.outer, period, title=f"before: {layout.outer}")
    return draw_svg(before, cycle_grid(layout, period, title=f"after: {layout}"))


def bank_svg(tile: AnyLayout, access: Layout, bits: int = 32) -> str:
    """A tile coloured by bank, the accessed elements framed, and the words each bank has to serve."""
    conflicts = bank_conflicts(tile, access, bits=bits)
    period = BANKS * BANK_BITS // bits
    grid = grid_panel(cycle_grid(tile, period, accessed(tile, access)))
    bars = bar_panel(f"words per bank: {conflicts}", conflicts.by_bank, "bank", width=max(grid.width, 700))
    return page([grid, bars], vertical=True)
