"""Pictures of the six cards of the landing page, each computed by what the card is about."""

from __future__ import annotations

from docs.site.thumbnails import bars, cells
from triptych import cute
from triptych.cute.nvgpu import warp
from triptych.layout import (
    bank_conflicts,
    blocked_product,
    cycle_grid,
    index_grid,
    make_composed_layout,
    make_layout,
    make_swizzle,
    thread_value_grid,
)
from triptych.layout.picture import Cell, Grid

FOLDER = "images/cards"


def pictures() -> dict[str, str]:
    """Each picture by its place on the site."""
    found = {
        "first-kernel": cells(_blocks(), "Threads of a grid, coloured by block"),
        "layouts": cells(_swizzled(), "A swizzle: each row holds its positions in another order"),
        "cute-dsl": cells(_fragment(), "Which thread holds which number of a tensor core's operand"),
        "faults": cells(_column(), "A column of shared memory that lies in one bank"),
        "workbench": bars("Passes of a column's request, for rows of sixteen to forty-eight words", _sweep()),
        "language": cells(_nested(), "Tiles inside of tiles"),
    }
    return {f"{FOLDER}/{name}.svg": picture for name, picture in found.items()}


def _blocks() -> Grid:
    """Threads in eight blocks; those without an element are left out."""
    threads, elements = 32, 232
    rows = [[Cell("", row / 8, "") for _ in range(threads)] for row in range(8)]
    rows[-1] = [cell if 7 * threads + i < elements else Cell("", None, "") for i, cell in enumerate(rows[-1])]
    return Grid("", tuple(map(tuple, rows)), cyclic=True)


def _swizzled() -> Grid:
    return cycle_grid(make_composed_layout(make_swizzle(3, 0, 3), 0, make_layout((8, 8), stride=(8, 1))), 8)


def _fragment() -> Grid:
    atom = cute.make_mma_atom(warp.MmaF16BF16Op(cute.Float16, cute.Float32, (16, 8, 16)))
    return thread_value_grid(atom.tv_layout_A, (16, 16))


def _column() -> Grid:
    rows = make_layout((12, 32), stride=(32, 1))
    return cycle_grid(rows, 32, framed={(row, 9) for row in range(12)})


def _sweep() -> list[int]:
    """What a warp's request of a column takes, by the length of the rows."""
    return [bank_conflicts(make_layout((32, 32), stride=(words, 1)), make_layout(32)).passes for words in range(16, 49)]


def _nested() -> Grid:
    inner = make_layout((4, 4), stride=(4, 1))
    return index_grid(blocked_product(inner, make_layout((3, 6), stride=(6, 1))))
