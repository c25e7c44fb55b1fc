"""The pictures people ask for.

Input: layouts. Output: SVG text.
"""

from __future__ import annotations

from triptych.layout.composed import AnyLayout, ComposedLayout
from triptych.layout.integers import Int
from triptych.layout.layout import Layout
from triptych.layout.memory import BANK_BITS, BANKS, accessed, bank_conflicts
from triptych.layout.picture import cycle_grid, index_grid, thread_value_grid
from triptych.layout.svg import bar_panel, draw_svg, grid_panel, page


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
