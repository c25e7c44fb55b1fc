"""Block scale factors: how the factors of rows of A or of B lie in memory, in shared memory and in tensor memory.

One factor belongs to 16 or 32 neighbouring elements along K. Four factors of a row are four bytes, and 128 rows are one
chunk of 512 bytes, which is never divided: row r, factor k at byte 16 * (r % 32) + 4 * (r / 32) + k. In tensor memory
row r is in lane r % 32 of all four quarters of the lanes, and 32 rows take a column.
Layouts are from (row, element along K) to a number of factors; elements that share a factor have stride 0.
"""

from __future__ import annotations

from triptych.kernel_ir.dialects.tensor_memory import LANES, WARP_LANES, lane_stride
from triptych.layout import Layout

SCALE_BITS = 8
CHUNK_ROWS = 128
CHUNK_FACTORS = 4
"""Of a row, side by side: the bytes of a word."""
CHUNK = CHUNK_ROWS * CHUNK_FACTORS
_GROUPS = CHUNK_ROWS // WARP_LANES
_ROWS, _ROW_STRIDES = (WARP_LANES, _GROUPS), (CHUNK // WARP_LANES, CHUNK_FACTORS)


def chunk_layout(vector: int) -> Layout:
    """One chunk: 128 rows of four times `vector` elements."""
    return Layout((_ROWS, (vector, CHUNK_FACTORS)), (_ROW_STRIDES, (0, 1)))


def chunks_of(rows: int) -> int:
    """Chunks that so many rows take, the last one not always whole."""
    return -(-rows // CHUNK_ROWS)


def word_step(rows: int) -> int:
    """Columns of tensor memory from four factors of all rows to the next four."""
    return chunks_of(rows) * _GROUPS


def _strides(shape: tuple[int, int], strides: tuple[int, int]) -> tuple[int, int]:
    """Of modes, with 0 for those that have one element."""
    return (strides[0] if shape[0] > 1 else 0, strides[1] if shape[1] > 1 else 0)


def shared_layout(rows: int, depth: int, vector: int, factors: int) -> tuple[Layout, Layout, Layout]:
    """Rows, elements of one instruction that takes `factors` factors of a row, and instructions along K."""
    chunks = chunks_of(rows)
    instructions = (CHUNK_FACTORS // factors, depth // vector // CHUNK_FACTORS)
    return (
        Layout((_ROWS, chunks), (_ROW_STRIDES, CHUNK)),
        Layout((vector, factors), (0, 1)),
        Layout(instructions, (factors, chunks * CHUNK)),
    )


def tensor_memory_layout(chunks: int, vector: int, factors: int, instructions: tuple[int, int]) -> Layout:
    """The layout ((((rows), quarters), elements), 1, instructions along K) of what one copy of each chunk brings."""
    groups, word = chunks * _GROUPS, CHUNK_FACTORS
    rows = ((WARP_LANES, groups), LANES // WARP_LANES)
    row_strides = ((lane_stride(SCALE_BITS), word), WARP_LANES * lane_stride(SCALE_BITS))
    along = _strides(instructions, (factors, groups * word))
    return Layout(((rows, (vector, factors)), 1, instructions), ((row_strides, (0, 1)), 0, along))
