"""Coalesced accesses of global memory, native code: lanes side by side, or all at the same address.

A unit of 16 cells has one record for the last write of all of them and one for the last read: a word, the block, and a
form, which says which thread has which cell. An access of the whole unit is compared with them by a few numbers. Where
only a part is accessed, where another block was, or another thread since the last barrier, the unit gets cells of its
own; these are looked at by loops without branches, which LLVM makes vector code of, and one by one where something is
young.
"""

from __future__ import annotations

from triptych.targets.cpu.sanitizer import shadow_layout as at
from triptych.targets.cpu.sanitizer.global_code import STRETCH, TOUCH
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
from triptych.targets.cpu.sanitizer.happens_before_code import clock_place, field, put
from triptych.targets.cpu.sanitizer.llvm_writer import Function, Number
from triptych.targets.cpu.sanitizer.shadow_code import site_of, value_of
from triptych.targets.cpu.sanitizer.spin_locks import named

_QUIET, _BECOME = "triptych_check_global_quiet", "triptych_check_global_become"
_UNIT, _PART = "triptych_check_global_unit", "triptych_check_global_part"
_KNOWN = "triptych_check_global_known"
_CELLS = [("state", "ptr"), ("cells", "ptr"), ("cell", "i64"), ("end", "i64"), ("form", "i32"), ("kind", "i32")]
_IN_UNIT = (1 << at.UNIT_BITS) - 1
_AHEAD = 128
"""Bytes from the records of an access to those that the next warps will need: a lock waits for what is on its way."""


def global_stretch_code() -> str:
    """All functions of this file."""
    return _is_quiet() + _become() + _part() + _unit() + _known() + _stretch()


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


def _is_strange(f: Function, state: Number, record: Number, form: Number, several: Number) -> Number:
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
    with f.when(is_apart(f, unit) | _is_strange(f, state, written, form, word & at.SEVERAL)):
        f.give(0, "i1")
    with f.when((kind & at.WRITES_MEMORY).differs(0)):
        with f.when(_is_strange(f, state, read, form, word & at.SEVERAL)):
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


def _stretch() -> str:
    """`stretch(state, base, cells, shift, first, last, size, kind, site, values)`: so many cells, plainly.

    Either 2^`shift` cells for each lane from `first` on, or (`BY_ONE`) all of them by `first` and `last`.
    """
    numbers = [("base", "i64"), ("cells", "i64"), ("shift", "i64"), ("first", "i32"), ("last", "i32")]
    given = [*numbers, ("size", "i32"), ("kind", "i32"), ("site", "i32"), ("values", "ptr")]
    f = Function(STRETCH, "void", [("state", "ptr"), *given], "noinline")
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
