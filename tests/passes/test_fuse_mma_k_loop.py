"""`fuse-mma-k-loop`: a warp's products on the same sums become one over more of k, where the last of them was."""

from __future__ import annotations

import pytest

from tests.passes.running import checked, kernel
from triptych.kernel_ir.transforms.fuse_mma_k_loop import fuse_mma_k_loop

PRODUCT = (
    '"tile.mma"(%d, {a}, %b, %d) {{instruction = "m16n8k16.{sums}.f16.f16.{sums}", tiles = array<i64: 1, 1, 1>, '
    "d = array<i64: {d}>, a = array<i64: {places}>, b = array<i64: {others}>, c = array<i64: {c}>}} "
    ": (!llvm.ptr, !llvm.ptr, !llvm.ptr, !llvm.ptr) -> ()"
)
SUMS = ", ".join(map(str, range(64)))
OTHERS = ", ".join(map(str, range(64, 128)))
LOAD = """
    %r:4 = "tile.load_matrix"(%s) {instruction = "ldmatrix.m8n8.x4.b16"} : (!llvm.ptr<3>) -> (i32, i32, i32, i32)
"""


def store(place: int) -> str:
    return f"""
        {LOAD}
        %to = llvm.getelementptr %a[{place}] : (!llvm.ptr) -> !llvm.ptr, f16
        llvm.store %r#0, %to : i32, !llvm.ptr
    """


def program(between: str = "", a: str = "%a", sums: str = "f32", c: str = SUMS, d: str = SUMS) -> str:
    first = PRODUCT.format(a="%a", places="0, 2, 4, 6", others="0, 2", sums=sums, c=d, d=d)
    second = PRODUCT.format(a=a, places="8, 10, 12, 14", others="4, 6", sums=sums, c=c, d=d)
    return kernel(
        f"""
        %many = llvm.mlir.constant(16 : i32) : i32
        %d = llvm.alloca %many x f32 : (i32) -> !llvm.ptr
        %a = llvm.alloca %many x f16 : (i32) -> !llvm.ptr
        %b = llvm.alloca %many x f16 : (i32) -> !llvm.ptr
        %e = llvm.alloca %many x f16 : (i32) -> !llvm.ptr
        {first}
        {between}
        {second}
        """,
        "%s: !llvm.ptr<3>",
    )


@pytest.mark.parametrize("between", ["", store(8), store(14)], ids=["nothing", "a load", "another"])
def test_neighbours_are_one_product(between: str) -> None:
    checked(
        program(between),
        fuse_mma_k_loop,
        """
        # CHECK-NOT: tiles = array<i64: 1, 1, 1>
        # CHECK: a = array<i64: 0, 2, 4, 6, 8, 10, 12, 14>, b = array<i64: 0, 2, 4, 6>,{{.*}} array<i64: 1, 1, 2>
        # CHECK-NOT: tile.mma
        """,
    )


STAY = {
    "a register that the first one reads": program(store(6)),
    "half of such a register": program(store(7)),
    "a barrier": program("gpu.barrier"),
    "what sums are so far": program("%now = llvm.load %d : !llvm.ptr -> f32"),
    "an unknown place": program("llvm.store %d, %s : !llvm.ptr, !llvm.ptr<3>"),
    "another fragment": program(a="%e"),
    "other sums": program(c=OTHERS),
    "sums that stay in the cache": program(c="0, 1, 2, 3", d="0, 1, 2, 3"),
    "sums that each product rounds": program(sums="f16"),
}


@pytest.mark.parametrize("apart", STAY.values(), ids=STAY)
def test_others_stay(apart: str) -> None:
    checked(
        apart,
        fuse_mma_k_loop,
        """
        # CHECK: tile.mma{{.*}} tiles = array<i64: 1, 1, 1>
        # CHECK: tile.mma{{.*}} tiles = array<i64: 1, 1, 1>
        """,
    )
