"""The PTX simulator: instructions whose results are known, and mistakes that it must notice."""

from __future__ import annotations

import numpy as np
import pytest

from triptych.ptxsim.arithmetic import UnknownInstructionError
from triptych.ptxsim.clusters import StuckError
from triptych.ptxsim.machine import Gpu
from triptych.ptxsim.memory import AccessError

TEXT = """
.version 8.0
.target sm_80
.shared .align 16 .b8 room[1024];
.visible .entry test(.param .u64 out)
{{
    .reg .pred %p<10>;
    .reg .b16 %h<10>;
    .reg .b32 %r<20>;
    .reg .b64 %d<10>;
    mov.u32 %r0, %tid.x;
    ld.param.u64 %d0, [out];
    mul.wide.u32 %d1, %r0, 4;
    add.s64 %d1, %d0, %d1;
    mov.u64 %d2, room;
    mul.wide.u32 %d3, %r0, 4;
    add.s64 %d3, %d2, %d3;
{body}
    st.global.u32 [%d1], %r1;
    ret;
}}
"""
JUNK = 0xCDCDCDCD


def run(body: str, threads: int = 32) -> list[int]:
    """What the threads leave in `%r1`. `%r0` is their number, `%d3` a place of their own in shared memory."""
    gpu = Gpu()
    room = gpu.memory.allocate(4 * threads)
    loaded = gpu.load(TEXT.format(body=body))
    loaded.launch("test", (1, 1, 1), (threads, 1, 1), 0, [room.base.to_bytes(8, "little")])
    return [int(value) for value in room.words(4)[0][:threads]]


def bits(number: float) -> int:
    return int(np.float32(number).view(np.uint32))


@pytest.mark.parametrize(
    ("words", "result"),
    [
        ("min", bits(-5)),
        ("max", bits(25)),
        ("max.NaN", 0x7FFFFFFF),
        ("min.abs", bits(0)),
        ("max.abs.NaN", 0x7FFFFFFF),
    ],
)
def test_reductions_of_floats_in_warps(words: str, result: int) -> None:
    """Of -5, -4, ..., 25, and of what is no number."""
    body = """cvt.rn.f32.u32 %r1, %r0; add.f32 %r1, %r1, 0fC0A00000; setp.eq.u32 %p1, %r0, 31;
    selp.b32 %r1, 0x7FC00000, %r1, %p1;"""
    assert set(run(f"{body} redux.sync.{words}.f32 %r1, %r1, 0xFFFFFFFF;")) == {result}


def test_no_other_reductions_of_floats() -> None:
    with pytest.raises(UnknownInstructionError):
        run("mov.u32 %r1, 0; redux.sync.add.f32 %r1, %r1, 0xFFFFFFFF;")


@pytest.mark.parametrize(
    ("instruction", "result"),
    [
        ("bfe.s32 %r1, 0xF0, 4, 4;", 0xFFFFFFFF),
        ("bfe.u32 %r1, 0xF0, 4, 4;", 0xF),
        ("bfi.b32 %r1, 0xAB, 0x11111111, 8, 8;", 0x1111AB11),
        ("prmt.b32 %r1, 0x33221100, 0x77665544, 0x8740;", 0x00774400),
        ("prmt.b32 %r1, 0x80, 0, 0x8888;", 0xFFFFFFFF),
        ("shl.b32 %r1, 1, 32;", 0),
        ("shr.s32 %r1, -5, 40;", 0xFFFFFFFF),
        ("shf.l.wrap.b32 %r1, 0x80000000, 1, 33;", 3),
        ("mul.hi.s32 %r1, -1, 2;", 0xFFFFFFFF),
        ("mul.hi.u32 %r1, -1, 2;", 1),
        ("div.s32 %r1, -7, 2;", 2**32 - 3),
        ("rem.s32 %r1, -7, 2;", 2**32 - 1),
        ("clz.b32 %r1, 1;", 31),
        ("brev.b32 %r1, 1;", 1 << 31),
        ("popc.b32 %r1, 0xFF;", 8),
        ("lop3.b32 %r1, 0xF0, 0xCC, 0xAA, 0x1B;", 0xFFFFFF1B),
        ("cvt.s32.s8 %r1, 0x80;", 0xFFFFFF80),
        ("cvt.rzi.s32.f32 %r1, 0f7F800000;", 0x7FFFFFFF),
        ("cvt.rzi.s32.f32 %r1, 0f7FC00000;", 0),
        ("cvt.rzi.u32.f32 %r1, 0fBF800000;", 0),
        ("cvt.rn.f16x2.f32 %r1, 0f3F800000, 0f40000000;", 0x3C004000),
        ("fma.rn.f32 %r1, 0f3F800001, 0f3F800001, 0fBF800002;", bits(2.0**-46)),
        ("fma.rz.f32 %r1, 0f3F800001, 0f3F800001, 0f00000000;", 0x3F800002),
        ("fma.rp.f32 %r1, 0f3F800001, 0f3F800001, 0f00000000;", 0x3F800003),
        ("mov.b16 %h1, 0x4000; fma.rn.f32.f16 %r1, %h1, %h1, 0f3F800000;", bits(5.0)),
        ("min.f32 %r1, 0f80000000, 0f00000000;", 0x80000000),
        ("max.f32 %r1, 0f7FC00000, 0f3F800000;", 0x3F800000),
        ("max.NaN.f32 %r1, 0f7FC00000, 0f3F800000;", 0x7FC00000),
        ("mul.ftz.f32 %r1, 0f00800000, 0f3F000000;", 0),
        ("fma.rn.bf16x2 %r1, 0x3F803F80, 0x40004040, 0x3F803F80;", 0x40404080),
        ("setp.lt.f32 %p1, 0f7FC00000, 0f3F800000; selp.b32 %r1, 1, 0, %p1;", 0),
        ("setp.ltu.f32 %p1, 0f7FC00000, 0f3F800000; selp.b32 %r1, 1, 0, %p1;", 1),
        ("mov.b32 %r1, {7, 9};", 0x00090007),
        ("mov.b32 {%h1, %h2}, 0x00090007; cvt.u32.u16 %r1, %h2;", 9),
    ],
)
def test_instructions_compute_what_the_manual_says(instruction: str, result: int) -> None:
    assert run(instruction, 1) == [result]


def test_threads_part_and_meet_again() -> None:
    body = """
    mov.u32 %r1, 0;
    mov.u32 %r2, 0;
loop:
    setp.ge.u32 %p1, %r2, %r0;
    @%p1 bra end;
    add.u32 %r1, %r1, %r2;
    add.u32 %r2, %r2, 1;
    bra.uni loop;
end:
    vote.sync.ballot.b32 %r3, 1, -1;
    popc.b32 %r3, %r3;
    mad.lo.u32 %r1, %r3, 1000, %r1;
"""
    assert run(body) == [32_000 + n * (n - 1) // 2 for n in range(32)]


def test_lanes_exchange() -> None:
    assert run("shfl.sync.bfly.b32 %r1, %r0, 5, 0x1f, -1;") == [lane ^ 5 for lane in range(32)]
    assert run("shfl.sync.up.b32 %r1, %r0, 1, 0, -1;") == [0, *range(31)]
    assert run("shfl.sync.down.b32 %r1|%p1, %r0, 3, 0x181f, -1;") == [
        lane + 3 if lane % 8 < 5 else lane for lane in range(32)
    ]


def test_a_warp_that_waits_for_another_in_a_loop_gets_its_answer() -> None:
    body = """
    setp.ge.u32 %p1, %r0, 32;
    mov.u32 %r1, 7;
    @%p1 bra writer;
spin:
    ld.volatile.shared.u32 %r1, [%d2];
    setp.ne.u32 %p2, %r1, 42;
    @%p2 bra spin;
    bra.uni end;
writer:
    st.shared.u32 [%d2], 42;
end:
"""
    assert run(body, 64) == [42] * 32 + [7] * 32


def test_matrices_go_to_the_lanes_that_the_manual_names() -> None:
    """Element (row, column) of an 8 x 8 matrix is 16 row + column; each lane has two of its row."""
    fill = """
    mul.lo.u32 %r2, %r0, 4;
    and.b32 %r3, %r0, 3;
    shl.b32 %r3, %r3, 1;
    shr.u32 %r4, %r0, 2;
    mad.lo.u32 %r4, %r4, 16, %r3;
    add.u32 %r5, %r4, 1;
    shl.b32 %r5, %r5, 16;
    or.b32 %r4, %r4, %r5;
    st.shared.u32 [%d3], %r4;
    bar.sync 0;
    and.b32 %r6, %r0, 7;
    mul.wide.u32 %d4, %r6, 16;
    add.s64 %d4, %d2, %d4;
"""
    straight = run(fill + "ldmatrix.sync.aligned.m8n8.x1.shared.b16 {%r1}, [%d4];")
    across = run(fill + "ldmatrix.sync.aligned.m8n8.x1.trans.shared.b16 {%r1}, [%d4];")
    for lane in range(32):
        row, pair = lane // 4, 2 * (lane % 4)
        assert straight[lane] == 16 * row + pair | (16 * row + pair + 1) << 16
        assert across[lane] == 16 * pair + row | (16 * (pair + 1) + row) << 16


# mistakes -------------------------------------------------------------------------------------------------------------
COPY = "st.global.u32 [%d1], %r0; cp.async.ca.shared.global [%d3], [%d1], 4; cp.async.commit_group;"


def test_an_asynchronous_copy_arrives_when_it_is_waited_for() -> None:
    assert run(COPY + "cp.async.wait_group 0; ld.shared.u32 %r1, [%d3];") == list(range(32))
    assert run(COPY + "ld.shared.u32 %r1, [%d3];") == [JUNK] * 32
    assert run(COPY + "cp.async.wait_group 1; ld.shared.u32 %r1, [%d3];") == [JUNK] * 32


def test_an_access_that_is_not_aligned() -> None:
    with pytest.raises(AccessError, match="16 bytes at 1028 are not aligned"):
        run("add.s64 %d3, %d2, 4; ld.shared.v4.u32 {%r1, %r2, %r3, %r4}, [%d3];")


def test_an_access_outside() -> None:
    with pytest.raises(AccessError, match="4 bytes at 128 of 128"):
        run("st.global.u32 [%d1+4], %r0;")


def test_a_barrier_that_not_all_reach() -> None:
    with pytest.raises(StuckError, match="32 threads at barrier 0"):
        run("setp.ge.u32 %p1, %r0, 32; @%p1 bra over; bar.sync 0; over: bar.sync 1;", 64)


def test_an_exchange_with_a_lane_that_is_elsewhere() -> None:
    body = "setp.ge.u32 %p1, %r0, 16; @%p1 bra over; shfl.sync.idx.b32 %r1, %r0, 0, 31, -1; over: bar.sync 0;"
    with pytest.raises(StuckError, match=r"shfl\.sync"):
        run(body)
