"""The PTX simulator: clusters that ask for further clusters of their grid, in kernels written by hand."""

from __future__ import annotations

import re

import numpy as np
import pytest

from tests.support.ptx.handwritten import ORDERS, Handwritten, first, wait
from triptych.ptxsim.arithmetic import UnknownInstructionError
from triptych.ptxsim.clusters import Order
from triptych.ptxsim.launch_control import LaunchControlError
from triptych.ptxsim.memory import AccessError

TRY = "clusterlaunchcontrol.try_cancel.async.shared::cta.mbarrier::complete_tx::bytes{}.b128 [%r1+{}], [%r1];"
HANDLE = "ld.shared.b64 %d10, [%r1+16]; ld.shared.b64 %d11, [%r1+24]; .reg .b128 %q<2>; mov.b128 %q1, {%d10, %d11};"
QUERY = "clusterlaunchcontrol.query_cancel."
BEGIN = (
    first("mbarrier.init.shared::cta.b64 [%r1], 1;") + "mov.u32 %r3, %ctaid.x; mov.u32 %r4, %ctaid.y; mov.u32 %r8, 0;"
)
ACT = """mov.u32 %r5, %nctaid.x; mad.lo.u32 %r5, %r4, %r5, %r3; ld.param.u64 %d0, [p0]; mul.wide.u32 %d1, %r5, 4;
add.s64 %d1, %d0, %d1; @!%p3 red.global.add.u32 [%d1], 1;"""
"""Thread 0 counts the block (%r3, %r4)."""
EXPECT = "mbarrier.arrive.expect_tx.shared::cta.b64 %d9, [%r1], 16;"


def loop(ask: str, query: str, inner: str = "") -> str:
    """Blocks count themselves, then what they are given, until they are given nothing."""
    awaited = wait("%r1", 0).replace("}, 0;", "}, %r8;").replace("], 0;", "], %r8;")
    return f"""{BEGIN} setp.ne.u32 %p3, %r0, 0; barrier.cluster.arrive.aligned; barrier.cluster.wait.aligned;
next: {ACT} {first(EXPECT)} barrier.cluster.arrive.aligned; barrier.cluster.wait.aligned;
    {ask} {awaited} {HANDLE} {QUERY}is_canceled.pred.b128 %p4, %q1; xor.b32 %r8, %r8, 1; @!%p4 bra end;
    {query} {inner} bra next;
end: barrier.cluster.arrive.aligned; barrier.cluster.wait.aligned;"""


VECTOR = QUERY + "get_first_ctaid.v4.b32.b128 {%r3, %r4, %r6, _}, %q1;"
PARTS = QUERY + "get_first_ctaid::x.b32.b128 %r3, %q1;" + QUERY + "get_first_ctaid::y.b32.b128 %r4, %q1;"


@pytest.mark.parametrize("order", [*ORDERS, 2, 3])
@pytest.mark.parametrize("query", [VECTOR, PARTS])
def test_every_block_is_done_once(order: Order, query: str) -> None:
    gpu = Handwritten(order)
    counts = gpu.array(np.zeros((3, 4), np.uint32))
    gpu.run(loop(first(TRY.format("", 16)), query), counts, grid=(4, 3, 1))
    assert (gpu.values(counts, np.zeros((3, 4), np.uint32)) == 1).all()


@pytest.mark.parametrize("order", [*ORDERS, 2, 3])
def test_a_response_goes_to_all_blocks_of_a_cluster(order: Order) -> None:
    """The first block asks for both; each adds its place in the cluster."""
    gpu = Handwritten(order)
    counts = gpu.array(np.zeros((2, 6), np.uint32))
    asked = "mov.u32 %r6, %cluster_ctarank; setp.ne.u32 %p5, %r6, 0; @%p5 bra past;"
    ask = f"{asked} {first(TRY.format('.multicast::cluster::all', 16))} past:"
    inner = "mov.u32 %r7, %cluster_ctaid.x; add.u32 %r3, %r3, %r7;"
    gpu.run(loop(ask, PARTS, inner), counts, grid=(6, 2, 1), cluster=(2, 1, 1))
    assert (gpu.values(counts, np.zeros((2, 6), np.uint32)) == 1).all()


def test_a_cluster_that_was_given_away_does_not_start() -> None:
    """Blocks that do not use what they are given leave it undone: the response is the only trace of it."""
    gpu = Handwritten()
    counts = gpu.array(np.zeros(4, np.uint32))
    body = re.sub(r"get_first.*?;", "is_canceled.pred.b128 %p4, %q1;", loop(first(TRY.format("", 16)), PARTS))
    gpu.run(body.replace("bra next;", "bra end;"), counts, grid=(4, 1, 1))
    assert gpu.values(counts, np.zeros(4, np.uint32)).tolist() == [1, 0, 1, 0]


ONE = BEGIN + first(EXPECT + TRY.format("", 16))
WRONG = {
    "too early": (ONE + HANDLE + QUERY + "is_canceled.pred.b128 %p4, %q1;", "these 16 bytes are no response"),
    "again": (
        ONE + wait() + HANDLE + QUERY + "is_canceled.pred.b128 %p4, %q1;" + first(EXPECT + TRY.format("", 16)),
        "asks again after it has learnt that nothing is left",
    ),
    "no index": (ONE + wait() + HANDLE + PARTS, "nothing was cancelled"),
}


@pytest.mark.parametrize("name", WRONG)
def test_what_is_forbidden_is_refused(name: str) -> None:
    body, message = WRONG[name]
    gpu = Handwritten()
    with pytest.raises(LaunchControlError, match=message):
        gpu.run(body, gpu.array(np.zeros(4, np.uint32)))


def test_a_response_is_aligned() -> None:
    gpu = Handwritten()
    with pytest.raises(AccessError, match="no multiple of 16"):
        gpu.run(BEGIN + first(EXPECT + TRY.format("", 24)))


@pytest.mark.parametrize(
    "text", [TRY.format(".multicast::cluster", 16), HANDLE + QUERY + "get_first_ctaid::w.b32.b128 %r3, %q1;"]
)
def test_other_forms_are_unknown(text: str) -> None:
    with pytest.raises(UnknownInstructionError):
        Handwritten().run(BEGIN + text)
