"""Layouts of block scale factors by their public names, against what the public headers print."""

from __future__ import annotations

from itertools import product

import pytest
from hypothesis import given
from hypothesis import strategies as st

from triptych.cute.mma.tiled import TiledMma, make_tiled_mma
from triptych.cute.nvgpu import tcgen05
from triptych.cute.nvgpu.cta_groups import CtaGroup
from triptych.cute.nvgpu.warp import MmaF16BF16Op
from triptych.layout import cosize
from triptych.metastage.trace.errors import OperandTypeError
from triptych.metastage.values.scalars import Float16, Float32
from triptych.utils import blockscaled_layout


def test_factors_of_a_matrix() -> None:
    found = blockscaled_layout.tile_atom_to_shape_SF((256, 256, 2), 16)
    assert str(found) == "(((32,4),2),((16,4),4),(1,2)):(((16,4),2048),((0,1),512),(0,4096))"


@given(rows=st.integers(1, 300), depth=st.integers(1, 300), layers=st.integers(1, 3), vector=st.sampled_from([16, 32]))
def test_each_factor_of_a_padded_matrix_lies_once(rows: int, depth: int, layers: int, vector: int) -> None:
    layout = blockscaled_layout.tile_atom_to_shape_SF((rows, depth, layers), vector)
    row_chunks, depth_chunks = -(-rows // 128), -(-depth // (4 * vector))
    blocks = product(range(128 * row_chunks), range(4 * depth_chunks), range(layers))
    places = [layout((row, block * vector, layer)) for row, block, layer in blocks]
    assert cosize(layout) == len(places)
    assert sorted(map(int, places)) == list(range(len(places)))


def test_chunk_along_rows() -> None:
    along_k = blockscaled_layout.BlockScaledBasicChunk(32)
    along_m = blockscaled_layout.BlockScaledBasicChunk(32, tcgen05.OperandMajorMode.MN)
    assert str(along_k.layout) == "((32,4),(32,4)):((16,4),(0,1))"
    assert str(along_m.layout) == "((32,4),(32,4)):((0,1),(16,4))"


def test_no_other_blocks() -> None:
    with pytest.raises(OperandTypeError, match="no block has so many elements"):
        blockscaled_layout.tile_atom_to_shape_SF((128, 128, 1), 64)


def _warps(depth: int) -> TiledMma:
    """Layouts ask how deep an instruction is, and nothing else."""
    return make_tiled_mma(MmaF16BF16Op(Float16, Float32, (16, 8, depth)))


def _umma(rows: int, group: CtaGroup) -> TiledMma:
    source, major = tcgen05.OperandSource.SMEM, tcgen05.OperandMajorMode.K
    return make_tiled_mma(tcgen05.MmaF16BF16Op(Float16, Float32, (rows, 128, 16), group, source, major, major))


def test_tile_of_warps() -> None:
    found = blockscaled_layout.sm120_make_smem_layout_sfa(_warps(16), (128, 192, 128), 16, 3)
    assert str(found) == "(((32,4),1),((16,1),(4,2)),3):(((16,4),512),((0,1),(1,512)),1024)"
    found = blockscaled_layout.sm120_make_smem_layout_sfb(_warps(16), (128, 192, 128), 16, 3)
    assert str(found) == "(((32,4),2),((16,1),(4,2)),3):(((16,4),512),((0,1),(1,1024)),2048)"


def test_tile_of_a_pair_of_ctas() -> None:
    pair = _umma(256, CtaGroup.TWO)
    found = blockscaled_layout.make_smem_layout_sfa(pair, (256, 192, 128), 16, 2)
    assert str(found) == "((((32,4),1),(16,1)),1,(4,2),2):((((16,4),512),(0,1)),0,(1,512),1024)"
    found = blockscaled_layout.make_smem_layout_sfb(pair, (256, 192, 128), 16, 2)
    assert str(found) == "((((32,4),2),(16,1)),1,(4,2),2):((((16,4),512),(0,1)),0,(1,1024),2048)"
    one = blockscaled_layout.make_smem_layout_sfb(pair, (256, 192, 128), 16, 1)
    assert str(one[0]) == "(((32,4),2),(16,1)):(((16,4),512),(0,1))"


def test_tile_that_is_no_whole_chunks() -> None:
    with pytest.raises(OperandTypeError, match="no whole chunks"):
        blockscaled_layout.sm120_make_smem_layout_sfa(_warps(16), (128, 128, 96), 16, 1)
