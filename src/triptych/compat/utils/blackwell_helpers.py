"""Blackwell helpers: a UMMA for given types, layouts of shared memory, epilogue tiles and the copies of epilogues."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from triptych.compat.utils import hopper_helpers
from triptych.compat.utils.hopper_helpers import make_smem_layout_epi as _epilogue_layout
from triptych.cute.copies.atoms import CopyAtom, make_copy_atom
from triptych.cute.copies.tiled import TiledCopy
from triptych.cute.mma.tiled import TiledMma, make_tiled_mma
from triptych.cute.nvgpu.cpasync import CopyBulkTensorTileG2SMulticastOp, CopyBulkTensorTileG2SOp
from triptych.cute.nvgpu.cta_groups import CtaGroup
from triptych.cute.nvgpu.shared_operands import SmemLayoutAtomKind, keeps_wide_pieces, make_smem_layout_atom
from triptych.cute.nvgpu.tcgen05.copy_operations import (
    Ld16x128bOp,
    Ld16x256bOp,
    Ld32x32bOp,
    Pack,
    Repetition,
    TmemLoadOp,
    get_tmem_copy_properties,
)
from triptych.cute.nvgpu.tcgen05.mma_operations import (
    MmaF8F6F4Op,
    MmaF16BF16Op,
    MmaI8Op,
    MmaMXF4NVF4Op,
    MmaMXF4Op,
    MmaMXF8F6F4Op,
    MmaTF32Op,
    OperandSource,
    UmmaOp,
)
from triptych.cute.nvgpu.tcgen05.smem_descriptors import by_instructions, tile_to_mma_shape
from triptych.cute.nvgpu.universal import CopyUniversalOp
from triptych.cute.nvgpu.warp import StMatrix8x8x16bOp
from triptych.cute.tensors.layout_orders import LayoutEnum, OperandMajorMode
from triptych.kernel_ir.dialects.smem_operands import WIDE_PIECES, row_bytes
from triptych.kernel_ir.dialects.tensor_memory import LANES, MOST_REGISTERS, elements_per_word
from triptych.kernel_ir.dialects.umma import DEPTH_BITS
from triptych.layout import ComposedLayout, Layout, right_inverse, size, tile_to_shape
from triptych.metastage.trace.errors import OperandTypeError
from triptych.metastage.trace.trace import place
from triptych.metastage.values.scalars import Float4E2M1FN, Float8E8M0FNU, Float32, Numeric, TFloat32

__all__ = [
    "cluster_shape_to_tma_atom_A",
    "cluster_shape_to_tma_atom_B",
    "cluster_shape_to_tma_atom_SFB",
    "compute_epilogue_tile_shape",
    "get_smem_layout_atom_ab",
    "get_smem_store_op",
    "get_tmem_copy_properties",
    "get_tmem_load_op",
    "make_blockscaled_trivial_tiled_mma",
    "make_smem_layout",
    "make_smem_layout_a",
    "make_smem_layout_atom",
    "make_smem_layout_b",
    "make_smem_layout_epi",
    "make_trivial_tiled_mma",
    "tile_to_mma_shape",
]

Shape3 = tuple[int, int, int]
Tile2 = tuple[int | Layout, int | Layout]
_WORDS_OF_TILE = 4096
"""Elements of an epilogue's tile: 32 columns of 128 rows."""


def __dir__() -> list[str]:
    return __all__


# products -----------------------------------------------------------------------------------------------------------
def make_trivial_tiled_mma(*given: object, a_source: OperandSource = OperandSource.SMEM) -> TiledMma:
    """The product for these types: (ab_dtype, a_major, b_major, acc_dtype, cta_group, mma_tiler_mn[, a_source]), or the
    same with a type of its own for B after that of A."""
    types, rest = _with_types(given)
    a_major, b_major, accumulator, group, tiler, *further = rest
    source = further[0] if further else a_source
    return make_tiled_mma(_operation(types, accumulator, tiler, group, (source, a_major, b_major)))


def _with_types(given: tuple[Any, ...]) -> tuple[Any, Any]:
    """The types of A and B, of which one may stand for both, and what follows them."""
    count = 2 if isinstance(given[1], type) else 1
    return given[:count] * (3 - count), given[count:]


def _operation(
    types: tuple[type[Numeric], type[Numeric]],
    accumulator: type[Numeric],
    tiler: Sequence[int],
    group: CtaGroup,
    places: tuple[OperandSource, OperandMajorMode, OperandMajorMode],
) -> UmmaOp:
    a, b = types
    shape: Any = (*tiler[:2], DEPTH_BITS // a.width)
    if a in MmaF16BF16Op.factors and a is b:
        return MmaF16BF16Op(a, accumulator, shape, group, *places)
    if {a, b} <= {Float32, TFloat32}:
        return MmaTF32Op(shape, group, *places)
    if a in MmaI8Op.factors and a is b:
        return MmaI8Op(a, shape, group, *places)
    if a in MmaF8F6F4Op.factors and b in MmaF8F6F4Op.factors:
        return MmaF8F6F4Op(a, b, accumulator, shape, group, *places)
    raise OperandTypeError(
        "no UMMA has these operands",
        span=place(),
        found=f"{a.__name__} * {b.__name__}",
        expected="two times Float16, BFloat16, TFloat32, Int8 or Uint8, or any two of the floats of 8 bits",
    )


def make_blockscaled_trivial_tiled_mma(*given: object) -> TiledMma:
    """The product with block scales: (ab_dtype, a_major, b_major, sf_dtype, sf_vec_size, cta_group, mma_tiler_mn[,
    a_source]), or the same with a type of its own for B after that of A."""
    types, rest = _with_types(given)
    a_major, b_major, scale, vector, group, tiler, *further = rest
    (a, b), source = types, further[0] if further else OperandSource.SMEM
    shape: Any = (*tiler[:2], DEPTH_BITS // a.width)
    if a in MmaMXF8F6F4Op.factors and b in MmaMXF8F6F4Op.factors and (scale, vector) == (Float8E8M0FNU, 32):
        return make_tiled_mma(MmaMXF8F6F4Op(a, b, shape, group, source, a_major, b_major))
    if a is b is Float4E2M1FN and (scale, vector) == (Float8E8M0FNU, 32):
        return make_tiled_mma(MmaMXF4Op(shape, group, source))
    if a is b is Float4E2M1FN and vector == 16:
        return make_tiled_mma(MmaMXF4NVF4Op(scale, shape, group, source))
    raise OperandTypeError(
        "no UMMA has these operands and block scales",
        span=place(),
        found=f"{a.__name__} and {b.__name__}, a {scale.__name__} for {vector} elements",
        expected="Float8E4M3FN or Float8E5M2 with Float8E8M0FNU for 32, or Float4E2M1FN with one for 16 or 32",
    )


def cluster_shape_to_tma_atom_A(cluster_shape_mn: tuple[int, int], atom_thr_id: Layout) -> Any:
    """How A is loaded: for all blocks along N of the cluster at once, where there are several."""
    return _load(cluster_shape_mn[1] > 1, atom_thr_id)


def cluster_shape_to_tma_atom_B(cluster_shape_mn: tuple[int, int], atom_thr_id: Layout) -> Any:
    """How B is loaded: for all blocks, or pairs of them, along M of the cluster at once."""
    return _load(cluster_shape_mn[0] > _count(atom_thr_id), atom_thr_id)


def cluster_shape_to_tma_atom_SFB(cluster_shape_mn: tuple[int, int], atom_thr_id: Layout) -> Any:
    """The load of scales of B, which every CTA of a pair has all of: multicast wherever there are several along M."""
    return _load(cluster_shape_mn[0] > 1, atom_thr_id)


def _load(multicast: bool, atom_thr_id: Layout) -> Any:
    group = CtaGroup(_count(atom_thr_id))
    return CopyBulkTensorTileG2SMulticastOp(group) if multicast else CopyBulkTensorTileG2SOp(group)


def _count(threads: Layout) -> int:
    found: Any = size(threads)
    return int(found)


# shared memory ------------------------------------------------------------------------------------------------------
def make_smem_layout(
    leading_mode: OperandMajorMode,
    smem_tile_shape: tuple[int, int],
    a_dtype: type[Numeric],
    num_stages: int,
) -> ComposedLayout:
    """The layout (rows, columns, stages) of a tile, with the widest swizzle that its contiguous mode holds whole."""
    atom = make_smem_layout_atom(get_smem_layout_atom_ab(leading_mode, a_dtype, smem_tile_shape), a_dtype)
    order = (1, 0, 2) if leading_mode is OperandMajorMode.MN else (0, 1, 2)
    return tile_to_shape(atom, (*smem_tile_shape, num_stages), order)


def get_smem_layout_atom_ab(
    major_mode: OperandMajorMode, element_type: type[Numeric], smem_shape_mn_k: tuple[int, int]
) -> SmemLayoutAtomKind:
    """The atom with the widest swizzle that a tile (m or n, k) has whole; the only one for 32 bits along M or N."""
    if keeps_wide_pieces(major_mode, element_type.width):
        _require_whole_rows(element_type, smem_shape_mn_k)
        return SmemLayoutAtomKind.MN_SW128_32B
    layout = LayoutEnum.ROW_MAJOR if major_mode is OperandMajorMode.K else LayoutEnum.COL_MAJOR
    contiguous = smem_shape_mn_k[1 if major_mode is OperandMajorMode.K else 0]
    return hopper_helpers.get_smem_layout_atom(layout, element_type, contiguous)


def _require_whole_rows(element_type: type[Numeric], shape: tuple[int, int]) -> None:
    whole = row_bytes(WIDE_PIECES) * 8 // element_type.width
    if shape[0] % whole == 0:
        return
    raise OperandTypeError(
        "no instruction reads this tile along M or N",
        span=place(),
        found=f"a tile (m or n, k) of {shape[0]} by {shape[1]} elements of {element_type.__name__}",
        expected=f"a multiple of {whole} along M or N: 128 bytes, the only swizzle that 32-bit operands have there",
        instead="a larger tile, or a tensor that is contiguous along K",
    )


def make_smem_layout_a(
    tiled_mma: TiledMma,
    mma_tiler_mnk: Shape3,
    a_dtype: type[Numeric],
    num_stages: int,
    *,
    is_k_major: bool | None = None,
) -> ComposedLayout:
    """The layout ((m, k), m tiles, k tiles, stages) of what a CTA has of A, as instructions read it, or along K or M
    as `is_k_major` says."""
    rows, _, depth = mma_tiler_mnk
    return _staged(
        _major(_op(tiled_mma).a_major_mode, is_k_major), tiled_mma.partition_shape_A((rows, depth)), a_dtype, num_stages
    )


def make_smem_layout_b(
    tiled_mma: TiledMma,
    mma_tiler_mnk: Shape3,
    b_dtype: type[Numeric],
    num_stages: int,
    *,
    is_k_major: bool | None = None,
) -> ComposedLayout:
    """The layout ((n, k), n tiles, k tiles, stages) of what a CTA has of B."""
    _, columns, depth = mma_tiler_mnk
    return _staged(
        _major(_op(tiled_mma).b_major_mode, is_k_major),
        tiled_mma.partition_shape_B((columns, depth)),
        b_dtype,
        num_stages,
    )


def make_smem_layout_epi(
    epi_dtype: type[Numeric], epi_layout: LayoutEnum, epi_tile: Tile2, epi_stage: int
) -> ComposedLayout:
    """The layout (M, N, stages) of results in shared memory, whose swizzle is one of rows and columns in a row."""
    rows, columns = (_extent(mode) for mode in epi_tile)
    of_rows, of_columns = (_extent(right_inverse(mode) if isinstance(mode, Layout) else mode) for mode in epi_tile)
    return _epilogue_layout(epi_dtype, epi_layout, (of_rows, of_columns), epi_stage, (rows, columns, epi_stage))


def _major(of_operation: OperandMajorMode, is_k_major: bool | None) -> OperandMajorMode:
    if is_k_major is None:
        return of_operation
    return OperandMajorMode.K if is_k_major else OperandMajorMode.MN


def _op(tiled_mma: TiledMma) -> UmmaOp:
    op = tiled_mma.op
    if isinstance(op, UmmaOp):
        return op
    raise OperandTypeError(
        "these layouts are of products in tensor memory",
        span=place(),
        found=str(op),
        expected="a tiled MMA of an operation of nvgpu.tcgen05",
    )


def _staged(
    major: OperandMajorMode, shape: tuple[tuple[int, int], int, int], dtype: type[Numeric], stages: int
) -> ComposedLayout:
    (row, column), rows, columns = shape
    whole = make_smem_layout(major, (row * rows, column * columns), dtype, stages)
    return by_instructions(whole, (row, column))


# epilogues ----------------------------------------------------------------------------------------------------------
def compute_epilogue_tile_shape(
    cta_tile_shape: Sequence[int],
    use_2cta_instrs: bool,
    layout_d: LayoutEnum,
    elem_ty_d: type[Numeric],
    *,
    layout_c: LayoutEnum | None = None,
    elem_ty_c: type[Numeric] | None = None,
) -> Tile2:
    """What an epilogue stores at once: rows of all warps, and as many columns as make 4,096 elements.

    Where a pair of CTAs has 64 rows each, two warps have the columns of each half of the tile.
    """
    rows, columns = cta_tile_shape[:2]
    tile_rows = min(rows, LANES)
    taken = min(columns, _WORDS_OF_TILE // tile_rows)
    while columns % taken:
        taken //= 2
    if rows == LANES // 2 and use_2cta_instrs:
        return tile_rows, Layout((taken // 2, 2), (1, columns // 2))
    return tile_rows, taken


def get_tmem_load_op(
    cta_tile_shape: Sequence[int],
    layout_d: LayoutEnum,
    elem_ty_d: type[Numeric],
    elem_ty_acc: type[Numeric],
    epi_tile: Tile2,
    use_2cta_instrs: bool,
) -> CopyAtom:
    """How sums of an epilogue's tile come into registers: a row for each thread, or as `stmatrix` wants them.

    A load takes as many columns of the tile as instructions can, so the tile is a number of whole loads.
    """
    rows, *_ = cta_tile_shape
    halves = rows == LANES // 2 and use_2cta_instrs
    columns = _extent(epi_tile[1]) // (2 if halves else 1)
    few_lanes = rows == LANES // 2 and not use_2cta_instrs
    by_rows = not layout_d.is_m_major_c()
    kind: type[TmemLoadOp] = Ld32x32bOp
    if few_lanes:
        kind = Ld16x128bOp if elem_ty_d.width == 32 and by_rows else Ld16x256bOp
    elif elem_ty_d.width == 16 and not by_rows:
        kind = Ld16x256bOp
    together = elements_per_word(elem_ty_acc.width)
    pack = Pack.NONE if together == 1 else Pack.PACK_16b_IN_32b
    access = kind().access
    steps = columns // access.columns // together
    most = MOST_REGISTERS // access.registers_of(1)
    return make_copy_atom(kind(Repetition(min(steps & -steps, most)), pack), elem_ty_acc)


def get_smem_store_op(
    layout_d: LayoutEnum, elem_ty_d: type[Numeric], elem_ty_acc: type[Numeric], tiled_tmem_load: TiledCopy
) -> CopyAtom:
    """How results go to shared memory: by `stmatrix` where registers lie as it takes them, else one by one."""
    load = tiled_tmem_load.op
    if elem_ty_d.width == 16 and isinstance(load, Ld16x256bOp):
        matrices = 4 if load.repeat.value > 1 else 2
        return make_copy_atom(StMatrix8x8x16bOp(layout_d.is_m_major_c(), matrices), elem_ty_d)
    return make_copy_atom(CopyUniversalOp(), elem_ty_d)


def _extent(mode: int | Layout) -> int:
    found: Any = size(mode) if isinstance(mode, Layout) else mode
    return int(found)
