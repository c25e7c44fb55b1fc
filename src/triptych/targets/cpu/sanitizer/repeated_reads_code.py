"""Repeated reads of loops, native code: all their addresses, and whether this block has written what is there."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager

from triptych.targets.cpu.sanitizer import shadow_layout as at
from triptych.targets.cpu.sanitizer.happens_before_code import field
from triptych.targets.cpu.sanitizer.llvm_writer import Function, Number

WRITTEN = "triptych_check_written"
_WRITTEN_AT = "triptych_check_written_at"


def repeated_reads_code() -> str:
    """All functions of this file."""
    return _written() + _written_at()


@contextmanager
def shifts(f: Function, levels: Number) -> Iterator[Number]:
    """What is written inside happens for every iteration of all loops, with the bytes behind the first."""
    numbers = [(field(f, levels, 16 * i, "i64"), field(f, levels, 16 * i + 8, "i64")) for i in range(at.LEVELS)]
    (step, count), *rest = numbers
    assert len(rest) == 2
    with f.count(0, rest[1][1]) as k, f.count(0, rest[0][1]) as j, f.count(0, count) as i:
        yield i * step + j * rest[0][0] + k * rest[1][0]


def _written() -> str:
    """`written(state, entry)`: whether this block has written all that reads of the log have read."""
    f = Function(WRITTEN, "i1", [("state", "ptr"), ("entry", "ptr")], "noinline")
    state, entry = f.parameters
    with f.when((field(f, entry, at.ENTRY_FORM) & at.IS_REPEATED).equals(0)):
        f.give(f.call(_WRITTEN_AT, "i1", [state, entry, f.number(0, "i64")]), "i1")
    with shifts(f, f.at(entry, at.ENTRY_LEVELS, "i8")) as shift:
        whole = f.call(_WRITTEN_AT, "i1", [state, entry, shift])
        with f.when(whole ^ 1):
            f.give(0, "i1")
    f.line("ret i1 1")
    return f.text()


def _written_at() -> str:
    """`written_at(state, entry, shift)`: the same for one of the reads, so many bytes behind the first."""
    f = Function(_WRITTEN_AT, "i1", [("state", "ptr"), ("entry", "ptr"), ("shift", "i64")], "noinline")
    state, entry, shift = f.parameters
    mask, width = field(f, entry, at.ENTRY_MASK, "i64"), field(f, entry, at.ENTRY_WIDTH)
    size = field(f, entry, at.ENTRY_SIZE).to("i64")
    from_here = shift - field(f, state, at.SHARED, "i64")
    base, stride = (field(f, entry, offset, "i64") for offset in (at.ENTRY_BASE, at.ENTRY_STRIDE))
    is_run = (field(f, entry, at.ENTRY_FORM) & at.IS_RUN).differs(0)
    from_first = (mask & (mask + 1)).equals(0) & mask.differs(0)
    active = f.select(stride.equals(0), 1, f.call("llvm.ctpop.i64", "i64", [mask]), "i64")
    inside = (base + from_here + size * active - 1) < field(f, state, at.SHARED_BYTES, "i64")
    with f.when(is_run & (stride.equals(size) | stride.equals(0)) & from_first & inside):
        f.give(_is_whole(f, state, base + from_here, size * active), "i1")
    with f.count(0, width) as lane, f.when(((mask >> lane.to("i64")) & 1).differs(0)):
        address = f.variable("i64", base + stride * lane.to("i64"))
        with f.when(is_run ^ 1):
            address.set(f.load("i64", f.at(f.at(entry, at.ENTRY_ADDRESSES, "i8"), lane, "i64")))
        with f.when(_is_whole(f, state, address.now + from_here, size) ^ 1):
            f.give(0, "i1")
    f.line("ret i1 1")
    return f.text()


def _is_whole(f: Function, state: Number, byte: Number, size: Number) -> Number:
    """Whether this block has written all cells of so many bytes; what is not shared memory does not count."""
    grain, writes = field(f, state, at.GRAIN).to("i64"), field(f, state, at.WRITES, "ptr")
    start = field(f, state, at.START).to("i64") << 32
    last = byte + size - 1
    limit = field(f, state, at.SHARED_BYTES, "i64")
    new = f.variable("i64", 0)
    with f.when((byte < limit) & (last < limit)), f.count(byte >> grain, (last >> grain) + 1) as cell:
        new.set(new.now | (f.load("i64", f.at(writes, cell, "i64")) < start).to("i64"))
    return new.now.equals(0)
