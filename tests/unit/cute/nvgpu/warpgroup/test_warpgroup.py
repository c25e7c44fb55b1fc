"""Products of warpgroups in programs: every layout of shared memory, types, registers, against NumPy to the bit."""

from __future__ import annotations

from typing import Any

import ml_dtypes
import numpy as np
import pytest

import triptych as tt
from triptych import cute
from triptych.cute.nvgpu import OperandMajorMode, warpgroup
from triptych.cute.runtime import from_dlpack
from triptych.utils import LayoutEnum, hopper_helpers

Kind = warpgroup.SmemLayoutAtomKind
Mode = OperandMajorMode
SHAPE = (64, 64, 64)


def staged(kind: Kind, rows: int, depth: int, dtype: Any) -> Any:
    """A layout of one stage."""
    order = (0, 1, 2) if kind.name.startswith("K") else (1, 0, 2)
    return cute.tile_to_shape(warpgroup.make_smem_layout_atom(kind, dtype), (rows, depth, 1), order)


@tt.kernel
def one_tile(
    a: cute.Tensor,
    b: cute.Tensor,
    d: cute.Tensor,
    mma: cute.TiledMma,
    a_layout: tt.Constexpr[Any],
    b_layout: tt.Constexpr[Any],
) -> None:
    thread, _, _ = cute.arch.thread_idx()
    smem = cute.SmemAllocator()
    shared_a = smem.allocate_tensor(a.element_type, a_layout.outer, 1024, a_layout.inner)
    shared_b = smem.allocate_tensor(b.element_type, b_layout.outer, 1024, b_layout.inner)
    for shared, given in ((shared_a, a), (shared_b, b)):
        for i in range(thread, cute.size(given), 128):
            at = cute.idx2crd(i, given.shape)
            shared[at[0], at[1], 0] = given[at]
    cute.arch.fence_proxy("async.shared", space="cta")
    cute.arch.sync_threads()
    part = mma.get_slice(0)
    left = mma.make_fragment_A(part.partition_A(shared_a))
    right = mma.make_fragment_B(part.partition_B(shared_b))
    sums = mma.make_fragment_C(mma.get_slice(thread).partition_C(d))
    mma.set(warpgroup.Field.ACCUMULATE, False)
    warpgroup.fence()
    for k in tt.range_constexpr(cute.size(left, mode=[2])):
        cute.gemm(mma, sums, left[None, None, k, 0], right[None, None, k, 0], sums)
        mma.set(warpgroup.Field.ACCUMULATE, True)
    warpgroup.commit_group()
    warpgroup.wait_group(0)
    cute.autovec_copy(sums, mma.get_slice(thread).partition_C(d))


@tt.jit
def launched(
    a: cute.Tensor,
    b: cute.Tensor,
    d: cute.Tensor,
    mma: tt.Constexpr[Any],
    a_layout: tt.Constexpr[Any],
    b_layout: tt.Constexpr[Any],
) -> None:
    one_tile(a, b, d, mma, a_layout, b_layout).launch(grid=1, block=128)


def product(a_kind: Kind, b_kind: Kind, dtype: Any = tt.Float16, sums: Any = tt.Float32, n: int = 64) -> None:
    """One tile, bit-equal to NumPy's product of whole numbers."""
    m, k = 64, 64 * 16 // dtype.width
    kinds = {tt.Float16: np.float16, tt.BFloat16: ml_dtypes.bfloat16, tt.Int8: np.int8, tt.Float32: np.float32}
    kinds |= {tt.Float8E4M3FN: ml_dtypes.float8_e4m3fn, tt.Int32: np.int32}
    random = np.random.default_rng(n)
    a, b = (random.integers(-3, 4, shape).astype(np.float32).astype(kinds[dtype]) for shape in ((m, k), (n, k)))
    d = np.zeros((m, n), kinds[sums])
    a_mode, b_mode = (Mode.K if kind.name.startswith("K") else Mode.MN for kind in (a_kind, b_kind))
    mma = hopper_helpers.make_trivial_tiled_mma(dtype, dtype, a_mode, b_mode, sums, (1, 1, 1), (64, n))
    launched(*map(from_dlpack, (a, b, d)), mma, staged(a_kind, m, k, dtype), staged(b_kind, n, k, dtype))
    np.testing.assert_array_equal(d.astype(np.float64), a.astype(np.float64) @ b.astype(np.float64).T)


@pytest.mark.parametrize(
    ("a_kind", "b_kind"),
    [
        (Kind.K_SW128, Kind.K_INTER),
        (Kind.MN_SW64, Kind.K_SW32),
        (Kind.MN_INTER, Kind.MN_SW128),
        (Kind.K_SW64, Kind.MN_SW32),
    ],
    ids=str,
)
def test_every_layout(a_kind: Kind, b_kind: Kind) -> None:
    product(a_kind, b_kind)


def test_other_types() -> None:
    product(Kind.K_SW128, Kind.K_SW128, tt.Float32, tt.Float32, 8)
    product(Kind.K_SW128, Kind.K_SW64, tt.Int8, tt.Int32, 24)


def test_helpers_choose_layouts() -> None:
    row, column = LayoutEnum.ROW_MAJOR, LayoutEnum.COL_MAJOR
    assert hopper_helpers.get_smem_layout_atom(row, tt.Float16, 64) is Kind.K_SW128
    assert hopper_helpers.get_smem_layout_atom(row, tt.Float16, 96) is Kind.K_SW64
    assert hopper_helpers.get_smem_layout_atom(column, tt.Float16, 16) is Kind.MN_SW32
    assert hopper_helpers.get_smem_layout_atom(column, tt.Float32, 4) is Kind.MN_INTER
    assert str(hopper_helpers.make_smem_layout_a(row, (128, 64, 64), tt.Float16, 2)) == (
        "S<3,4,3> o 0 o ((8,16),(64,1),(1,2)):((64,512),(1,0),(0,8192))"
    )
    epilogue = hopper_helpers.make_smem_layout_epi(tt.Float16, column, (64, 32), 4)
    assert epilogue.shape == ((64, 1), (8, 4), (1, 4))
    assert hopper_helpers.compute_tile_shape_or_override((128, 256, 64), tt.Float16, True) == (128, 32)
    assert hopper_helpers.compute_tile_shape_or_override((128, 256, 64), tt.Float8E4M3FN) == (64, 64)


@tt.kernel
def from_registers(
    a: cute.Tensor, b: cute.Tensor, d: cute.Tensor, mma: cute.TiledMma, layout: tt.Constexpr[Any]
) -> None:
    thread, _, _ = cute.arch.thread_idx()
    shared = cute.SmemAllocator().allocate_tensor(b.element_type, layout.outer, 1024, layout.inner)
    for i in range(thread, cute.size(b), 128):
        at = cute.idx2crd(i, b.shape)
        shared[at[0], at[1], 0] = b[at]
    cute.arch.fence_proxy("async.shared", space="cta")
    cute.arch.sync_threads()
    mine = mma.get_slice(thread)
    left = mma.make_fragment_A(mine.partition_A(a))
    cute.autovec_copy(mine.partition_A(a), left)
    right = mma.make_fragment_B(mma.get_slice(0).partition_B(shared))
    sums = mma.make_fragment_C(mine.partition_C(d))
    sums.fill(1.0)
    for turn in range(2):
        mma.set(warpgroup.Field.ACCUMULATE, turn != 0)
        warpgroup.fence()
        cute.gemm(mma, sums, left, right[None, None, None, 0], sums)
        warpgroup.commit_group()
        warpgroup.wait_group(0)
    cute.autovec_copy(sums, mine.partition_C(d))


@tt.jit
def launched_from_registers(
    a: cute.Tensor, b: cute.Tensor, d: cute.Tensor, mma: tt.Constexpr[Any], layout: tt.Constexpr[Any]
) -> None:
    from_registers(a, b, d, mma, layout).launch(grid=1, block=128)


def test_registers_and_a_field_that_changes_in_a_loop() -> None:
    random = np.random.default_rng(1)
    a, b = (random.integers(-3, 4, shape).astype(np.float16) for shape in ((64, 32), (16, 32)))
    d = np.zeros((64, 16), np.float32)
    rmem = warpgroup.OperandSource.RMEM
    mma = hopper_helpers.make_trivial_tiled_mma(
        tt.Float16, tt.Float16, Mode.K, Mode.K, tt.Float32, (1, 1, 1), (64, 16), rmem
    )
    launched_from_registers(*map(from_dlpack, (a, b, d)), mma, staged(Kind.K_SW64, 16, 32, tt.Float16))
    np.testing.assert_array_equal(d, 2 * (a.astype(np.float32) @ b.astype(np.float32).T))
