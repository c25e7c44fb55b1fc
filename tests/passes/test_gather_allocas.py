"""`hoist-allocas`: memory that a loop would reserve in every turn is reserved once."""

from __future__ import annotations

from tests.passes.running import checked, lowered_kernel
from triptych.kernel_ir.transforms.private_arrays import hoist_allocas


def test_an_alloca_of_a_loop_moves_to_the_start() -> None:
    checked(
        lowered_kernel(
            """
            llvm.br ^loop
            ^loop:
              %c = llvm.mlir.constant(4 : i32) : i32
              %a = llvm.alloca %c x f32 : (i32) -> !llvm.ptr
              llvm.cond_br %go, ^loop, ^end
            ^end:
              llvm.return
            """,
            "%go: i1",
        ),
        hoist_allocas,
        """
        # CHECK: llvm.mlir.constant(4 : i32)
        # CHECK-NEXT: llvm.alloca
        # CHECK: llvm.br
        # CHECK-NOT: llvm.alloca
        """,
    )


def test_memory_whose_size_is_computed_stays() -> None:
    checked(
        lowered_kernel(
            """
            llvm.br ^next
            ^next:
              %a = llvm.alloca %n x f32 : (i32) -> !llvm.ptr
              llvm.return
            """,
            "%n: i32",
        ),
        hoist_allocas,
        """
        # CHECK: llvm.br
        # CHECK: llvm.alloca
        """,
    )


def test_a_kernel_of_one_block_stays_as_it_is() -> None:
    checked(
        lowered_kernel(
            """
            %x = llvm.add %n, %n : i32
            %c = llvm.mlir.constant(4 : i32) : i32
            %a = llvm.alloca %c x f32 : (i32) -> !llvm.ptr
            llvm.return
            """,
            "%n: i32",
        ),
        hoist_allocas,
        "# CHECK: llvm.add\n# CHECK-NEXT: llvm.mlir.constant\n# CHECK-NEXT: llvm.alloca",
    )


def test_a_size_that_an_operation_computes() -> None:
    checked(
        lowered_kernel(
            """
            llvm.br ^next
            ^next:
              %m = llvm.add %n, %n : i32
              %a = llvm.alloca %m x f32 : (i32) -> !llvm.ptr
              llvm.return
            """,
            "%n: i32",
        ),
        hoist_allocas,
        "# CHECK: llvm.br\n# CHECK: llvm.add\n# CHECK-NEXT: llvm.alloca",
    )
