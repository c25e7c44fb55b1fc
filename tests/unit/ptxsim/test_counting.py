"""What accesses cost, counted by the machine and computed by hand from the rules of NVIDIA's memories.

CUDA C++ Programming Guide, "Shared Memory" of the compute capabilities 5.x and later: 32 banks, successive words of 4
bytes in successive banks, one word of each bank at a time, the same word for all threads that want it. Nsight Compute's
documentation: global memory moves sectors of 32 bytes; a wavefront is what goes through at once.
"""

from __future__ import annotations

import pytest

from triptych.ptxsim.counting import BlockCounts, Counting, Counts
from triptych.ptxsim.machine import Gpu
from triptych.ptxsim.reading import Line

TEXT = """
.version 8.0
.target sm_80
.shared .align 1024 .b8 room[65536];
.visible .entry test(.param .u64 out)
{{
    .reg .pred %p<10>;
    .reg .b16 %h<10>;
    .reg .b32 %r<30>;
    .reg .b64 %d<10>;
    mov.u32 %r0, %tid.x;
    and.b32 %r9, %r0, 31;
    ld.param.u64 %d0, [out];
    mov.u32 %r1, room;
{body}
    ret;
}}
"""
ROW_AND_CHUNK = "and.b32 %r4, %r9, 7; shr.u32 %r5, %r9, 3; mul.lo.s32 %r6, %r4, 128;"
"""Of a thread: row %r4 of eight, chunk %r5 of four, and where its row of 128 bytes begins."""


def run(body: str, threads: int = 32) -> BlockCounts:
    counting = Counting()
    gpu = Gpu(counting=counting)
    room = gpu.memory.allocate(65536)
    loaded = gpu.load(TEXT.format(body=body))
    loaded.launch("test", (1, 1, 1), (threads, 1, 1), 0, [room.base.to_bytes(8, "little")])
    (block,) = counting.launches[0].blocks
    return block


def counts(body: str, threads: int = 32) -> Counts:
    """Of all instructions together; the rest of the kernel touches no memory."""
    total = Counts()
    for each in run(body, threads).counts.values():
        total.add(each)
    return total


def shared(address: str, access: str) -> tuple[int, int, int]:
    found = counts(f"{address} add.s32 %r3, %r1, %r2; {access}")
    return found.shared_requests, found.wavefronts, found.fewest_wavefronts


WIDE = {
    1: "ld.shared.u8 %h1, [%r3];",
    2: "ld.shared.u16 %h1, [%r3];",
    4: "ld.shared.u32 %r8, [%r3];",
    8: "ld.shared.v2.u32 {%r10, %r11}, [%r3];",
    16: "st.shared.v4.u32 [%r3], {%r10, %r11, %r12, %r13};",
}


@pytest.mark.parametrize(
    ("width", "step", "wavefronts", "fewest"),
    [
        (4, 4, 1, 1),  # one word in each bank
        (4, 8, 2, 1),  # 32 words in the 16 even banks
        (4, 12, 1, 1),  # 3 is odd: all banks
        (4, 16, 4, 1),  # 8 banks
        (4, 32, 8, 1),
        (4, 64, 16, 1),
        (4, 68, 1, 1),  # 17 words
        (4, 128, 32, 1),  # a column: one bank
        (4, 132, 1, 1),  # 33 words: a padded column
        (4, 0, 1, 1),  # all the same word
        (1, 1, 1, 1),  # 8 words, four threads at each
        (1, 4, 1, 1),
        (1, 128, 32, 1),
        (2, 2, 1, 1),  # 16 words, two threads at each
        (2, 64, 16, 1),  # words 16 apart: banks 0 and 16
        (8, 8, 2, 2),  # two halves of a warp, 128 bytes each
        (8, 16, 4, 2),  # words 4i and 4i + 1: threads i and i + 8 of a half meet
        (16, 16, 4, 4),  # four quarters
        (16, 32, 8, 4),  # words 8i: threads i and i + 4 of a quarter meet
        (16, 128, 32, 4),  # all 8 threads of a quarter in the same four banks
        (16, 0, 4, 4),  # the same 16 bytes for all: once for each quarter
    ],
)
def test_strides_in_shared_memory(width: int, step: int, wavefronts: int, fewest: int) -> None:
    assert shared(f"mul.lo.s32 %r2, %r9, {step};", WIDE[width]) == (1, wavefronts, fewest)


@pytest.mark.parametrize(
    ("address", "access", "wavefronts", "fewest"),
    [
        # a column of 32 rows of 32 words, each row permuted by its number: bank = row
        ("mul.lo.s32 %r4, %r9, 128; shl.b32 %r5, %r9, 2; add.s32 %r2, %r4, %r5;", WIDE[4], 1, 1),
        # chunk c of eight rows of 128 bytes: the same four banks for a quarter; swizzled, all banks
        (f"{ROW_AND_CHUNK} shl.b32 %r7, %r5, 4; add.s32 %r2, %r6, %r7;", WIDE[16], 32, 4),
        (f"{ROW_AND_CHUNK} xor.b32 %r7, %r5, %r4; shl.b32 %r7, %r7, 4; add.s32 %r2, %r6, %r7;", WIDE[16], 4, 4),
        # two words of one bank, each for half a warp
        ("shr.u32 %r4, %r9, 4; mul.lo.s32 %r2, %r4, 128;", WIDE[4], 2, 1),
        # a column, but only 16 threads take part
        ("mul.lo.s32 %r2, %r9, 128; setp.lt.u32 %p1, %r9, 16;", "@%p1 ld.shared.u32 %r8, [%r3];", 16, 1),
    ],
)
def test_patterns_in_shared_memory(address: str, access: str, wavefronts: int, fewest: int) -> None:
    assert shared(address, access) == (1, wavefronts, fewest)


@pytest.mark.parametrize(
    ("matrices", "step", "wavefronts"),
    [
        (4, 16, 4),  # 8 rows of 16 bytes, one after another: all banks, for each matrix
        (4, 128, 32),  # rows of a tile of 128 bytes: the same four banks for 8 rows
        (2, 144, 2),  # padded by 16 bytes
        (1, 80, 1),  # words 20i: 20 = 4 * 5, and 5 is odd
        (1, 32, 2),
    ],
)
def test_rows_of_matrices(matrices: int, step: int, wavefronts: int) -> None:
    into = ", ".join(f"%r{10 + i}" for i in range(matrices))
    access = f"ldmatrix.sync.aligned.m8n8.x{matrices}.shared.b16 {{{into}}}, [%r3];"
    assert shared(f"mul.lo.s32 %r2, %r9, {step};", access) == (1, wavefronts, matrices)


FAR = {
    1: "ld.global.u8 %h1, [%d2];",
    2: "ld.global.u16 %h1, [%d2];",
    4: "ld.global.u32 %r8, [%d2];",
    8: "ld.global.v2.u32 {%r10, %r11}, [%d2];",
    16: "ld.global.v4.u32 {%r10, %r11, %r12, %r13}, [%d2];",
}


@pytest.mark.parametrize(
    ("width", "step", "first", "sectors", "fewest", "used"),
    [
        (4, 4, 0, 4, 4, 128),
        (4, 4, 4, 5, 4, 128),  # not at a multiple of 32 bytes: one more
        (4, 8, 0, 8, 4, 128),  # every other word
        (4, 128, 0, 32, 4, 128),  # a column: a sector for each thread
        (4, 0, 0, 1, 1, 4),  # the same word for all
        (1, 1, 0, 1, 1, 32),
        (2, 2, 0, 2, 2, 64),
        (8, 8, 0, 8, 8, 256),
        (16, 16, 0, 16, 16, 512),
        (16, 32, 0, 32, 16, 512),  # half of each sector
    ],
)
def test_sectors(width: int, step: int, first: int, sectors: int, fewest: int, used: int) -> None:
    body = f"mul.wide.u32 %d1, %r9, {step}; add.s64 %d2, %d0, %d1; add.s64 %d2, %d2, {first}; {FAR[width]}"
    found = counts(body)
    assert (found.global_requests, found.sectors, found.fewest_sectors, found.bytes_used) == (1, sectors, fewest, used)


def test_asynchronous_copies_are_counted_at_both_ends() -> None:
    body = """
    mul.lo.s32 %r2, %r9, 16; add.s32 %r3, %r1, %r2;
    mul.wide.u32 %d1, %r9, 16; add.s64 %d2, %d0, %d1;
    cp.async.cg.shared.global [%r3], [%d2], 16; cp.async.wait_all;"""
    found = counts(body)
    assert (found.shared_requests, found.wavefronts, found.global_requests, found.sectors) == (1, 4, 1, 16)


def test_generic_addresses_are_counted_where_they_lead() -> None:
    found = counts("cvta.shared.u64 %d3, room; mul.wide.u32 %d1, %r9, 128; add.s64 %d3, %d3, %d1; ld.u32 %r8, [%d3];")
    assert (found.shared_requests, found.wavefronts, found.global_requests) == (1, 32, 0)


@pytest.mark.parametrize(("step", "turns"), [(0, 32), (4, 1)])
def test_atomics_on_one_address_take_turns(step: int, turns: int) -> None:
    body = f"mul.wide.u32 %d1, %r9, {step}; add.s64 %d2, %d0, %d1; red.global.add.u32 [%d2], 1;"
    found = counts(body)
    assert (found.atomics, found.atomic_requests, found.atomic_turns) == (32, 1, turns)


def test_branches_that_part_warps() -> None:
    """Eight threads of each of two warps go the long way."""
    body = "setp.ge.u32 %p1, %r9, 8; @%p1 bra over; add.s32 %r8, %r9, 1; add.s32 %r8, %r8, 1; over: mov.u32 %r8, 0;"
    found = counts(body, threads=64)
    assert (found.branches, found.splits) == (2, 2)
    adds = [each for each in run(body, 64).counts.values() if each.lanes == 16]
    assert [(each.issued, each.slots) for each in adds] == [(2, 64), (2, 64)]


def test_lines_of_the_program_are_kept() -> None:
    counting = Counting()
    gpu = Gpu(counting=counting)
    body = (
        ".loc 1 7 3\n mov.u32 %r2, 1;\n .loc 1 0 0\n mov.u32 %r3, 1;\n .loc 2 9 1, function_name f, inlined_at 1 7 3\n"
    )
    body = f".local .align 8 .b8 depot[16];\n{body}"  # its name begins like that of a line
    text = TEXT.format(body=body) + '.file 1 "kernel.py"\n.file 2 "helper.py"\n'
    lines = gpu.load(text).module.kernels["test"].lines
    assert lines[4:] == [Line("kernel.py", 7), None, Line("helper.py", 9)]


def test_only_chosen_blocks_run_and_launches_alike_run_once() -> None:
    counting = Counting(lambda number: [0, number - 1])
    gpu = Gpu(counting=counting)
    loaded = gpu.load(TEXT.format(body=""))
    for _ in range(3):
        loaded.launch("test", (3, 2, 1), (32, 1, 1), 0, [bytes(8)])
    (launch,) = counting.launches
    assert [block.index for block in launch.blocks] == [(0, 0, 0), (2, 1, 0)]
    assert launch.alike == 3
