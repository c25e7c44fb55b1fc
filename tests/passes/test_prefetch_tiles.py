"""`prefetch-tiles`: in a loop that waits, a load whose value goes to shared memory asks for that of the next round."""

from __future__ import annotations

import re
from typing import Any

import numpy as np
import pytest

import triptych as tt
from tests.passes.running import checked, kernel
from triptych import cute
from triptych.targets.cpu.passes.prefetch_tiles import prefetch_tiles

ARGUMENTS = "%s: !llvm.ptr<3>, %g: !llvm.ptr<1>, %n: i32, %p: i1, %other: !llvm.ptr"
COPY = """
    %word = llvm.load %from : !llvm.ptr<1> -> i32
    llvm.store %word, %s : i32, !llvm.ptr<3>
"""
NOTHING = "# CHECK-NOT: simt.prefetch"


def loop(body: str, carried: str = "", ended: str = "") -> str:
    return kernel(
        f"""
        %zero = arith.constant 0 : i32
        %one = arith.constant 1 : i32
        %eight = arith.constant 8 : i32
        {"%last = " if carried else ""}scf.for %i = %zero to %n step %eight {carried} : i32 {{
          {body}
          {ended}
        }}
        """,
        ARGUMENTS,
    )


def test_the_address_follows_the_induction_variable() -> None:
    """It is asked for outside of the condition, which belongs to the tile of now."""
    program = loop(
        f"""
        gpu.barrier
        %place = arith.addi %i, %one : i32
        scf.if %p {{
          %from = llvm.getelementptr %g[%place] : (!llvm.ptr<1>, i32) -> !llvm.ptr<1>, f32
          {COPY}
        }}
        """
    )
    expected = """
        # CHECK: gpu.barrier
        # CHECK: %0 = arith.addi %arg5, %c1_i32
        # CHECK-NEXT: %1 = arith.addi %arg5, %c8_i32
        # CHECK-NEXT: %2 = arith.addi %1, %c1_i32
        # CHECK-NEXT: %3 = llvm.getelementptr %arg1[%2]
        # CHECK-NEXT: simt.prefetch"(%3)
        # CHECK-NEXT: scf.if
        # CHECK-NOT: simt.prefetch
        """
    checked(program, prefetch_tiles, expected)


def test_the_address_follows_what_a_loop_carries() -> None:
    program = loop(
        f"""
        %from = llvm.getelementptr %g[%at] : (!llvm.ptr<1>, i32) -> !llvm.ptr<1>, f32
        {COPY}
        gpu.barrier
        %next = arith.muli %at, %eight : i32
        """,
        "iter_args(%at = %one) -> (i32)",
        "scf.yield %next : i32",
    )
    expected = """
        # CHECK: %1 = llvm.getelementptr %arg1[%arg6]
        # CHECK-NEXT: %2 = arith.muli %arg6, %c8_i32
        # CHECK-NEXT: %3 = llvm.getelementptr %arg1[%2]
        # CHECK-NEXT: simt.prefetch"(%3)
        # CHECK-NEXT: llvm.load
        """
    checked(program, prefetch_tiles, expected)


NOT_KNOWN = "%at = llvm.load %other : !llvm.ptr -> i32"
FROM_AT = "%from = llvm.getelementptr %g[%at] : (!llvm.ptr<1>, i32) -> !llvm.ptr<1>, f32"
FROM_I = "%from = llvm.getelementptr %g[%i] : (!llvm.ptr<1>, i32) -> !llvm.ptr<1>, f32"
LEFT_ALONE = {
    "no barrier": FROM_I + COPY,
    "the same address": "gpu.barrier\n%from = llvm.getelementptr %g[%n] : (!llvm.ptr<1>, i32) -> !llvm.ptr<1>, f32"
    + COPY,
    "an address out of memory": f"gpu.barrier\n{NOT_KNOWN}\n{FROM_AT}{COPY}",
    "not copied": f"gpu.barrier\n{FROM_I}\n%word = llvm.load %from : !llvm.ptr<1> -> i32\n"
    "llvm.store %word, %other : i32, !llvm.ptr",
}


@pytest.mark.parametrize("body", LEFT_ALONE.values(), ids=LEFT_ALONE)
def test_what_is_left_alone(body: str) -> None:
    checked(loop(body), prefetch_tiles, NOTHING)


# kernels ------------------------------------------------------------------------------------------------------------
THREADS, TILES = 64, 5


@tt.kernel
def rows_kernel(x: cute.Tensor, y: cute.Tensor) -> None:
    """One row after the other, by way of shared memory."""
    thread, _, _ = cute.arch.thread_idx()
    shared = cute.SmemAllocator().allocate_tensor(tt.Float32, cute.make_layout(THREADS))
    for i in range(x.shape[0]):
        shared[thread] = x[i, thread]
        cute.arch.sync_threads()
        y[i, thread] = shared[THREADS - 1 - thread]
        cute.arch.sync_threads()


@tt.jit
def rows(x: cute.Tensor, y: cute.Tensor) -> None:
    rows_kernel(x, y).launch(grid=1, block=THREADS)


def compiled_rows(x: Any, y: Any) -> Any:
    compiled = tt.compile(rows, x, y)
    compiled(x, y)
    return compiled


def test_a_warp_asks_once_for_each_line() -> None:
    """Also behind the last row, which is not read: the array ends with its page."""
    x = np.arange(TILES * THREADS, dtype=np.float32).reshape(TILES, THREADS)
    y = np.empty_like(x)
    compiled = compiled_rows(x, y)
    np.testing.assert_array_equal(y, x[:, ::-1])
    bytes_of_a_warp, line = 32 * 4, 64
    assert len(re.findall(r"call void @llvm.prefetch", compiled.llvm)) == bytes_of_a_warp // line


def test_a_line_is_asked_for_by_the_last_of_its_lanes() -> None:
    """Arrays rarely begin with a line: the row before has brought the line in which this one begins."""
    x = np.zeros((TILES, THREADS), np.float32)
    text = compiled_rows(x, np.empty_like(x)).llvm
    far = re.findall(r"getelementptr i8, ptr \S+ i32 (\d+)\s+call void @llvm.prefetch", text)
    assert far == ["124", "60"]
