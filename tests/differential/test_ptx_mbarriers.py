"""The PTX simulator: mbarriers count, threads that wait are told or woken, in kernels written by hand."""

from __future__ import annotations

import random

import numpy as np
import pytest

from tests.support.ptx.handwritten import OUT, Handwritten, first, wait
from triptych.ptxsim.arithmetic import UnknownInstructionError
from triptych.ptxsim.clusters import StuckError
from triptych.ptxsim.mbarriers import BarrierError


def test_mbarrier_counts_as_ten_lines_do() -> None:
    """Drawn sequences by one thread, asked after each step for the parity of the phase."""
    draw = random.Random(7)
    for _ in range(4):
        count, phase, under_way = draw.randint(1, 4), 0, 0
        expected = pending = count
        body, answers = f"mbarrier.init.shared.b64 [%r1], {count};", []
        for number in range(40):
            step = draw.choice(["arrive", "expect", "complete", "both", "several"])
            size = 16 * draw.randint(1, 3)
            if step == "several":
                many = draw.randint(1, pending)
                body += f"mbarrier.arrive.shared::cta.b64 _, [%r1], {many};"
                pending -= many
            elif step == "arrive":
                body += "mbarrier.arrive.release.cta.shared::cta.b64 %d5, [%r1];"
                pending -= 1
            elif step == "both":
                body += f"mbarrier.arrive.expect_tx.release.cta.shared::cta.b64 _, [%r1], {size};"
                under_way, pending = under_way + size, pending - 1
            elif step == "expect":
                body += f"mbarrier.expect_tx.relaxed.cta.shared::cta.b64 [%r1], {size};"
                under_way += size
            else:
                body += f"mbarrier.complete_tx.relaxed.cta.shared::cta.b64 [%r1], {size};"
                under_way -= size
            if not pending and step != "expect":
                if under_way > 0:  # the next arrival would be one too many
                    body += f"mbarrier.complete_tx.shared::cta.b64 [%r1], {under_way};"
                elif under_way < 0:
                    body += f"mbarrier.expect_tx.shared::cta.b64 [%r1], {-under_way};"
                    body += "mbarrier.complete_tx.shared::cta.b64 [%r1], 0;"
                under_way = 0
            if not pending and not under_way:
                phase, pending = phase + 1, expected
            body += f"mbarrier.test_wait.parity.shared::cta.b64 %p1, [%r1], {number & 1};"
            body += f"selp.u32 %r2, 1, 0, %p1; st.global.u32 [%d0+{4 * number}], %r2;"
            answers.append(int(phase & 1 != number & 1))
        machine = Handwritten()
        out = machine.array(np.zeros(40, np.uint32))
        machine.run(OUT + body, out, threads=1)
        assert machine.values(out, np.zeros(40, np.uint32)).tolist() == answers


def test_threads_hand_over_through_two_barriers() -> None:
    """A ring of one stage: warp 0 writes, warp 1 reads and adds up."""
    body = f"""
    add.u32 %r10, %r1, 8;
    add.u32 %r11, %r1, 16;
    {first("mbarrier.init.shared.b64 [%r1], 32; mbarrier.init.shared.b64 [%r10], 32;")}
    bar.sync 0;
    mov.u32 %r2, 0;
    mov.u32 %r3, 0;
    and.b32 %r4, %r0, 31;
    shl.b32 %r4, %r4, 2;
    add.u32 %r4, %r4, %r11;
    setp.ge.u32 %p1, %r0, 32;
    @%p1 bra reader;
writer:
    xor.b32 %r5, %r2, 1;
    {wait("%r10", 0).replace(", 0;", ", %r5;")}
    add.u32 %r6, %r0, %r3;
    st.shared.u32 [%r4], %r6;
    mbarrier.arrive.shared.b64 _, [%r1];
    xor.b32 %r2, %r2, 1;
    add.u32 %r3, %r3, 1;
    setp.lt.u32 %p2, %r3, 7;
    @%p2 bra writer;
    bra.uni end;
reader:
    mov.u32 %r7, 0;
read:
    {wait("%r1", 0).replace(", 0;", ", %r2;")}
    ld.shared.u32 %r6, [%r4];
    add.u32 %r7, %r7, %r6;
    mbarrier.arrive.shared.b64 _, [%r10];
    xor.b32 %r2, %r2, 1;
    add.u32 %r3, %r3, 1;
    setp.lt.u32 %p2, %r3, 7;
    @%p2 bra read;
    {OUT}
    st.global.u32 [%d1+-128], %r7;
end:
"""
    machine = Handwritten()
    out = machine.array(np.zeros(32, np.uint32))
    machine.run(body, out, threads=64)
    assert machine.values(out, np.zeros(32, np.uint32)).tolist() == [7 * lane + 21 for lane in range(32)]


def test_a_state_names_the_phase_that_it_was_taken_in() -> None:
    body = f"""{OUT}
    mbarrier.init.shared.b64 [%r1], 2;
    mbarrier.arrive.shared.b64 %d2, [%r1];
    mbarrier.test_wait.shared.b64 %p1, [%r1], %d2;
    mbarrier.arrive.shared.b64 %d3, [%r1];
    mbarrier.test_wait.shared.b64 %p2, [%r1], %d3;
    mbarrier.pending_count.b64 %r2, %d3;
    mbarrier.arrive_drop.shared.b64 _, [%r1];
    mbarrier.arrive.shared.b64 %d3, [%r1];
    mbarrier.arrive.shared.b64 %d3, [%r1];
    mbarrier.pending_count.b64 %r3, %d3;
    selp.u32 %r4, 1, 0, %p1; selp.u32 %r5, 1, 0, %p2;
    st.global.v4.u32 [%d1], {{%r4, %r5, %r2, %r3}};
"""
    machine = Handwritten()
    out = machine.array(np.zeros(4, np.uint32))
    machine.run(body, out, threads=1)
    assert machine.values(out, np.zeros(4, np.uint32)).tolist() == [0, 1, 1, 1]


def test_copies_of_threads_arrive_at_an_mbarrier() -> None:
    body = f"""{OUT}
    {first("mbarrier.init.shared.b64 [%r1], 32;")}
    bar.sync 0;
    mad.lo.u32 %r2, %r0, 4, %r1;
    cp.async.ca.shared.global [%r2+16], [%d1], 4;
    cp.async.mbarrier.arrive.noinc.shared::cta.b64 [%r1];
    ld.shared.u32 %r3, [%r2+16];
    {wait()}
    ld.shared.u32 %r4, [%r2+16];
    shl.b32 %r4, %r4, 1;
    setp.ne.u32 %p1, %r3, 0xCDCDCDCD;
    @%p1 mov.u32 %r4, 0;
    st.global.u32 [%d1], %r4;
"""
    machine = Handwritten()
    out = machine.array(np.arange(32, dtype=np.uint32))
    machine.run(body, out)
    assert machine.values(out, np.zeros(32, np.uint32)).tolist() == [2 * lane for lane in range(32)]


@pytest.mark.parametrize(
    ("body", "error", "words"),
    [
        ("mbarrier.arrive.shared.b64 _, [%r1];", BarrierError, "never initialised"),
        (first("mbarrier.init.shared.b64 [%r1], 31;") + "bar.sync 0; mbarrier.arrive.shared.b64 _, [%r1], 2;",
         BarrierError, "more have arrived than the 31"),
        (first("mbarrier.init.shared.b64 [%r1], 33;") + "bar.sync 0; mbarrier.arrive.shared.b64 _, [%r1];" + wait(),
         StuckError, "32 threads of block .* wait for the mbarrier at byte 1024 .* parity 0: 1 of 33 arrivals and 0 b"),
        (first("mbarrier.init.shared.b64 [%r1], 1; mbarrier.arrive.expect_tx.shared.b64 _, [%r1], 48;") + wait(),
         StuckError, "0 of 1 arrivals and 48 bytes are missing"),
        ("mbarrier.init.shared.b64 [%r1], 0x100000;", BarrierError, "counts up to 1048575"),
        ("mbarrier.arrive.shared.b64.sometimes _, [%r1];", UnknownInstructionError, "sometimes"),
        ("mbarrier.try_wait.parity.suspended.b64 %p1, [%r1], 0;", UnknownInstructionError, "suspended"),
        ("fence.proxy.everything;", UnknownInstructionError, "everything"),
    ],
)  # fmt: skip
def test_mistakes_at_mbarriers_are_named(body: str, error: type[Exception], words: str) -> None:
    with pytest.raises(error, match=words):
        Handwritten().run(body)
