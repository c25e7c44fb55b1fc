"""`fuse-wgmma-k-loop`: products on the same sums, a known distance apart, become one over more of k."""

from __future__ import annotations

import pytest

from tests.passes.running import checked, kernel, parsed
from triptych.ir.handles import Block, Operation
from triptych.kernel_ir.dialects.kernel_operations import operations
from triptych.kernel_ir.transforms import fuse_wgmma_k_loop as fuse_wgmma_k_loop_module
from triptych.kernel_ir.transforms.fuse_wgmma_k_loop import fuse_wgmma_k_loop

PRODUCT = (
    '"tile.wgmma"(%d, {a}, {b}, {added}) {{instruction = "m64n8k16.f32.f16.f16", tiles = array<i64: 1, 1, 1>, '
    "d = array<i64: 0, 1, 2, 3>, a = array<i64: 0>, b = array<i64: {place}>, a_operand = array<i64: 0, 3, 16, 1024>, "
    "b_operand = array<i64: 0, 3, 16, 1024>}} : (!llvm.ptr, !llvm.ptr<3>, !llvm.ptr<3>, i1) -> ()"
)


def program(between: str = "", added: str = "%true", b: str = "%b2") -> str:
    return kernel(
        f"""
        %four = llvm.mlir.constant(4 : i32) : i32
        %d = llvm.alloca %four x f32 : (i32) -> !llvm.ptr
        %true = arith.constant true
        %a1 = llvm.getelementptr %s[%n] : (!llvm.ptr<3>, i32) -> !llvm.ptr<3>, f16
        %b1 = llvm.getelementptr %s[512] : (!llvm.ptr<3>) -> !llvm.ptr<3>, f16
        {PRODUCT.format(a="%a1", b="%b1", added="%p", place=64)}
        %a2 = llvm.getelementptr %a1[16] : (!llvm.ptr<3>) -> !llvm.ptr<3>, f16
        %b2 = llvm.getelementptr %s[528] : (!llvm.ptr<3>) -> !llvm.ptr<3>, f16
        %b3 = llvm.getelementptr %s[%n] : (!llvm.ptr<3>, i32) -> !llvm.ptr<3>, f16
        {between}
        {PRODUCT.format(a="%a2", b=b, added=added, place=0)}
        """,
        "%s: !llvm.ptr<3>, %n: i32, %p: i1",
    )


def test_neighbours_are_one_product() -> None:
    checked(
        program(),
        fuse_wgmma_k_loop,
        """
        # CHECK: %arg2) {a = array<i64: 0, 32>,{{.*}} b = array<i64: 64, 32>,{{.*}} tiles = array<i64: 1, 1, 2>
        # CHECK-NOT: tile.wgmma
        """,
    )


@pytest.mark.parametrize(
    "apart",
    [program(between='"tile.wgmma_commit"() : () -> ()'), program(added="%p"), program(b="%b3")],
    ids=["something between", "sums that begin anew", "an unknown distance"],
)
def test_others_stay(apart: str) -> None:
    checked(
        apart,
        fuse_wgmma_k_loop,
        """
        # CHECK: tile.wgmma{{.*}} tiles = array<i64: 1, 1, 1>
        # CHECK: tile.wgmma{{.*}} tiles = array<i64: 1, 1, 1>
        """,
    )


def test_a_block_is_read_once_for_all_its_products(monkeypatch: pytest.MonkeyPatch) -> None:
    read = 0

    def counting(block: Block) -> list[Operation]:
        nonlocal read
        read += 1
        return operations(block)

    monkeypatch.setattr(fuse_wgmma_k_loop_module, "operations", counting)
    module = parsed(program())
    with module.context:
        fuse_wgmma_k_loop(module)
    assert read == 1
