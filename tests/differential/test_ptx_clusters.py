"""The PTX simulator: blocks that run together, by kernels that are written by hand."""

from __future__ import annotations

import itertools

import numpy as np
import pytest

from tests.support.ptx.handwritten import ORDERS, OUT, Handwritten, first, wait
from triptych.ptxsim.clusters import Order, StuckError
from triptych.ptxsim.memory import AccessError

MEET = "barrier.cluster.arrive.release.aligned; barrier.cluster.wait.acquire.aligned;"


def test_blocks_of_a_cluster_know_where_they_are() -> None:
    names = [
        f"%{name}.{axis}" for name in ("cluster_ctaid", "clusterid", "cluster_nctaid", "nclusterid") for axis in "xyz"
    ]
    names += ["%cluster_ctarank", "%cluster_nctarank", "%ctaid.x", "%ctaid.y"]
    stores = "".join(f"mov.u32 %r2, {name}; st.global.u32 [%d5+{4 * i}], %r2;" for i, name in enumerate(names))
    body = "ld.param.u64 %d0, [p0]; mov.u32 %r3, %ctaid.y; mad.lo.u32 %r3, %r3, 4, %ctaid.x;"
    body = body.replace("%ctaid.x;", "%r4;").replace("mov.u32 %r3", "mov.u32 %r4, %ctaid.x; mov.u32 %r3")
    body += f"mul.wide.u32 %d4, %r3, {4 * len(names)}; add.s64 %d5, %d0, %d4; {stores}"
    machine = Handwritten()
    like = np.zeros((4, 4, len(names)), np.uint32)
    out = machine.array(like)
    machine.run(body, out, threads=1, grid=(4, 4, 1), cluster=(2, 2, 1))
    for y, x in itertools.product(range(4), range(4)):
        place = [x % 2, y % 2, 0, x // 2, y // 2, 0, 2, 2, 1, 2, 2, 1, x % 2 + 2 * (y % 2), 4, x, y]
        assert machine.values(out, like)[y, x].tolist() == place


def test_blocks_read_each_others_shared_memory() -> None:
    body = f"""{OUT}
    mov.u32 %r2, %cluster_ctarank;
    mad.lo.u32 %r3, %r2, 100, %r0;
    mad.lo.u32 %r4, %r0, 4, %r1;
    st.shared.u32 [%r4], %r3;
    {MEET}
    xor.b32 %r5, %r2, 1;
    mapa.shared::cluster.u32 %r6, %r4, %r5;
    ld.shared::cluster.u32 %r7, [%r6];
    getctarank.shared::cluster.u32 %r8, %r6;
    mad.lo.u32 %r7, %r8, 1000, %r7;
    cvt.u64.u32 %d3, %r4;
    cvta.shared.u64 %d3, %d3;
    mapa.u64 %d4, %d3, %r5;
    ld.u32 %r9, [%d4];
    setp.ne.u32 %p1, %r9, %r9;
    mul.wide.u32 %d5, %r2, 128;
    add.s64 %d1, %d1, %d5;
    st.global.u32 [%d1], %r7;
    {MEET}
"""
    machine = Handwritten()
    like = np.zeros((2, 32), np.uint32)
    out = machine.array(like)
    machine.run(body, out, grid=(2, 1, 1), cluster=(2, 1, 1))
    lanes = np.arange(32)
    np.testing.assert_array_equal(machine.values(out, like), [1100 + lanes, lanes])
    with pytest.raises(AccessError, match="block that has ended"):
        machine.run(ENDS_EARLY, grid=(2, 1, 1), cluster=(2, 1, 1))
    with pytest.raises(StuckError, match="wait at the barrier of the cluster"):
        machine.run("mov.u32 %r2, %cluster_ctarank; setp.eq.u32 %p1, %r2, 0; @%p1 bra on; bar.sync 1, 64; on:" + MEET,
                    grid=(2, 1, 1), cluster=(2, 1, 1))  # fmt: skip


ENDS_EARLY = """
    mov.u32 %r2, %cluster_ctarank;
    setp.eq.u32 %p1, %r2, 0;
    @%p1 bra end;
    mov.u32 %r3, 0;
spin:
    add.u32 %r3, %r3, 1;
    setp.lt.u32 %p2, %r3, 20;
    @%p2 bra spin;
    mapa.shared::cluster.u32 %r6, %r1, 0;
    ld.shared::cluster.u32 %r7, [%r6];
end:
"""


@pytest.mark.parametrize("order", ORDERS)
def test_a_box_goes_to_several_blocks(order: Order) -> None:
    """Each of four blocks loads a quarter for all of its row; everybody waits for the whole."""
    machine = Handwritten(order)
    values = np.arange(64, dtype=np.float32).reshape(4, 16)
    tensor = machine.map(machine.array(values), values, (16, 1))
    like = np.zeros((4, 32), np.float32)
    out = machine.array(like)
    body = f"""
    mov.b64 %d3, p0; cvta.param.u64 %d2, %d3; ld.param.u64 %d5, [p1];
    mov.u32 %r10, %cluster_ctarank;
    and.b32 %r11, %r10, 2;
    mov.u32 %r12, 3; shl.b32 %r12, %r12, %r11; cvt.u16.u32 %h1, %r12;
    and.b32 %r13, %r10, 1; mad.lo.u32 %r14, %r13, 128, %r1;
    mov.u32 %r15, 0;
    {first("mbarrier.init.shared.b64 [%r1], 1; fence.mbarrier_init.release.cluster;")}
    {MEET}
    {
        first('''
    mbarrier.arrive.expect_tx.shared.b64 _, [%r1], 128;
    cp.async.bulk.tensor.2d.shared::cluster.global.tile.mbarrier::complete_tx::bytes.multicast::cluster
        [%r14+128], [%d2, {%r15, %r10}], [%r1], %h1;
    ''')
    }
    {wait()}
    and.b32 %r20, %r0, 15; shr.u32 %r21, %r0, 4; shl.b32 %r21, %r21, 7;
    mad.lo.u32 %r21, %r20, 4, %r21; add.u32 %r21, %r21, %r1;
    ld.shared.u32 %r22, [%r21+128];
    mad.lo.u32 %r23, %r10, 32, %r0; mul.wide.u32 %d6, %r23, 4; add.s64 %d6, %d5, %d6;
    st.global.u32 [%d6], %r22;
    {MEET}
"""
    machine.run(body, tensor, out, grid=(2, 2, 1), cluster=(2, 2, 1))
    np.testing.assert_array_equal(machine.values(out, like), values.reshape(2, 32)[[0, 0, 1, 1]])


@pytest.mark.parametrize("order", ORDERS)
def test_values_for_another_block_arrive_at_its_mbarrier(order: Order) -> None:
    """Words, a row of bytes, and arrivals from afar."""
    body = f"""
    ld.param.u64 %d5, [p0];
    mov.u32 %r10, %cluster_ctarank;
    xor.b32 %r11, %r10, 1;
    {first("mbarrier.init.shared.b64 [%r1], 33; fence.mbarrier_init.release.cluster;")}
    mad.lo.u32 %r12, %r10, 100, %r0;
    mad.lo.u32 %r13, %r0, 4, %r1;
    st.shared.u32 [%r13+512], %r12;
    fence.proxy.async.shared::cta;
    {MEET}
    mapa.shared::cluster.u32 %r14, %r1, %r11;
    mapa.shared::cluster.u32 %r15, %r13, %r11;
    st.async.shared::cluster.mbarrier::complete_tx::bytes.u32 [%r15+128], %r12, [%r14];
    mbarrier.arrive.release.cluster.shared::cluster.b64 _, [%r14];
    {
        first('''
    mbarrier.arrive.expect_tx.shared.b64 _, [%r1], 256;
    cp.async.bulk.shared::cluster.shared::cta.mbarrier::complete_tx::bytes [%r14+256], [%r1+512], 128, [%r14];
    ''')
    }
    {wait()}
    ld.shared.u32 %r16, [%r13+128];
    ld.shared.u32 %r17, [%r13+256];
    add.u32 %r16, %r16, %r17;
    mad.lo.u32 %r23, %r10, 32, %r0; mul.wide.u32 %d6, %r23, 4; add.s64 %d6, %d5, %d6;
    st.global.u32 [%d6], %r16;
    {MEET}
"""
    machine = Handwritten(order)
    like = np.zeros((2, 32), np.uint32)
    out = machine.array(like)
    machine.run(body, out, grid=(2, 1, 1), cluster=(2, 1, 1))
    np.testing.assert_array_equal(machine.values(out, like), 2 * (np.arange(32) + np.array([[100], [0]])))


PAIRS = """
    mov.b64 %d3, p0; cvta.param.u64 %d2, %d3; ld.param.u64 %d5, [p1];
    mov.u32 %r10, %cluster_ctarank; mov.u32 %r15, 0; mov.u16 %h1, 15;
    and.b32 %r11, %r1, 0xFEFFFFFF; mad.lo.u32 %r14, %r10, 128, %r1; and.b32 %r12, %r10, 1; setp.ne.u32 %p1, %r12, 0;
"""
"""In `%r11` the address of the mbarrier in the even block of the pair, in `%r14` a place for each block's row."""


def pairs(words: str, mask: str, count: int) -> str:
    """Each block loads a row; only even blocks wait, for what both of their pair have got."""
    copy = f"cp.async.bulk.tensor.2d.shared::cluster.global.tile.mbarrier::complete_tx::bytes{words}"
    return f"""{PAIRS} {first("mbarrier.init.shared.b64 [%r1], 1; fence.mbarrier_init.release.cluster;")} {MEET}
    @%p1 bra odd; {first(f"mbarrier.arrive.expect_tx.shared.b64 _, [%r1], {count};")} odd:
    {first(f"{copy} [%r14+128], [%d2, {{%r15, %r10}}], [%r11]{mask};")} @%p1 bra over; {wait()} over: {MEET}
    mul.lo.u32 %r20, %r0, 4; and.b32 %r20, %r20, 63; shr.u32 %r21, %r0, 4; """


@pytest.mark.parametrize("order", ORDERS)
def test_bytes_of_a_pair_are_told_to_the_even_block(order: Order) -> None:
    machine = Handwritten(order)
    values = np.arange(64, dtype=np.float32).reshape(4, 16)
    tensor = machine.map(machine.array(values), values, (16, 1))
    out = machine.array(np.zeros((4, 32), np.float32))
    body = (
        pairs(".cta_group::2", "", 128)
        + """add.u32 %r22, %r20, %r14; ld.shared.u32 %r22, [%r22+128];
    mad.lo.u32 %r23, %r10, 32, %r0; mul.wide.u32 %d6, %r23, 4; add.s64 %d6, %d5, %d6; st.global.u32 [%d6], %r22;"""
    )
    machine.run(body, tensor, out, grid=(4, 1, 1), cluster=(4, 1, 1))
    found = machine.values(out, np.zeros((4, 32), np.float32))
    np.testing.assert_array_equal(found, np.concatenate([values, values], axis=1))


@pytest.mark.parametrize("order", ORDERS)
def test_a_multicast_of_pairs_is_told_to_all_even_blocks(order: Order) -> None:
    """Every block gets four rows, and every even one is told of eight."""
    machine = Handwritten(order)
    values = np.arange(64, dtype=np.float32).reshape(4, 16)
    tensor = machine.map(machine.array(values), values, (16, 1))
    like = np.zeros((4, 2, 32), np.float32)
    out = machine.array(like)
    body = (
        pairs(".multicast::cluster.cta_group::2", ", %h1", 512)
        + """
    mad.lo.u32 %r22, %r21, 128, %r20; add.u32 %r22, %r22, %r1; ld.shared.u32 %r24, [%r22+128];
    ld.shared.u32 %r25, [%r22+384];
    mad.lo.u32 %r23, %r10, 64, %r0; mul.wide.u32 %d6, %r23, 4; add.s64 %d6, %d5, %d6;
    st.global.u32 [%d6], %r24; st.global.u32 [%d6+128], %r25;"""
    )
    machine.run(body, tensor, out, grid=(4, 1, 1), cluster=(4, 1, 1))
    np.testing.assert_array_equal(machine.values(out, like).reshape(4, 4, 16), np.stack([values] * 4))


def test_the_mbarrier_of_the_peer_needs_a_group_of_two() -> None:
    machine = Handwritten()
    values = np.arange(64, dtype=np.float32).reshape(4, 16)
    tensor = machine.map(machine.array(values), values, (16, 1))
    with pytest.raises(AccessError, match="is not in the block that the bytes go to"):
        machine.run(pairs("", "", 128), tensor, machine.array(values), grid=(4, 1, 1), cluster=(4, 1, 1))
