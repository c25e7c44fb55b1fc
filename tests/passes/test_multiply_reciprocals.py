"""`magic-division`: a division that says where its reciprocal is becomes a multiplication."""

from __future__ import annotations

from tests.passes.running import checked, kernel
from triptych.targets.nvptx.passes.hoist_to_host import magic_division

ARGUMENTS = "%p: !llvm.ptr<1>, %n: i32, %d: i32, %m: i32, %l: i32"
MARK = "{triptych.reciprocal = array<i32: 2, 3, 4>}"


def program(division: str, mark: str = MARK) -> str:
    return kernel(f"%0 = {division} %n, %d {mark} : i32\nllvm.store %0, %p : i32, !llvm.ptr<1>", ARGUMENTS)


def test_a_quotient_is_the_high_half_of_a_product() -> None:
    checked(
        program("arith.divui"),
        magic_division,
        """
        # CHECK-NOT: arith.divui
        # CHECK: arith.addi %arg1, %arg1 : i32
        # CHECK: arith.extui {{.*}} : i32 to i64
        # CHECK: arith.extui %arg3 : i32 to i64
        # CHECK: arith.muli {{.*}} : i64
        # CHECK: arith.shrui {{.*}} : i64
        # CHECK: arith.shrui {{.*}}, %arg4 : i32
        """,
    )


def test_a_remainder_is_what_the_quotient_leaves() -> None:
    checked(
        program("arith.remui"),
        magic_division,
        """
        # CHECK-NOT: arith.remui
        # CHECK: arith.muli {{.*}}, %arg2 : i32
        # CHECK-NEXT: arith.subi %arg1
        """,
    )


def test_other_divisions_stay() -> None:
    checked(program("arith.divui", ""), magic_division, "# CHECK: arith.divui %arg1, %arg2")
