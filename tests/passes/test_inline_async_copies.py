"""`inline-async-copies`: a copy is a load and a store at its place, and waiting for it is nothing."""

from __future__ import annotations

import pytest

from tests.passes.running import checked, kernel
from triptych.kernel_ir.transforms.inline_async_copies import COPIES, inline_async_copies

ARGUMENTS = "%s: !llvm.ptr<3>, %g: !llvm.ptr<1>, %n: i32"


def copy(size: int, *, partial: bool = False) -> str:
    operands, kinds = (
        ("%s, %g, %n", "!llvm.ptr<3>, !llvm.ptr<1>, i32") if partial else ("%s, %g", "!llvm.ptr<3>, !llvm.ptr<1>")
    )
    attributes = f'{{size = {size} : i32, cache = "all"}}'
    return kernel(f'"simt.async_copy"({operands}) {attributes} : ({kinds}) -> ()', ARGUMENTS)


@pytest.mark.parametrize(("size", "word"), [(4, "i32"), (8, "vector<2xi32>"), (16, "vector<4xi32>")])
def test_a_whole_copy(size: int, word: str) -> None:
    checked(
        copy(size),
        inline_async_copies,
        f"""
        # CHECK: %0 = llvm.load %arg1 {{alignment = {size} : i64}} : !llvm.ptr<1> -> {word}
        # CHECK-NEXT: llvm.store %0, %arg0 {{alignment = {size} : i64}} : {word}, !llvm.ptr<3>
        # CHECK-NOT: simt.
        # CHECK-NOT: scf.
        """,
    )


@pytest.mark.parametrize(
    ("size", "word", "zeros"),
    [(4, "i32", "0 : i32"), (8, "vector<2xi32>", "dense<0>"), (16, "vector<4xi32>", "dense<0>")],
)
def test_the_first_bytes(size: int, word: str, zeros: str) -> None:
    """Nothing behind them is read: the loop reads bytes, and only when the copy is not whole."""
    checked(
        copy(size, partial=True),
        inline_async_copies,
        f"""
        # CHECK: arith.constant {size} : i32
        # CHECK: arith.cmpi uge, %arg2, %c{size}_i32
        # CHECK-NEXT: scf.if
        # CHECK-NEXT: llvm.load %arg1 {{alignment = {size} : i64}} : !llvm.ptr<1> -> {word}
        # CHECK-NEXT: llvm.store {{{{.*}}}}, %arg0 {{alignment = {size} : i64}} : {word}
        # CHECK-NEXT: else
        # CHECK-NEXT: arith.constant {zeros}
        # CHECK-NEXT: llvm.store {{{{.*}}}}, %arg0 {{alignment = {size} : i64}} : {word}
        # CHECK-NEXT: arith.constant 0 : i32
        # CHECK-NEXT: arith.constant 1 : i32
        # CHECK-NEXT: scf.for %arg3 = %c0_i32{{{{(_\\d)?}}}} to %arg2 step %c1_i32
        # CHECK-NEXT: llvm.getelementptr %arg1[%arg3] : (!llvm.ptr<1>, i32) -> !llvm.ptr<1>, i8
        # CHECK-NEXT: llvm.getelementptr %arg0[%arg3] : (!llvm.ptr<3>, i32) -> !llvm.ptr<3>, i8
        # CHECK-NEXT: llvm.load {{{{.*}}}} {{alignment = 1 : i64}} : !llvm.ptr<1> -> i8
        # CHECK-NEXT: llvm.store {{{{.*}}}} {{alignment = 1 : i64}} : i8, !llvm.ptr<3>
        # CHECK-NOT: simt.
        """,
    )


def test_all_bytes_or_none() -> None:
    """A copy with a predicate: what decides is known, and there are no bytes to copy one by one."""
    program = kernel(
        """
        %all = arith.constant 16 : i32
        %none = arith.constant 0 : i32
        %count = arith.select %p, %all, %none : i32
        "simt.async_copy"(%s, %g, %count) {size = 16 : i32, cache = "all"} : (!llvm.ptr<3>, !llvm.ptr<1>, i32) -> ()
        """,
        "%s: !llvm.ptr<3>, %g: !llvm.ptr<1>, %p: i1",
    )
    checked(
        program,
        inline_async_copies,
        """
        # CHECK: scf.if %arg2
        # CHECK-NEXT: llvm.load %arg1
        # CHECK-NEXT: llvm.store {{.*}}, %arg0
        # CHECK-NEXT: else
        # CHECK-NEXT: arith.constant dense<0>
        # CHECK-NEXT: llvm.store {{.*}}, %arg0
        # CHECK-NOT: scf.for
        """,
    )


def test_what_waits_for_copies_goes() -> None:
    program = kernel(
        """
        "simt.async_commit"() : () -> ()
        "simt.async_wait"() {groups = 0 : i32} : () -> ()
        gpu.barrier
        """,
        ARGUMENTS,
    )
    checked(program, inline_async_copies, "# CHECK-NOT: simt.\n# CHECK: gpu.barrier\n# CHECK-NOT: simt.")
    assert {"simt.async_copy", "simt.async_commit", "simt.async_wait"} == COPIES
