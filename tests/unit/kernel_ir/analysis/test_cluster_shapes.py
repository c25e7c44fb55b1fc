"""`simt.clusters`: how many blocks a cluster has, and whether they have to do with each other."""

from __future__ import annotations

import pytest

from tests.passes.running import kernel, parsed
from triptych.ir.modules import kernels
from triptych.kernel_ir.dialects.kernel_operations import cluster_of, reaches_other_blocks

S = "!llvm.ptr<3>"
BOX = "box = array<i64: 8>, bytes = 4 : i64, swizzle = 0 : i64"
ALONE = (
    "gpu.barrier",
    f'"simt.mbarrier_arrive"(%s, %n) : ({S}, i32) -> ()',
    f'"simt.mbarrier_wait"(%s, %n) : ({S}, i32) -> ()',
    f'"tile.tma_load"(%m, %s, %s, %n, %n) {{{BOX}, multicast = false}} : (!llvm.ptr, {S}, {S}, i32, i32) -> ()',
)
TOGETHER = (
    '"simt.cluster_arrive"() {order = "relaxed"} : () -> ()',
    '"simt.cluster_wait"() : () -> ()',
    f'%p = "simt.cluster_address"(%s, %n) : ({S}, i32) -> !llvm.ptr<7>',
    f'"simt.mbarrier_arrive"(%s, %n, %n) : ({S}, i32, i32) -> ()',
    f'"tile.tma_load"(%m, %s, %s, %n, %n) {{{BOX}, multicast = true}} : (!llvm.ptr, {S}, {S}, i32, i32) -> ()',
)


@pytest.mark.parametrize(("text", "together"), [*((t, False) for t in ALONE), *((t, True) for t in TOGETHER)])
def test_blocks_that_have_to_do_with_each_other(text: str, together: bool) -> None:
    module = parsed(kernel(text, arguments=f"%m: !llvm.ptr, %s: {S}, %n: i32"))
    assert reaches_other_blocks(kernels(module)[0]) is together


def test_the_launch_says_how_many_blocks_there_are() -> None:
    module = parsed(kernel(""))
    assert cluster_of(kernels(module)[0]) == (1, 1, 1)
    module = parsed(kernel("", attributes="attributes {triptych.cluster = array<i32: 2, 1, 3>}"))
    assert cluster_of(kernels(module)[0]) == (2, 1, 3)
