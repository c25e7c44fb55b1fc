"""Coalesced accesses, native code: lanes side by side, all at one address, or each at a cell.

The first two answer whether nothing but old accesses was there; then it has become the last access. Otherwise nothing
has changed, and threads are looked at one by one (`shadow_code`).
"""

from __future__ import annotations

from collections.abc import Callable

from triptych.targets.cpu.sanitizer import shadow_layout as at
from triptych.targets.cpu.sanitizer.happens_before_code import clock_place, field
from triptych.targets.cpu.sanitizer.llvm_writer import Function, Number
from triptych.targets.cpu.sanitizer.shadow_code import PARAMETERS, Stores, last_read, nobody_reads

_USUAL = 32
"""Cells of a warp whose lanes have one each."""


def stretch_code() -> str:
    """All functions of this file."""
    return _stretch() + _one() + _scattered()


def _stretch() -> str:
    """`stretch(state, byte, first, width, size, kind, site)`: `width` lanes side by side, `size` bytes each."""
    names = ("byte", "first", "width", "size", "kind", "site")
    f = Function("triptych_check_stretch", "i1", [("state", "ptr"), *((name, "i32") for name in names)], "noinline")
    state, byte, first, width, size, kind, site = f.parameters
    grain = field(f, state, at.GRAIN)
    each = size >> grain
    shift = f.call("llvm.cttz.i32", "i32", [each, f.number(1, "i1")])
    aligned = (byte & ((f.number(1, "i32") << grain) - 1)).equals(0)
    regular = aligned & (f.number(1, "i32") << shift).equals(each)
    with f.when(regular ^ 1):
        f.give(0, "i1")
    lanes = _Lanes(f, state, (byte >> grain).to("i64"), first, site)
    cells = (width << shift).to("i64")
    with f.when(cells.equals(_USUAL) & shift.equals(0)):
        lanes.compare(f.number(_USUAL, "i64"), f.number(0, "i64"), kind)
        f.give(1, "i1")
    lanes.compare(cells, shift.to("i64"), kind)
    f.line("ret i1 1")
    return f.text()


class _Lanes:
    """Lanes side by side that begin at a cell."""

    def __init__(self, f: Function, state: Number, begin: Number, first: Number, site: Number) -> None:
        self._f, self._state, self._begin = f, state, begin
        self._warp = first >> field(f, state, at.LANES)
        self._first = first.to("i64")
        self._start, self._block = ((field(f, state, time).to("i64") << 32) for time in (at.START, at.BLOCK_TIME))
        now = f.load("i32", clock_place(f, state, self._warp)).to("i64") << 32
        self._word = now | (site << at.THREAD_BITS).to("i64")

    def compare(self, cells: Number, shift: Number, kind: Number) -> None:
        """Leave with 0 if one must be looked at; `1 << shift` cells are a lane's. A known number leaves no loops."""
        f, start, block = self._f, self._start, self._block
        writes = f.at(field(f, self._state, at.WRITES, "ptr"), self._begin, "i64")
        with f.when(kind.equals(at.READS_MEMORY)):
            _if_quiet(f, cells, writes, lambda found, i: _is_strange(found, self._thread(i, shift), start, block))
            self._read(cells, shift)
            f.give(1, "i1")
        _if_quiet(f, cells, writes, lambda found, i: _is_young(found, self._thread(i, shift), block))
        self._compare_with_reads(cells, shift)
        with f.count(0, cells) as i:
            f.store(self._word | self._thread(i, shift), f.at(writes, i, "i64"))

    def _thread(self, cell: Number, shift: Number) -> Number:
        return self._first + (cell >> shift)

    def _reads(self, warp: Number) -> Number:
        f = self._f
        row = warp.to("i64") * field(f, self._state, at.CELL_COUNT, "i64")
        return f.at(f.at(field(f, self._state, at.READS, "ptr"), self._begin, "i64"), row, "i64")

    def _read(self, cells: Number, shift: Number) -> None:
        f, mine = self._f, self._reads(self._warp)
        with f.count(0, cells) as i:
            _note_read(f, f.at(mine, i, "i64"), self._word | self._thread(i, shift))

    def _compare_with_reads(self, cells: Number, shift: Number) -> None:
        f, time = self._f, field(self._f, self._state, at.BLOCK_TIME)
        warps = f.select(nobody_reads(f, self._state), 0, field(f, self._state, at.WARPS), "i32")
        with f.count(0, warps) as other, f.when(f.load("i32", last_read(f, self._state, other)).equals(time)):
            theirs = self._reads(other)
            _if_quiet(f, cells, theirs, lambda found, i: _is_young(found, self._thread(i, shift), self._block))


def _is_strange(found: Number, thread: Number, start: Number, block: Number) -> Number:
    """Whether a read must be looked at: nobody has written there, or another thread since the last barrier."""
    return (found < start) | _is_young(found, thread, block)


def _is_young(found: Number, thread: Number, block: Number) -> Number:
    """Whether another thread was there since the last barrier, or several."""
    other = ((found ^ thread) & (at.THREAD_MASK | at.SEVERAL)).differs(0)
    return (found >= block) & other


def _if_quiet(f: Function, count: Number, words: Number, strange: Callable[[Number, Number], Number]) -> None:
    """Leave with 0 if any of the words is strange; one loop without branches."""
    seen = f.variable("i64", 0)
    with f.count(0, count) as i:
        seen.set(seen.now | strange(f.load("i64", f.at(words, i, "i64")), i).to("i64"))
    with f.when(seen.now.differs(0)):
        f.give(0, "i1")


def _one() -> str:
    """`one(state, byte, mask, first, size, site)`: the lanes of a mask read one place."""
    names = [("state", "ptr"), ("byte", "i32"), ("mask", "i64"), ("first", "i32"), ("size", "i32"), ("site", "i32")]
    f = Function("triptych_check_one", "i1", names, "noinline")
    state, byte, mask, first, size, site = f.parameters
    grain = field(f, state, at.GRAIN)
    begin, end = byte >> grain, ((byte + size - 1) >> grain) + 1
    warp = first >> field(f, state, at.LANES)
    start, block = ((field(f, state, offset).to("i64") << 32) for offset in (at.START, at.BLOCK_TIME))
    writes = field(f, state, at.WRITES, "ptr")
    with f.when(mask.equals(0)):
        f.give(1, "i1")
    seen = f.variable("i1", 0)
    with f.count(begin, end) as cell:
        found = f.load("i64", f.at(writes, cell, "i64"))
        seen.set(seen.now | (found < start) | (found >= block))
    with f.when(seen.now):
        f.give(0, "i1")
    lane = f.call("llvm.cttz.i64", "i64", [mask, f.number(1, "i1")])
    alone = (mask & (mask - 1)).equals(0)
    now = f.load("i32", clock_place(f, state, warp)).to("i64") << 32
    word = now | (site << at.THREAD_BITS).to("i64") | (first.to("i64") + lane) | f.select(alone, 0, at.SEVERAL, "i64")
    row = warp.to("i64") * field(f, state, at.CELL_COUNT, "i64")
    mine = f.at(field(f, state, at.READS, "ptr"), row, "i64")
    with f.count(begin, end) as cell:
        place = f.at(mine, cell, "i64")
        before = f.load("i64", place)
        same_time = ((before ^ word) >> 32).equals(0)
        other = ((before ^ word) & at.THREAD_MASK).differs(0) | (before & at.SEVERAL).differs(0)
        f.store(word | f.select(same_time & other, at.SEVERAL, 0, "i64"), place)
    f.line("ret i1 1")
    return f.text()


def _scattered() -> str:
    """`scattered(state, addresses, mask, first, ...)`: plain accesses of one cell each; writes where nobody reads.

    Lanes go one after the other, so that one which writes what a lane before it has written finds that.
    """
    given = [("state", "ptr"), ("addresses", "ptr"), *PARAMETERS, ("values", "ptr")]
    f = Function("triptych_check_scattered", "void", given, "noinline")
    state, addresses, mask, first, width, size, kind, site, values = f.parameters
    shared, limit = field(f, state, at.SHARED, "i64"), field(f, state, at.SHARED_BYTES, "i64")
    grain, warp = field(f, state, at.GRAIN).to("i64"), first >> field(f, state, at.LANES)
    start, block = ((field(f, state, offset).to("i64") << 32) for offset in (at.START, at.BLOCK_TIME))
    writes, row = field(f, state, at.WRITES, "ptr"), warp.to("i64") * field(f, state, at.CELL_COUNT, "i64")
    mine = f.at(field(f, state, at.READS, "ptr"), row, "i64")
    now = f.load("i32", clock_place(f, state, warp)).to("i64") << 32
    word = now | (site << at.THREAD_BITS).to("i64")
    reads_it = kind.equals(at.READS_MEMORY)
    stores = Stores(f, (addresses, mask), size, kind, values)
    with f.count(0, width) as lane, f.when(((mask >> lane.to("i64")) & 1).differs(0)):
        byte, thread = f.load("i64", f.at(addresses, lane, "i64")) - shared, first + lane
        cell = byte >> grain
        with f.when((byte + (size - 1).to("i64")) < limit):
            place = f.at(writes, cell, "i64")
            found = f.load("i64", place)
            strange = ((found < start) & reads_it) | (found >= block) | (cell << grain).differs(byte)
            with f.when(strange):
                value = stores.before(lane)
                f.call("triptych_check_lane", "void", [state, thread, byte.to("i32"), size, kind, site, value])
            made = word | thread.to("i64")
            with f.when((strange ^ 1) & reads_it):
                _note_read(f, f.at(mine, cell, "i64"), made)
            with f.when((strange | reads_it) ^ 1):
                f.store(made, place)
    f.line("ret void")
    return f.text()


def _note_read(f: Function, place: Number, made: Number) -> None:
    """A read by a lane, beside one by another lane of the warp at the same time."""
    before = f.load("i64", place)
    same_time = ((before ^ made) >> 32).equals(0)
    other = ((before ^ made) & (at.THREAD_MASK | at.SEVERAL)).differs(0)
    f.store(made | f.select(same_time & other, at.SEVERAL, 0, "i64"), place)
