"""Barrier statistics of `check --hints`, native code: who arrives, alone or with others, and which stay incomplete.

Nothing here is wrong by itself. It is told as findings are, and whoever collects looks for what was so in every run.
"""

from __future__ import annotations

from triptych.sanitizer.findings import Meeting
from triptych.targets.cpu.sanitizer import shadow_layout as at
from triptych.targets.cpu.sanitizer.finding_code import RECORD
from triptych.targets.cpu.sanitizer.happens_before_code import COME, field
from triptych.targets.cpu.sanitizer.llvm_writer import Function, Number

BLOCK_ENDED = "triptych_check_meetings_ended"


def meeting_code() -> str:
    """All functions of this file."""
    return _come() + _ended()


def _come() -> str:
    """`come(state, mask, first, place, count)`: lanes come to a site, the low half of a place, and to a barrier."""
    parameters = [("state", "ptr"), ("mask", "i64"), ("first", "i32"), ("place", "i64"), ("count", "i32")]
    f = Function(COME, "void", parameters, "noinline cold")
    state, mask, first, place, count = f.parameters
    site, barrier = place.to("i32"), (place >> 32).to("i32")
    alone = (mask & (mask - 1)).equals(0)
    kind = f.select(alone, Meeting.ALONE.value, Meeting.WITH_OTHERS.value, "i32")
    thread = first + f.call("llvm.cttz.i64", "i64", [mask, f.number(0, "i1")]).to("i32")
    f.call(RECORD, "void", [state, kind, site, site, thread, thread, f.number(0, "i32")])
    with f.when(barrier.differs(0)):
        f.store(site + 1, _word(f, state, at.BARRIER_SITES, barrier - 1))
        f.store(count, _word(f, state, at.EXPECTED, barrier - 1))
    f.line("ret void")
    return f.text()


def _ended() -> str:
    """`ended(state)`: a block has ended; a named barrier that some have come to since it was last complete is left."""
    f = Function(BLOCK_ENDED, "void", [("state", "ptr")], "noinline cold")
    (state,) = f.parameters
    with f.count(0, f.number(at.BARRIERS, "i32")) as barrier:
        site = f.load("i32", _word(f, state, at.BARRIER_SITES, barrier))
        with f.when(site.differs(0)):
            arrived = f.load("i32", _word(f, state, at.ARRIVED, barrier))
            expected = f.load("i32", _word(f, state, at.EXPECTED, barrier))
            expected = f.select(expected.equals(0), field(f, state, at.THREADS), expected, "i32")
            kind = f.select(arrived.equals(0), Meeting.COMPLETE.value, Meeting.INCOMPLETE.value, "i32")
            f.call(RECORD, "void", [state, kind, site - 1, site - 1, arrived, expected, f.number(0, "i32")])
    f.line("ret void")
    return f.text()


def _word(f: Function, state: Number, offset: int, barrier: Number) -> Number:
    return f.at(f.at(state, offset, "i8"), barrier, "i32")
