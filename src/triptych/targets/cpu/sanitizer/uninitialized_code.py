"""Uninitialized registers, native code: the use of such a value is reported, with the read it is from."""

from __future__ import annotations

from triptych.sanitizer.findings import Kind
from triptych.targets.cpu.sanitizer.finding_code import RECORD
from triptych.targets.cpu.sanitizer.happens_before_code import STATE
from triptych.targets.cpu.sanitizer.llvm_writer import Function

UNSET = "triptych_check_unset"
_SITE_BITS = 16


def unset_code() -> str:
    """`unset(origins, active, first, width, site)`: an origin is the read (from 1 on) and the cell, or 0."""
    numbers = (("active", "i64"), ("first", "i32"), ("width", "i32"), ("site", "i32"))
    f = Function(UNSET, "void", [("origins", "ptr"), *numbers], "noinline")
    origins, active, first, width, site = f.parameters
    state = f.call(STATE, "ptr", ())
    kind = f.number(int(Kind.UNSET_REGISTER), "i32")
    with f.count(0, width) as lane:
        origin = f.load("i32", f.at(origins, lane, "i32"))
        is_active = ((active >> lane.to("i64")) & 1).differs(0)
        with f.when(is_active & origin.differs(0)):
            thread, read = first + lane, (origin >> _SITE_BITS) - 1
            cell = origin & ((1 << _SITE_BITS) - 1)
            f.call(RECORD, "void", [state, kind, read, site, thread, thread, cell])
    f.line("ret void")
    return f.text()
