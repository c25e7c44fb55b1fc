"""Block scale factors: where the factor of a row and a block lies in memory, shared memory and tensor memory."""

from __future__ import annotations

from itertools import product

import pytest

from triptych.kernel_ir.dialects.block_scales import CHUNK, chunk_layout, shared_layout, tensor_memory_layout
from triptych.layout import cosize
from triptych.layout.layout import from_modes


@pytest.mark.parametrize("vector", [16, 32])
def test_a_chunk_has_four_factors_of_128_rows(vector: int) -> None:
    layout = chunk_layout(vector)
    for row, element in product(range(128), range(4 * vector)):
        assert layout((row, element)) == 16 * (row % 32) + 4 * (row // 32) + element // vector


@pytest.mark.parametrize(
    ("rows", "depth", "vector", "factors"),
    [(128, 256, 16, 4), (256, 256, 16, 4), (128, 128, 32, 1), (192, 256, 32, 1), (128, 256, 32, 2), (256, 512, 32, 2)],
)
def test_shared_memory_has_each_factor_once(rows: int, depth: int, vector: int, factors: int) -> None:
    along_rows, elements, instructions = shared_layout(rows, depth, vector, factors)
    layout = from_modes((along_rows, from_modes((elements, instructions))))
    blocks = depth // vector
    chunks = -(-rows // 128)
    found = {layout((row, block * vector)): (row, block) for row in range(128 * chunks) for block in range(blocks)}
    assert cosize(layout) == len(found)
    assert set(map(int, found)) == set(range(128 * chunks * blocks))
    for place, (row, block) in found.items():
        inside = 16 * (row % 32) + 4 * (row % 128 // 32) + block % 4
        assert place == CHUNK * (row // 128 + chunks * (block // 4)) + inside
        assert layout((row, block * vector + vector - 1)) == place


@pytest.mark.parametrize("rows", [128, 256])
@pytest.mark.parametrize(("vector", "factors"), [(32, 1), (32, 2), (16, 4)])
def test_copied_chunks_are_where_instructions_read(rows: int, vector: int, factors: int) -> None:
    """A copy takes 32 rows of 16 bytes of a chunk to four columns of all quarters; chunks follow one another."""
    depth = 256
    along_rows, elements, instructions = shared_layout(rows, depth, vector, factors)
    shared = from_modes((along_rows, from_modes((elements, instructions))))
    extents = (4 // factors, depth // vector // 4)
    words = tensor_memory_layout(rows // 128, vector, factors, extents)
    for row, block, quarter in product(range(rows), range(depth // vector), range(4)):
        chunk, inside = divmod(int(shared((row, block * vector))), CHUNK)
        column, byte = 4 * chunk + inside % 16 // 4, inside % 4
        step, factor = divmod(block, factors)
        where = ((((row % 32, row // 32), quarter), (0, factor)), 0, (step % extents[0], step // extents[0]))
        assert words(where) == 2**18 * (inside // 16 + 32 * quarter) + 4 * column + byte


@pytest.mark.parametrize(
    ("rows", "depth", "vector", "factors", "shared", "in_tensor_memory"),
    [
        (
            *(128, 256, 16, 4),
            "(((32,4),1),(16,4),(1,4)):(((16,4),512),(0,1),(4,512))",
            "((((32,4),4),(16,4)),1,(1,4)):((((262144,4),8388608),(0,1)),0,(0,16))",
        ),
        (
            *(256, 256, 16, 4),
            "(((32,4),2),(16,4),(1,4)):(((16,4),512),(0,1),(4,1024))",
            "((((32,8),4),(16,4)),1,(1,4)):((((262144,4),8388608),(0,1)),0,(0,32))",
        ),
        (
            *(128, 128, 32, 1),
            "(((32,4),1),(32,1),(4,1)):(((16,4),512),(0,1),(1,512))",
            "((((32,4),4),(32,1)),1,(4,1)):((((262144,4),8388608),(0,1)),0,(1,0))",
        ),
        (
            *(192, 128, 32, 1),
            "(((32,4),2),(32,1),(4,1)):(((16,4),512),(0,1),(1,1024))",
            "((((32,8),4),(32,1)),1,(4,1)):((((262144,4),8388608),(0,1)),0,(1,0))",
        ),
        (
            *(128, 256, 32, 2),
            "(((32,4),1),(32,2),(2,2)):(((16,4),512),(0,1),(2,512))",
            "((((32,4),4),(32,2)),1,(2,2)):((((262144,4),8388608),(0,1)),0,(2,16))",
        ),
    ],
)
def test_layouts_are_those_of_the_public_headers(
    rows: int, depth: int, vector: int, factors: int, shared: str, in_tensor_memory: str
) -> None:
    parts = shared_layout(rows, depth, vector, factors)
    assert str(from_modes(parts)) == shared
    extents = (4 // factors, depth // vector // 4)
    assert str(tensor_memory_layout(-(-rows // 128), vector, factors, extents)) == in_tensor_memory
