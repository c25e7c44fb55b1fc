"""Thumbnails of the example kernels: the layout that a kernel is about, or its instructions by line."""

from __future__ import annotations

from collections.abc import Callable

from docs.site.gallery_figures import Figures
from docs.site.thumbnails import bars, cells
from triptych import cute
from triptych.cute.nvgpu import warp
from triptych.layout import (
    cycle_grid,
    index_grid,
    make_composed_layout,
    make_layout,
    make_layout_tv,
    make_swizzle,
    thread_value_grid,
    zipped_divide,
)
from triptych.layout.picture import Cell, Grid

LANES = 32


def picture(name: str, found: Figures | str) -> str:
    """Of a kernel by its name; of one without a layout of its own, what was counted."""
    if name in _GRIDS:
        title, grid = _GRIDS[name]
        return cells(grid(), title)
    if isinstance(found, str):
        return cells(_threads(), "Threads of a block, coloured by warp")
    lines = [line for line in found.lines if sum(line)]
    title = f"Instructions of {found.kernel} by line; red: what is wasted"
    return bars(title, [issued for issued, _ in lines], [wasted for _, wasted in lines])


def _threads() -> Grid:
    return Grid("", tuple(tuple(Cell("", warp / 4, "") for _ in range(LANES)) for warp in range(4)), cyclic=True)


def _thread_values() -> Grid:
    """As in `vector_add.py`, a quarter of it."""
    _, tv = make_layout_tv(make_layout((4, 16), stride=(16, 1)), make_layout((4, 1)))
    return thread_value_grid(tv, (16, 16))


def _column_of_banks() -> Grid:
    swizzled = make_composed_layout(make_swizzle(4, 0, 4), 0, make_layout((16, 16), stride=(16, 1)))
    return cycle_grid(swizzled, 16)


def _tree() -> Grid:
    """Threads that still add, step by step."""
    steps = (LANES, 16, 8, 4, 2, 1)
    return Grid("", tuple(tuple(Cell("", 0.5 if i < n else None, "") for i in range(LANES)) for n in steps))


def _exchanges() -> Grid:
    """Lanes with the same sum have the same colour: after five exchanges all do."""
    steps = (1, 2, 4, 8, 16, 32)
    return Grid("", tuple(tuple(Cell("", i // n * n / LANES, "") for i in range(LANES)) for n in steps), cyclic=True)


def _rows(threads: int) -> Grid:
    """Rows of a matrix, each element coloured by the thread that takes it."""
    return cycle_grid(make_layout((6, 40), stride=(0, 1)), threads)


def _operand(name: str) -> Callable[[], Grid]:
    def grid() -> Grid:
        atom = cute.make_mma_atom(warp.MmaF16BF16Op(cute.Float16, cute.Float32, (16, 8, 16)))
        return thread_value_grid(getattr(atom, f"tv_layout_{name}"), (16, 16 if name == "A" else 8))

    return grid


def _register_tiles() -> Grid:
    """Thread of each element of a tile, as `local_partition` deals them out: again and again over the tile."""
    return Grid(
        "", tuple(tuple(Cell("", (i % 4 * 4 + j % 8) / 20, "") for j in range(32)) for i in range(16)), cyclic=True
    )


def _tiles() -> Grid:
    return index_grid(zipped_divide(make_layout((16, 32), stride=(32, 1)), (4, 8)))


def _hopper_swizzle() -> Grid:
    return index_grid(make_composed_layout(make_swizzle(3, 3, 3), 0, make_layout((8, 64), stride=(64, 1))))


def _tensor_memory() -> Grid:
    """Quarters of tensor memory: each is of one warp, a lane for each of its threads."""
    return Grid("", tuple(tuple(Cell("", warp / 4, "") for _ in range(32)) for warp in range(4) for _ in range(4)))


_GRIDS: dict[str, tuple[str, Callable[[], Grid]]] = {
    "blackwell_gemm": ("Lanes of tensor memory by the warp that loads them", _tensor_memory),
    "block_reduction": ("Threads that add, step by step", _tree),
    "flash_attention": ("Scores as operand A of the second product, by thread", _operand("A")),
    "gemm": ("A matrix cut into tiles", _tiles),
    "hopper_gemm": ("Swizzle of 128 bytes", _hopper_swizzle),
    "layer_norm": ("Elements of rows by thread, in strides of a block", lambda: _rows(10)),
    "sgemm": ("Elements of a tile by thread", _register_tiles),
    "softmax": ("Elements of rows by thread, in strides of a block", lambda: _rows(8)),
    "tensor_core_gemm": ("Accumulator of a tensor core by thread", _operand("C")),
    "transpose": ("A swizzled tile by bank: no column meets a bank twice", _column_of_banks),
    "vector_add": ("Threads and values of a tile", _thread_values),
    "warp_reduction": ("Lanes with the same sum, exchange by exchange", _exchanges),
}
