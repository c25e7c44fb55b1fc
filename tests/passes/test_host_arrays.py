"""`allocate-host-arrays`, `free-host-arrays`: what is too large for a stack is on the heap until the return."""

from __future__ import annotations

from typing import Any

from tests.passes.running import checked
from triptych.ir.modules import Signature, attach_signature
from triptych.targets.cpu.passes.host_arrays import allocate_host_arrays, free_host_arrays

PROGRAM = """
func.func @f(%p: !llvm.ptr) {
  %n = llvm.mlir.constant(COUNT : i32) : i32
  %a = llvm.alloca %n x f32 : (i32) -> !llvm.ptr
  llvm.store %a, %p : !llvm.ptr, !llvm.ptr
  return
}
"""


def both(module: Any) -> None:
    attach_signature(module, Signature("f", (), ()))
    allocate_host_arrays(module)
    free_host_arrays(module)


def test_a_large_array_is_on_the_heap() -> None:
    checked(
        PROGRAM.replace("COUNT", "16385"),
        both,
        """
        # CHECK: arith.constant 64 : i64
        # CHECK: arith.constant 65600 : i64
        # CHECK: llvm.call @aligned_alloc
        # CHECK: cf.assert {{.*}} the system has no memory for this array
        # CHECK-NOT: llvm.alloca
        # CHECK: llvm.call @free
        # CHECK-NEXT: return
        """,
    )


def test_a_small_one_is_on_the_stack() -> None:
    checked(
        PROGRAM.replace("COUNT", "16384"),
        both,
        """
        # CHECK-NOT: llvm.call
        # CHECK: llvm.alloca
        # CHECK-NOT: llvm.call
        """,
    )
