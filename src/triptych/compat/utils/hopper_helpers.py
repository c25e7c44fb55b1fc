"""Hopper helpers: a WGMMA for given types, layouts of shared memory, epilogue tiles."""

from __future__ import annotations

from triptych.cute.copies.atoms import CopyAtom, make_copy_atom
from triptych.cute.mma.tiled import TiledMma, make_tiled_mma
from triptych.cute.nvgpu.universal import CopyUniversalOp
from triptych.cute.nvgpu.warp import StMatrix8x8x16bOp
from triptych.cute.nvgpu.warpgroup import (
    MmaF8Op,
    MmaF16BF16Op,
    MmaI8Op,
    MmaTF32Op,
    OperandSource,
    SmemLayoutAtomKind,
    WarpgroupMmaOp,
    make_smem_layout_atom,
)
from triptych.cute.tensors.layout_orders import LayoutEnum, OperandMajorMode
from triptych.kernel_ir.dialects.mma import DEPTH_BYTES, ROWS
from triptych.kernel_ir.dialects.smem_operands import CHUNK_BYTES
from triptych.layout import ComposedLayout, IntTuple, product, tile_to_shape
from triptych.metastage.trace.errors import OperandTypeError
from triptych.metastage.trace.trace import place
from triptych.metastage.values.scalars import Float32, Numeric, TFloat32

Shape3 = tuple[int, int, int]
_OPERATIONS: tuple[type[MmaF8Op | MmaI8Op], ...] = (MmaF8Op, MmaI8Op)


def make_trivial_tiled_mma(
    a_dtype: type[Numeric],
    b_dtype: type[Numeric],
    a_leading_mode: OperandMajorMode,
    b_leading_mode: OperandMajorMode,
    acc_dtype: type[Numeric],
    atom_layout_mnk: Shape3,
    tiler_mn: tuple[int, int],
    a_source: OperandSource = OperandSource.SMEM,
) -> TiledMma:
    """The product for these types, N columns at once, repeated over warpgroups as `atom_layout_mnk` says."""
    shape = (ROWS, tiler_mn[1], DEPTH_BYTES * 8 // a_dtype.width)
    places = (a_source, a_leading_mode, b_leading_mode)
    op: WarpgroupMmaOp | None = None
    if a_dtype in MmaF16BF16Op.factors and a_dtype is b_dtype:
        op = MmaF16BF16Op(a_dtype, acc_dtype, shape, *places)
    elif {a_dtype, b_dtype} <= {Float32, TFloat32}:
        op = MmaTF32Op(shape, *places)
    for kind in _OPERATIONS:
        if a_dtype in kind.factors and b_dtype in kind.factors:
            op = kind(a_dtype, b_dtype, acc_dtype, shape, *places)
    if op is None:
        raise OperandTypeError(
            "no WGMMA has these operands",
            span=place(),
            found=f"{a_dtype.__name__} * {b_dtype.__name__}",
            expected="two times Float16, BFloat16 or TFloat32, or any two of the floats, or of the integers, of 8 bits",
        )
    return make_tiled_mma(op, atom_layout_mnk)


def get_smem_layout_atom(layout: LayoutEnum, element_type: type[Numeric], major_mode_size: int) -> SmemLayoutAtomKind:
    """The atom with the widest swizzle that a contiguous mode of this extent holds whole."""
    name = "MN" if layout is LayoutEnum.COL_MAJOR else "K"
    bits = major_mode_size * element_type.width
    for swizzle in (3, 2, 1):
        if bits % ((CHUNK_BYTES << swizzle) * 8) == 0:
            return SmemLayoutAtomKind[f"{name}_SW{CHUNK_BYTES << swizzle}"]
    return SmemLayoutAtomKind[f"{name}_INTER"]


def make_smem_layout_a(
    a_layout: LayoutEnum, mma_tiler_mnk: Shape3, a_dtype: type[Numeric], num_stages: int
) -> ComposedLayout:
    """The layout (M, K, stages) of A in shared memory."""
    rows, _, depth = map(_extent, mma_tiler_mnk)
    return _staged(a_layout, (rows, depth), a_dtype, num_stages)


def make_smem_layout_b(
    b_layout: LayoutEnum, mma_tiler_mnk: Shape3, b_dtype: type[Numeric], num_stages: int
) -> ComposedLayout:
    """The layout (N, K, stages) of B in shared memory."""
    _, columns, depth = map(_extent, mma_tiler_mnk)
    return _staged(b_layout, (columns, depth), b_dtype, num_stages)


def make_smem_layout_epi(
    epi_dtype: type[Numeric],
    epi_layout: LayoutEnum,
    epi_tile: tuple[int, int],
    epi_stage: int,
    smem_trg_shape: IntTuple | None = None,
    smem_order: tuple[int, ...] | None = None,
) -> ComposedLayout:
    """The layout (M, N, stages) of results in shared memory, or of another shape and order."""
    atom = make_smem_layout_atom(
        get_smem_layout_atom(epi_layout, epi_dtype, _contiguous(epi_layout, epi_tile)), epi_dtype
    )
    shape = (*epi_tile, epi_stage) if smem_trg_shape is None else smem_trg_shape
    return tile_to_shape(atom, shape, smem_order or _order(epi_layout))


def sm90_get_smem_store_op(layout_d: LayoutEnum, elem_ty_d: type[Numeric], elem_ty_acc: type[Numeric]) -> CopyAtom:
    """How results go to shared memory: four matrices at once where elements have 16 bits, else one by one."""
    if elem_ty_d.width == 16:
        return make_copy_atom(StMatrix8x8x16bOp(layout_d.is_m_major_c(), 4), elem_ty_d)
    return make_copy_atom(CopyUniversalOp(), elem_ty_d)


def compute_tile_shape_or_override(
    tile_shape_mnk: Shape3,
    element_type: type[Numeric],
    is_cooperative: bool = False,
    epi_tile_override: tuple[int, int] | None = None,
) -> tuple[int, int]:
    """What the epilogue stores at once; two warpgroups that work together take 128 rows."""
    if epi_tile_override is not None:
        return epi_tile_override
    rows, columns = _extent(tile_shape_mnk[0]), _extent(tile_shape_mnk[1])
    if is_cooperative:
        return min(128, rows), min(32, columns)
    return min(ROWS, rows), min(64 if element_type.width == 8 else 32, columns)


def _staged(layout: LayoutEnum, shape: tuple[int, int], dtype: type[Numeric], stages: int) -> ComposedLayout:
    kind = get_smem_layout_atom(layout, dtype, _contiguous(layout, shape))
    return tile_to_shape(make_smem_layout_atom(kind, dtype), (*shape, stages), _order(layout))


def _contiguous(layout: LayoutEnum, shape: tuple[int, int]) -> int:
    return _extent(shape[0] if layout is LayoutEnum.COL_MAJOR else shape[1])


def _order(layout: LayoutEnum) -> tuple[int, int, int]:
    """Atoms follow one another along the mode that is not contiguous."""
    return (1, 0, 2) if layout is LayoutEnum.COL_MAJOR else (0, 1, 2)


def _extent(mode: IntTuple) -> int:
    found = product(mode)
    assert isinstance(found, int), "tiles are known while tracing"
    return found
