"""Coalesced accesses, native code: lanes side by side, all at one address, or each at a cell.

Of shared memory: the first two answer whether nothing but old accesses was there; then it has become the last access.
Otherwise nothing has changed, and threads are looked at one by one (`shadow_code`). Of global memory the same is asked
of units of a page (`global_pages_code`), and of cells of their own where a unit is not enough (`global_code`).
"""

from __future__ import annotations

from collections.abc import Callable

from triptych.targets.cpu.sanitizer import shadow_layout as at
from triptych.targets.cpu.sanitizer.global_code import GLOBAL_RANGE, TOUCH
from triptych.targets.cpu.sanitizer.global_pages_code import (
    FIND_PAGE,
    HOLD_CELLS,
    HOLD_PAGE,
    first_place,
    is_apart,
    is_of_launch,
    leave_cells,
    leave_page,
    page_key,
    place_in_page,
    thread_in,
    unit_of,
)
from triptych.targets.cpu.sanitizer.happens_before_code import clock_place, field, put, site_of
from triptych.targets.cpu.sanitizer.llvm_writer import Function, Number, named
from triptych.targets.cpu.sanitizer.shadow_code import PARAMETERS, Stores, last_read, nobody_reads, value_of

_USUAL = 32
"""Cells of a warp whose lanes have one each."""


def coalesced_access_code() -> str:
    """All functions of this file."""
    return _range() + _one() + _scattered()


def _range() -> str:
    """`range(state, byte, first, width, size, kind, site)`: `width` lanes side by side, `size` bytes each."""
    names = ("byte", "first", "width", "size", "kind", "site")
    f = Function("triptych_check_range", "i1", [("state", "ptr"), *((name, "i32") for name in names)], "noinline")
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


_QUIET, _BECOME = "triptych_check_global_quiet", "triptych_check_global_become"
_UNIT, _PART = "triptych_check_global_unit", "triptych_check_global_part"
_KNOWN = "triptych_check_global_known"
_CELLS = [("state", "ptr"), ("cells", "ptr"), ("cell", "i64"), ("end", "i64"), ("form", "i32"), ("kind", "i32")]
_IN_UNIT = (1 << at.UNIT_BITS) - 1
_AHEAD = 128
"""Bytes from the records of an access to those that the next warps will need: a lock waits for what is on its way."""


def global_coalesced_access_code() -> str:
    """All functions of this file."""
    return _is_quiet() + _become() + _part() + _unit() + _known() + _global_range()


def _shift(form: Number) -> Number:
    return form & ((1 << at.FORM_BITS) - 1)


def _rows(f: Function, cells: Number, writes: int) -> tuple[Number, Number]:
    """The words and the blocks of cells."""
    words, blocks = (at.CELL_WRITES, at.CELL_WRITERS) if writes else (at.CELL_READS, at.CELL_READERS)
    return f.at(cells, words, "i8"), f.at(cells, blocks, "i8")


def _is_quiet() -> str:
    """`quiet(state, cells, cell, end, form, kind, word)`: whether nothing there has to be looked at."""
    f = Function(_QUIET, "i1", [*_CELLS, ("word", "i64")], "noinline")
    state, cells, cell, end, form, kind, word = f.parameters
    mine, block = field(f, state, at.SERIAL), field(f, state, at.BLOCK_TIME).to("i64") << 32
    strange, since, shift = f.variable("i64", 0), f.load("i32", named(f, "@first_block")), _shift(form)
    several = word & at.SEVERAL

    def look(writes: int) -> None:
        words, blocks = _rows(f, cells, writes)
        with f.count(cell, end) as i:
            before, by = f.load("i64", f.at(words, i, "i64")), f.load("i32", f.at(blocks, i, "i32"))
            mark = thread_in(form, i, shift) | several
            other = ((before ^ mark) & (at.THREAD_MASK | at.SEVERAL)).differs(0)
            young = by.differs(mine) | ((before >= block) & other)
            strange.set(strange.now | (((by & at.SERIAL_MASK) >= since) & young).to("i64"))

    look(1)
    with f.when((kind & at.WRITES_MEMORY).differs(0)):
        look(0)
    f.line(f"ret i1 {strange.now.equals(0).name}")
    return f.text()


def _become() -> str:
    """`become(state, cells, cell, end, form, kind, word)`: these accesses are the last ones."""
    f = Function(_BECOME, "void", [*_CELLS, ("word", "i64")], "noinline")
    state, cells, cell, end, form, kind, word = f.parameters
    mine, since = field(f, state, at.SERIAL), f.load("i32", named(f, "@first_block"))
    shift = _shift(form)
    with f.when((kind & at.WRITES_MEMORY).differs(0)):
        words, blocks = _rows(f, cells, 1)
        with f.count(cell, end) as i:
            f.store(word | thread_in(form, i, shift), f.at(words, i, "i64"))
        with f.count(cell, end) as i:
            f.store(mine, f.at(blocks, i, "i32"))
        f.give()
    words, blocks = _rows(f, cells, 0)
    with f.count(cell, end) as i:
        place, by = f.at(words, i, "i64"), f.load("i32", f.at(blocks, i, "i32"))
        before, made = f.load("i64", place), word | thread_in(form, i, shift)
        together = ((before ^ made) >> 32).equals(0) & ((before ^ made) & at.THREAD_MASK).differs(0)
        several = by.equals(mine) & (together | (before & at.SEVERAL).differs(0))
        f.store(made | f.select(several, at.SEVERAL, 0, "i64"), place)
    with f.count(cell, end) as i:
        place = f.at(blocks, i, "i32")
        by = f.load("i32", place)
        other = ((by & at.SERIAL_MASK) >= since) & by.differs(mine)
        f.store(mine | f.select(other, at.SEVERAL_BLOCKS, 0, "i32"), place)
    f.line("ret void")
    return f.text()


_GIVEN = [("first", "i32"), ("last", "i32"), ("base", "i64"), ("size", "i32"), ("site", "i32"), ("values", "ptr")]
"""Of an access: the threads of its first lane and, where all read the same, its last, and where its memory begins."""


def _part() -> str:
    """`part(state, page, place, count, form, kind, word, first, last, base, size, site, values)`: cells of a unit."""
    numbers = [("place", "i64"), ("count", "i64"), ("form", "i32"), ("kind", "i32"), ("word", "i64")]
    f = Function(_PART, "void", [("state", "ptr"), ("page", "ptr"), *numbers, *_GIVEN], "noinline")
    state, page, place, count, form, kind, word, first, last, base, size, site, values = f.parameters
    cells = f.call(HOLD_CELLS, "ptr", [page, place])
    with f.when(cells.to("i64").equals(0)):
        f.give()
    cell = place & _IN_UNIT
    given = [state, cells, cell, cell + count, form, kind, word]
    quiet = f.call(_QUIET, "i1", given)
    with f.when(quiet):
        f.call(_BECOME, "void", given)
    with f.when(quiet ^ 1), f.count(cell, cell + count) as each:
        thread = thread_in(form, each, _shift(form)).to("i32")
        address, value = base + (thread - first).to("i64") * size.to("i64"), value_of(f, values, thread - first, size)
        f.call(TOUCH, "void", [state, cells, each, thread, kind, site, address, size, value])
        with f.when(last.differs(first)):
            f.call(TOUCH, "void", [state, cells, each, last, kind, site, address, size, value])
    leave_cells(f, cells)
    f.line("ret void")
    return f.text()


def _is_unordered(f: Function, state: Number, record: Number, form: Number, several: Number) -> Number:
    """Whether another block, or another thread since the last barrier, was at a unit."""
    word, by = field(f, record, at.UNIT_WORD, "i64"), field(f, record, at.UNIT_BLOCK)
    other = field(f, record, at.UNIT_FORM).differs(form) | ((word & at.SEVERAL) | several).differs(0)
    young = word >= (field(f, state, at.BLOCK_TIME).to("i64") << 32)
    return is_of_launch(f, by) & (by.differs(field(f, state, at.SERIAL)) | (young & other))


def _unit() -> str:
    """`unit(state, unit, form, kind, word)`: an access of all cells; gives whether it has become the last one."""
    names = [("state", "ptr"), ("unit", "ptr"), ("form", "i32"), ("kind", "i32"), ("word", "i64")]
    f = Function(_UNIT, "i1", names, "alwaysinline")
    state, unit, form, kind, word = f.parameters
    written, read = f.at(unit, at.UNIT_WRITE, "i8"), f.at(unit, at.UNIT_READ, "i8")
    mine, shift = field(f, state, at.SERIAL), _shift(form)
    with f.when(is_apart(f, unit) | _is_unordered(f, state, written, form, word & at.SEVERAL)):
        f.give(0, "i1")
    with f.when((kind & at.WRITES_MEMORY).differs(0)):
        with f.when(_is_unordered(f, state, read, form, word & at.SEVERAL)):
            f.give(0, "i1")
        _put(f, written, word, mine, form)
        f.give(1, "i1")
    before, by = field(f, read, at.UNIT_WORD, "i64"), field(f, read, at.UNIT_BLOCK)
    change = field(f, read, at.UNIT_FORM) ^ form
    own, same_time = by.equals(mine), ((before ^ word) >> 32).equals(0)
    mixed = (change & ((f.number(1 << at.FORM_BITS, "i32") << shift) - 1)).differs(0)
    with f.when(own & same_time & mixed):
        f.give(0, "i1")
    several = own & ((same_time & change.differs(0)) | (before & at.SEVERAL).differs(0))
    other = is_of_launch(f, by) & (own ^ 1)
    block = mine | f.select(other, at.SEVERAL_BLOCKS, 0, "i32")
    _put(f, read, word | f.select(several, at.SEVERAL, 0, "i64"), block, form)
    f.line("ret i1 1")
    return f.text()


def _put(f: Function, record: Number, word: Number, block: Number, form: Number) -> None:
    put(f, record, at.UNIT_WORD, word)
    put(f, record, at.UNIT_BLOCK, block)
    put(f, record, at.UNIT_FORM, form)


def _known() -> str:
    """`known(page, key, here, stop, site)`: whether blocks have read all of this by the same line, and none wrote it.

    Another read there adds nothing, so that nobody has to hold the page.
    """
    names = [("page", "ptr"), ("key", "i64"), ("here", "i64"), ("stop", "i64"), ("site", "i32")]
    f = Function(_KNOWN, "i1", names, "alwaysinline")
    page, key, here, stop, site = f.parameters
    start = place_in_page(f, page, here)
    number = f.variable("i64", start >> at.UNIT_BITS)
    end = ((start + (stop - here) - 1) >> at.UNIT_BITS) + 1
    with f.during(lambda: number.now < end):
        unit = unit_of(f, page, number.now << at.UNIT_BITS)
        written, by = field(f, unit, at.UNIT_WRITE + at.UNIT_BLOCK), field(f, unit, at.UNIT_READ + at.UNIT_BLOCK)
        other_line = site_of(field(f, unit, at.UNIT_READ + at.UNIT_WORD, "i64")).differs(site)
        by_many = is_of_launch(f, by) & (by & at.SEVERAL_BLOCKS).differs(0)
        with f.when(is_of_launch(f, written) | other_line | (by_many ^ 1)):
            f.give(0, "i1")
        number.set(number.now + 1)
    f.line(f"ret i1 {field(f, page, at.PAGE_KEY, 'i64').equals(key).name}")
    return f.text()


def _global_range() -> str:
    """`global_range(state, base, cells, shift, first, last, size, kind, site, values)`: so many cells, plainly.

    Either 2^`shift` cells for each lane from `first` on, or (`BY_ONE`) all of them by `first` and `last`.
    """
    numbers = [("base", "i64"), ("cells", "i64"), ("shift", "i64"), ("first", "i32"), ("last", "i32")]
    given = [*numbers, ("size", "i32"), ("kind", "i32"), ("site", "i32"), ("values", "ptr")]
    f = Function(GLOBAL_RANGE, "void", [("state", "ptr"), *given], "noinline")
    state, base, cells, shift, first, last, size, kind, site, values = f.parameters
    grain = field(f, state, at.GLOBAL_GRAIN).to("i64")
    begin = base >> grain
    end = begin + cells
    now = f.load("i32", clock_place(f, state, first >> field(f, state, at.LANES))).to("i64") << 32
    several = f.select(first.differs(last), at.SEVERAL, 0, "i64")
    word = now | (site << at.THREAD_BITS).to("i64") | several
    common = shift.equals(at.BY_ONE)
    phase = f.select(cells >= (1 << at.UNIT_BITS), begin & _IN_UNIT, 0, "i64").to("i32")
    number = f.variable("i64", begin)
    with f.during(lambda: number.now < end):
        here = number.now
        behind = (here | ((1 << at.PAGE_BITS) - 1)) + 1
        stop = f.select(behind < end, behind, end, "i64")
        key, known = page_key(here, grain), f.variable("i1", 0)
        found = f.call(FIND_PAGE, "ptr", [key])
        with f.when((kind & at.WRITES_MEMORY).equals(0) & found.to("i64").differs(0)):
            known.set(f.call(_KNOWN, "i1", [found, key, here, stop, site]))
        held = f.variable("ptr", named(f, "null"))
        with f.when(known.now ^ 1):
            held.set(f.call(HOLD_PAGE, "ptr", [found, key, phase]))
        with f.when(held.now.to("i64").differs(0)):
            page = held.now
            start = place_in_page(f, page, here)
            first_of_page = first_place(f, page)
            place, limit = f.variable("i64", start), start + (stop - here)
            soon = f.at(unit_of(f, page, limit), _AHEAD, "i8")
            f.line(f"call void @llvm.prefetch.p0(ptr {soon.name}, i32 1, i32 3, i32 1)")
            with f.during(lambda: place.now < limit):
                left = place.now
                behind = (left | _IN_UNIT) + 1
                right = f.select(behind < limit, behind, limit, "i64")
                begins = (left & _IN_UNIT).equals(0) | left.equals(first_of_page)
                ends = (right & _IN_UNIT).equals(0) | right.equals(first_of_page + (1 << at.PAGE_BITS))
                cell = f.select(common, 0, here - begin + (left - start) - (left & _IN_UNIT), "i64")
                form = ((((first.to("i64") << shift) + cell) << at.FORM_BITS) | shift).to("i32")
                done = f.variable("i1", 0)
                with f.when(begins & ends):
                    done.set(f.call(_UNIT, "i1", [state, unit_of(f, page, left), form, kind, word]))
                with f.when(done.now ^ 1):
                    part = [state, page, left, right - left, form, kind, word]
                    f.call(_PART, "void", [*part, first, last, base, size, site, values])
                place.set(right)
            leave_page(f, page)
        number.set(stop)
    f.line("ret void")
    return f.text()
