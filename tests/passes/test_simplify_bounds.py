"""`simplify-bounds`, `drop-repeated-checks`, `bounds_of_lanes`: fewer checks in a debug build, and none is lost."""

from __future__ import annotations

import itertools
from collections.abc import Callable

import numpy as np
import pytest

import triptych as tt
from tests.passes.running import checked, kernel
from triptych import cute
from triptych.cute.nvgpu import warp
from triptych.diagnostics.runtime_errors import OutOfBoundsError
from triptych.ir.handles import Module
from triptych.support.config import override
from triptych.targets.cpu.sanitizer.eliminate_checks import drop_repeated_checks, simplify_bounds

ARGUMENTS = "%s: !llvm.ptr<3>, %g: !llvm.ptr<1>, %i: i64, %p: i1, %q: i1"
ADDRESSES = """
    %s2 = llvm.getelementptr %s[16] : (!llvm.ptr<3>) -> !llvm.ptr<3>, i8
    %at = llvm.getelementptr %s2[%i] : (!llvm.ptr<3>, i64) -> !llvm.ptr<3>, f32
    %here = llvm.ptrtoint %at : !llvm.ptr<3> to i64
"""


def simplified(run: Callable[[Module], object], body: str, expected: str, debug: str = "bounds") -> None:
    with override(debug=debug):
        checked(kernel(body, ARGUMENTS), run, expected)


def test_a_distance_in_one_memory_is_a_sum() -> None:
    body = f"""{ADDRESSES}
        %start = llvm.ptrtoint %s : !llvm.ptr<3> to i64
        %offset = arith.subi %here, %start : i64
        %holds = arith.cmpi sle, %offset, %i : i64
        cf.assert %holds, ""
    """
    expected = "# CHECK: arith.constant 16\n# CHECK: arith.muli %arg2\n# CHECK: arith.addi\n# CHECK-NOT: arith.subi"
    simplified(simplify_bounds, body, expected)
    simplified(simplify_bounds, body, "# CHECK: arith.subi\n# CHECK-NOT: arith.muli", debug="")


@pytest.mark.parametrize(("bits", "pointer"), [(3, "%arg0"), (15, "%1")], ids=["of the memory", "of the element"])
def test_an_address_is_aligned_as_what_it_begins_in(bits: int, pointer: str) -> None:
    body = f"""{ADDRESSES}
        %bits = arith.constant {bits} : i64
        %low = arith.andi %here, %bits : i64
        %holds = arith.cmpi eq, %low, %i : i64
        cf.assert %holds, ""
    """
    simplified(simplify_bounds, body, f"# CHECK: %3 = llvm.ptrtoint {pointer} \n# CHECK: arith.andi %3,")


@tt.kernel
def adds_up(out: cute.Tensor, count: tt.Int32) -> None:
    """A product whose sums are indexed by a number of the run."""
    lane = cute.arch.thread_idx()[0]
    mma = cute.make_tiled_mma(cute.make_mma_atom(warp.MmaF16BF16Op(tt.Float16, tt.Float32, (16, 8, 16))))
    a = cute.make_rmem_tensor(mma.partition_shape_A((16, 16)), tt.Float16)
    b = cute.make_rmem_tensor(mma.partition_shape_B((8, 16)), tt.Float16)
    sums = cute.make_rmem_tensor(mma.partition_shape_C((16, 8)), tt.Float32)
    a.fill(1.0)
    b.fill(2.0)
    sums.fill(0.0)
    cute.gemm(mma, sums, a, b, sums)
    for i in range(count):
        sums[i] = sums[i] + i
        out[lane, i] = sums[i]


@tt.jit
def adding_up(out: cute.Tensor, count: tt.Int32) -> None:
    adds_up(out, count).launch(grid=1, block=32)


def test_registers_with_an_index_of_the_run_stay_registers() -> None:
    """Also fragments of products, which a target takes only as such."""
    out = np.zeros((32, 4), np.float32)
    with override(debug="bounds"):
        adding_up(out, 4)
    assert (out == 32 + np.arange(4)).all()


def test_what_was_checked_is_not_checked_again() -> None:
    body = """
        scf.if %q { cf.assert %p, "first" }
        cf.assert %p, "second"
        cf.assert %p, "third"
        scf.if %q { cf.assert %p, "fourth" }
        cf.assert %q, "fifth"
    """
    expected = "# CHECK: first\n# CHECK: second\n# CHECK-NOT: third\n# CHECK-NOT: fourth\n# CHECK: fifth"
    simplified(drop_repeated_checks, body, expected)
    simplified(drop_repeated_checks, body, "# CHECK: second\n# CHECK: third\n# CHECK: fourth", debug="races")


@tt.kernel
def copies(x: cute.Tensor, y: cute.Tensor, stride: tt.Int32, shift: tt.Int32, only: tt.Int32) -> None:
    thread, _, _ = cute.arch.thread_idx()
    if thread < only:
        y[thread] = x[thread * stride + shift]


@tt.kernel
def keeps(x: cute.Tensor, y: cute.Tensor, stride: tt.Int32, shift: tt.Int32, only: tt.Int32) -> None:
    thread, _, _ = cute.arch.thread_idx()
    kept = cute.make_tensor(cute.arch.alloc_smem(tt.Float32, 48), cute.make_layout(48))
    kept[thread] = x[thread]
    cute.arch.sync_threads()
    if thread < only:
        y[thread] = kept[thread + shift]


@tt.jit
def copying(
    x: cute.Tensor, y: cute.Tensor, stride: tt.Int32, shift: tt.Int32, only: tt.Int32, kept: tt.Constexpr[bool]
) -> None:
    kernel = keeps if kept else copies
    kernel(x, y, stride, shift, only).launch(grid=1, block=48)


SHIFTS = (0, 1, -1, 17, 47, 46, 2**29, -(2**29))


@pytest.mark.parametrize(("stride", "kept"), [(1, False), (-1, False), (2, False), (1, True)])
def test_the_first_thread_outside_is_reported(stride: int, kept: bool) -> None:
    """Of lanes next to each other or apart, and where those outside are not active."""
    x, y = np.ones(48, np.float32), np.zeros(48, np.float32)
    for shift, only in itertools.product(SHIFTS, (48, 33, 5)):
        outside = [t for t in range(only) if not 0 <= t * stride + shift < 48]
        with override(debug="bounds"):
            if not outside:
                copying(x, y, stride, shift, only, kept)
                continue
            with pytest.raises(OutOfBoundsError, match=rf"thread \({outside[0]}, 0, 0\)"):
                copying(x, y, stride, shift, only, kept)
