"""Loads of an epilogue's tile out of tensor memory: as wide as instructions are, and a whole number of them."""

from __future__ import annotations

import pytest

from triptych import Float16, Float32
from triptych.cute.nvgpu.tcgen05 import Ld16x256bOp, Ld32x32bOp
from triptych.cute.tensors.layout_orders import LayoutEnum
from triptych.utils import blackwell_helpers

ROWS, COLUMNS = LayoutEnum.ROW_MAJOR, LayoutEnum.COL_MAJOR


@pytest.mark.parametrize(
    ("columns", "repeated"), [(8, 8), (32, 32), (96, 32), (128, 128), (160, 32), (256, 128), (192, 64)]
)
def test_a_row_for_each_thread(columns: int, repeated: int) -> None:
    tile = (128, columns)
    atom = blackwell_helpers.get_tmem_load_op((*tile, 64), ROWS, Float32, Float32, tile, False)
    assert isinstance(atom.op, Ld32x32bOp)
    assert atom.op.repeat.value == repeated


@pytest.mark.parametrize(("columns", "repeated"), [(8, 1), (64, 8), (256, 32), (96, 4)])
def test_matrices_of_eight_rows(columns: int, repeated: int) -> None:
    tile = (128, columns)
    atom = blackwell_helpers.get_tmem_load_op((*tile, 64), COLUMNS, Float16, Float32, tile, False)
    assert isinstance(atom.op, Ld16x256bOp)
    assert atom.op.repeat.value == repeated
