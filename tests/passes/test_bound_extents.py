"""`mark-extents`, `assume-nonnegative`: an extent that a launch hands on is never negative for LLVM."""

from __future__ import annotations

from typing import Any

from tests.passes.running import checked, kernel, lowered_kernel
from triptych.ir.modules import Signature, attach_signature
from triptych.stages import Leaf, Memory, SymbolicExtent
from triptych.targets.nvptx.passes.launch_bounds import assume_nonnegative, mark_extents

TENSOR = Memory(space=1, alignment=4, shape=("n",), stride=("1",), unknowns=(SymbolicExtent("n", 32),))
HOST = """
func.func @host(%x: !llvm.ptr<1>, %extent: i32, %number: i32) {
  %1 = arith.constant 1 : i32
  gpu.launch_func @kernels::@k blocks in (%1, %1, %1) threads in (%1, %1, %1) : i32
    args(%x : !llvm.ptr<1>, %number : i32, %extent : i32)
  return
}
"""


def test_only_what_comes_from_a_tensor_is_marked() -> None:
    def run(module: Any) -> None:
        attach_signature(module, Signature("host", (Leaf("x", "Float32", TENSOR), Leaf("number", "Int32")), ()))
        mark_extents(module)

    checked(
        kernel("", "%x: !llvm.ptr<1>, %number: i32, %extent: i32", host=HOST),
        run,
        """
        # CHECK: gpu.func @k({{.*}}) kernel attributes {triptych.extents = array<i1: false, false, true>}
        """,
    )


def test_marked_arguments_have_a_range() -> None:
    checked(
        lowered_kernel(
            "llvm.return",
            "%x: !llvm.ptr<1>, %number: i32, %extent: i32",
            ", triptych.extents = array<i1: false, false, true>",
        ),
        assume_nonnegative,
        """
        # CHECK: %arg1: i32, %arg2: i32 {llvm.range = #llvm.constant_range<i32, 0, -2147483648>}
        # CHECK-NOT: triptych.extents
        """,
    )
