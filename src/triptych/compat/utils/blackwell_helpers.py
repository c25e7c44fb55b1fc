"""Blackwell helpers: choices that programs share, as far as they have to do with shared memory alone."""

from __future__ import annotations

from triptych.compat.utils.hopper_helpers import make_smem_layout_a
from triptych.cute.tensors.layout_orders import LayoutEnum, OperandMajorMode
from triptych.layout import ComposedLayout
from triptych.metastage.values.scalars import Numeric

__all__ = ["make_smem_layout"]


def __dir__() -> list[str]:
    return __all__


def make_smem_layout(
    leading_mode: OperandMajorMode,
    smem_tile_shape: tuple[int, int],
    a_dtype: type[Numeric],
    num_stages: int,
) -> ComposedLayout:
    """The layout (rows, columns, stages) of a tile, with the widest swizzle that its contiguous mode holds whole."""
    rows, columns = smem_tile_shape
    layout = LayoutEnum.COL_MAJOR if leading_mode is OperandMajorMode.MN else LayoutEnum.ROW_MAJOR
    return make_smem_layout_a(layout, (rows, 1, columns), a_dtype, num_stages)
