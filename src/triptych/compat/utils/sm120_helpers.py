"""SM120 helpers: how warps share tiles with block scales, registers for the scales, and stores of epilogues."""

from __future__ import annotations

from triptych.cute.copies.atoms import CopyAtom, make_copy_atom
from triptych.cute.mma.atoms import BlockScales
from triptych.cute.mma.tiled import ThrMma, TiledMma
from triptych.cute.nvgpu.universal import CopyUniversalOp
from triptych.cute.nvgpu.warp import StMatrix8x8x16bOp
from triptych.cute.tensors.factories import make_fragment_like
from triptych.cute.tensors.layout_orders import LayoutEnum
from triptych.cute.tensors.tensor import Tensor
from triptych.layout import Layout
from triptych.layout.thread_values import part_of_atom
from triptych.metastage.trace.errors import OperandTypeError
from triptych.metastage.trace.trace import place
from triptych.metastage.values.scalars import Numeric

_A, _B = (0, 2), (1, 2)
"""The modes of M, N and K that each operand has."""
_ROWS = 128
_COLUMNS = Layout((8, 2, 2), (1, 16, 8))
"""Of N: two neighbouring atoms of a warp are 16 neighbouring columns."""


def get_permutation_mnk(
    tile_shape_mnk: tuple[int, int, int], sf_vec_size: int, use_mxf8f6f4: bool
) -> tuple[int, Layout, int]:
    """What the warps of a tiled product take together of M, N and K."""
    return min(tile_shape_mnk[0], _ROWS), _COLUMNS, 32 if use_mxf8f6f4 else 64


def get_layoutSFA_TV(tiled_mma: TiledMma) -> Layout:
    """(thread, value) -> m + M * k of the scales of A, a value for each element along K."""
    return tiled_mma.thread_values(_A, _scales(tiled_mma).tv_a)


def get_layoutSFB_TV(tiled_mma: TiledMma) -> Layout:
    """(thread, value) -> n + N * k of the scales of B."""
    return tiled_mma.thread_values(_B, _scales(tiled_mma).tv_b)


def partition_fragment_SFA(sfa_tensor: Tensor, thr_mma: ThrMma, tidx: Numeric | int) -> Tensor:
    """Registers for what a thread has of the scales of A; they are the same for all threads."""
    return _fragment(sfa_tensor, thr_mma.tiled_mma, _A, _scales(thr_mma.tiled_mma).tv_a)


def partition_fragment_SFB(sfb_tensor: Tensor, thr_mma: ThrMma, tidx: Numeric | int) -> Tensor:
    """Registers for what a thread has of the scales of B."""
    return _fragment(sfb_tensor, thr_mma.tiled_mma, _B, _scales(thr_mma.tiled_mma).tv_b)


def sm120_get_smem_store_op(layout_d: LayoutEnum, elem_ty_d: type[Numeric], elem_ty_acc: type[Numeric]) -> CopyAtom:
    """How results go to shared memory: two matrices at once where elements have 16 bits, else one by one."""
    if elem_ty_d.width == 16:
        return make_copy_atom(StMatrix8x8x16bOp(layout_d.is_m_major_c(), 2), elem_ty_d)
    return make_copy_atom(CopyUniversalOp(), elem_ty_d)


def _fragment(tensor: Tensor, tiled_mma: TiledMma, modes: tuple[int, int], tv: Layout) -> Tensor:
    part, _ = part_of_atom(tiled_mma.distribute(tensor.layout, modes, tv), 0, 0, 0)
    fragment: Tensor = make_fragment_like(part, _scales(tiled_mma).dtype)
    return fragment


def _scales(tiled_mma: TiledMma) -> BlockScales:
    found = tiled_mma.op.scales
    if found is not None:
        return found
    raise OperandTypeError(
        "this product has no block scales",
        span=place(),
        found=str(tiled_mma),
        expected="a tiled MMA of nvgpu.warp.MmaMXF8Op, MmaMXF8F6F4Op, MmaMXF4Op or MmaMXF4NVF4Op",
    )
