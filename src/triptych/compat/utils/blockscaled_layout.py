"""Layouts of block scale factors: of whole matrices, of tiles in shared memory, of what instructions read."""

from __future__ import annotations

from typing import Any

from triptych.cute.mma.tiled import TiledMma
from triptych.cute.tensors.layout_orders import OperandMajorMode
from triptych.cute.tensors.views import tile_to_shape
from triptych.kernel_ir.dialects.block_scales import (
    CHUNK,
    CHUNK_FACTORS,
    chunk_layout,
    chunks_of,
    shared_layout,
    tensor_memory_layout,
)
from triptych.layout import IntTuple, Layout, product, size
from triptych.layout.layout import from_modes
from triptych.metastage.trace.errors import OperandTypeError
from triptych.metastage.trace.trace import place
from triptych.support.dataclass import dataclass

__all__ = [
    "BlockScaledBasicChunk",
    "make_smem_layout_sfa",
    "make_smem_layout_sfb",
    "make_tmem_layout_sfa",
    "make_tmem_layout_sfb",
    "sm120_make_smem_layout_sfa",
    "sm120_make_smem_layout_sfb",
    "tile_atom_to_shape_SF",
]

Shape3 = tuple[int, int, int]
_M, _N, _K = range(3)


def __dir__() -> list[str]:
    return __all__


@dataclass(frozen=True, slots=True)
class BlockScaledBasicChunk:
    """The factors of 128 rows that lie together: four for each row, one for `sf_vec_size` elements."""

    sf_vec_size: int
    major_mode: OperandMajorMode = OperandMajorMode.K

    @property
    def layout(self) -> Layout:
        """From (row, element along K), or from (element, row) where the matrix is contiguous along M or N."""
        rows, elements = chunk_layout(_vector(self.sf_vec_size))
        return from_modes((rows, elements) if self.major_mode is OperandMajorMode.K else (elements, rows))


def tile_atom_to_shape_SF(Shape: IntTuple, sf_vec_size: int) -> Layout:
    """The factors of a matrix (M or N, K, L) in memory: chunks along K, then along M or N, then along L."""
    return tile_to_shape(BlockScaledBasicChunk(sf_vec_size).layout, Shape, (2, 1, 3))


# shared memory ------------------------------------------------------------------------------------------------------
def sm120_make_smem_layout_sfa(
    tiled_mma: TiledMma, tile_shape_mnk: Shape3, sf_vec_size: int, num_stages: int
) -> Layout:
    """The layout (M, K, stages) of the factors of A."""
    return _of_warps(tiled_mma, tile_shape_mnk[_M], tile_shape_mnk[_K], sf_vec_size, num_stages)


def sm120_make_smem_layout_sfb(
    tiled_mma: TiledMma, tile_shape_mnk: Shape3, sf_vec_size: int, num_stages: int
) -> Layout:
    """The layout (N, K, stages) of the factors of B."""
    return _of_warps(tiled_mma, tile_shape_mnk[_N], tile_shape_mnk[_K], sf_vec_size, num_stages)


def make_smem_layout_sfa(tiled_mma: TiledMma, mma_tiler_mnk: Shape3, sf_vec_size: int, num_stages: int) -> Layout:
    """The layout ((M, K), 1, K tiles, stages) of the factors of what a CTA has of A."""
    ctas: Any = size(tiled_mma.thr_id)
    return _of_umma(tiled_mma, mma_tiler_mnk[_M] // ctas, mma_tiler_mnk[_K], sf_vec_size, num_stages)


def make_smem_layout_sfb(tiled_mma: TiledMma, mma_tiler_mnk: Shape3, sf_vec_size: int, num_stages: int) -> Layout:
    """The layout ((N, K), 1, K tiles, stages) of the factors of B, all of which each CTA of a pair has."""
    return _of_umma(tiled_mma, mma_tiler_mnk[_N], mma_tiler_mnk[_K], sf_vec_size, num_stages)


def _of_warps(tiled_mma: TiledMma, rows: int, depth: int, vector: int, stages: int) -> Layout:
    along_rows, elements, instructions = _parts(tiled_mma, rows, depth, vector)
    return from_modes((along_rows, from_modes((elements, instructions)), _stages(rows, depth, vector, stages)))


def _of_umma(tiled_mma: TiledMma, rows: int, depth: int, vector: int, stages: int) -> Layout:
    along_rows, elements, instructions = _parts(tiled_mma, rows, depth, vector)
    tile = from_modes((along_rows, elements))
    return from_modes((tile, Layout(1, 0), instructions, _stages(rows, depth, vector, stages)))


def _stages(rows: int, depth: int, vector: int, stages: int) -> Layout:
    return Layout(stages, chunks_of(rows) * (depth // vector // 4) * CHUNK)


def _parts(tiled_mma: TiledMma, rows: int, depth: int, vector: int) -> tuple[Layout, Layout, Layout]:
    factors = tiled_mma.shape_mnk[_K] // _vector(vector)
    if factors not in (1, 2, 4) or depth % (4 * vector):
        raise OperandTypeError(
            "the factors of a tile are no whole chunks",
            span=place(),
            found=f"K = {depth} by instructions of K = {tiled_mma.shape_mnk[_K]}, a factor for {vector} elements",
            expected=f"K a multiple of {4 * vector}, and instructions that take 1, 2 or 4 factors of a row",
        )
    return shared_layout(rows, depth, vector, factors)


def _vector(given: int) -> int:
    if given in (16, 32):
        return given
    raise OperandTypeError(
        "no block has so many elements",
        span=place(),
        found=f"sf_vec_size={given}",
        expected="16 or 32",
    )


# tensor memory ------------------------------------------------------------------------------------------------------
def make_tmem_layout_sfa(tiled_mma: TiledMma, mma_tiler_mnk: Shape3, sf_vec_size: int, smem_layout: Layout) -> Layout:
    """The factors of A in tensor memory, from their layout in shared memory without stages."""
    return _in_tensor_memory(smem_layout)


def make_tmem_layout_sfb(tiled_mma: TiledMma, mma_tiler_mnk: Shape3, sf_vec_size: int, smem_layout: Layout) -> Layout:
    """The factors of B in tensor memory, from their layout in shared memory without stages."""
    return _in_tensor_memory(smem_layout)


def _in_tensor_memory(smem_layout: Layout) -> Layout:
    shape: Any = smem_layout.shape
    (rows, (vector, factors)), _, instructions = shape
    count: Any = product(rows)
    if not isinstance(instructions, tuple):  # of K = 96: what lies in tensor memory is counted by words, or by factors
        instructions = (CHUNK_FACTORS // factors, instructions * factors // CHUNK_FACTORS)
    return tensor_memory_layout(chunks_of(count), vector, factors, instructions)
