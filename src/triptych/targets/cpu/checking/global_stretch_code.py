"""Native code of what most accesses of global memory are: the lanes of a warp side by side.

Cells are looked at by loops without branches, which LLVM makes vector code of. A read is compared with nothing in a
page that nobody has written in this launch, nor a write with reads where nobody has read. Where another block was, or
another thread since the last barrier, cells are looked at one by one.
"""

from __future__ import annotations

from triptych.targets.cpu.checking import shadow_layout as at
from triptych.targets.cpu.checking.global_code import STRETCH, TOUCH
from triptych.targets.cpu.checking.global_pages_code import HOLD_PAGE, is_of_launch, leave_page, page_key
from triptych.targets.cpu.checking.llvm_writer import Function, Number
from triptych.targets.cpu.checking.order_code import clock_place, field, put
from triptych.targets.cpu.checking.shadow_code import value_of
from triptych.targets.cpu.checking.spin_locks import named

_QUIET, _BECOME = "triptych_check_global_quiet", "triptych_check_global_become"
_CELLS = [("page", "ptr"), ("cell", "i64"), ("count", "i64"), ("thread", "i64"), ("shift", "i64")]
"""Cells of a page; the number of the thread that accesses cell i is (thread + i) >> shift."""


def global_stretch_code() -> str:
    """All functions of this file."""
    return _is_quiet() + _become() + _stretch()


def _rows(f: Function, page: Number, cell: Number, writes: int) -> tuple[Number, Number]:
    """The words and the blocks of cells."""
    words, blocks = (at.PAGE_WRITES, at.PAGE_WRITERS) if writes else (at.PAGE_READS, at.PAGE_READERS)
    return f.at(f.at(page, words, "i8"), cell, "i64"), f.at(f.at(page, blocks, "i8"), cell, "i32")


def _is_quiet() -> str:
    """`quiet(state, page, cell, count, thread, shift, kind)`: whether nothing there has to be looked at."""
    f = Function(_QUIET, "i1", [("state", "ptr"), *_CELLS, ("kind", "i32")], "noinline")
    state, page, cell, count, thread, shift, kind = f.parameters
    mine, block = field(f, state, at.SERIAL), field(f, state, at.BLOCK_TIME).to("i64") << 32
    strange, since = f.variable("i64", 0), f.load("i32", named(f, "@first_block"))

    def look(writes: int) -> None:
        words, blocks = _rows(f, page, cell, writes)
        with f.count(0, count) as i:
            word, by = f.load("i64", f.at(words, i, "i64")), f.load("i32", f.at(blocks, i, "i32"))
            other = ((word ^ ((thread + i) >> shift)) & (at.THREAD_MASK | at.SEVERAL)).differs(0)
            young = by.differs(mine) | ((word >= block) & other)
            strange.set(strange.now | (((by & at.SERIAL_MASK) >= since) & young).to("i64"))

    with f.when(is_of_launch(f, field(f, page, at.PAGE_WRITER))):
        look(1)
    written = (kind & at.WRITES_MEMORY).differs(0)
    with f.when(written & is_of_launch(f, field(f, page, at.PAGE_READER))):
        look(0)
    f.line(f"ret i1 {strange.now.equals(0).name}")
    return f.text()


def _become() -> str:
    """`become(state, page, cell, count, thread, shift, kind, word)`: these accesses are the last ones."""
    f = Function(_BECOME, "void", [("state", "ptr"), *_CELLS, ("kind", "i32"), ("word", "i64")], "noinline")
    state, page, cell, count, thread, shift, kind, word = f.parameters
    mine, since = field(f, state, at.SERIAL), f.load("i32", named(f, "@first_block"))

    def store(writes: int) -> None:
        words, blocks = _rows(f, page, cell, writes)
        with f.count(0, count) as i:
            f.store(word | ((thread + i) >> shift), f.at(words, i, "i64"))
        with f.count(0, count) as i:
            f.store(mine, f.at(blocks, i, "i32"))

    with f.when((kind & at.WRITES_MEMORY).differs(0)):
        store(1)
        put(f, page, at.PAGE_WRITER, mine)
        f.give()
    with f.when(is_of_launch(f, field(f, page, at.PAGE_READER)) ^ 1):
        store(0)
        put(f, page, at.PAGE_READER, mine)
        f.give()
    put(f, page, at.PAGE_READER, mine)
    words, blocks = _rows(f, page, cell, 0)
    with f.count(0, count) as i:
        place, by = f.at(words, i, "i64"), f.load("i32", f.at(blocks, i, "i32"))
        before, made = f.load("i64", place), word | ((thread + i) >> shift)
        together = ((before ^ made) >> 32).equals(0) & ((before ^ made) & at.THREAD_MASK).differs(0)
        several = by.equals(mine) & (together | (before & at.SEVERAL).differs(0))
        f.store(made | f.select(several, at.SEVERAL, 0, "i64"), place)
    with f.count(0, count) as i:
        place = f.at(blocks, i, "i32")
        by = f.load("i32", place)
        other = ((by & at.SERIAL_MASK) >= since) & by.differs(mine)
        f.store(mine | f.select(other, at.SEVERAL_BLOCKS, 0, "i32"), place)
    f.line("ret void")
    return f.text()


def _stretch() -> str:
    """`stretch(state, base, first, active, size, kind, site, values)`: so many lanes, `size` bytes each, plainly."""
    numbers = [("size", "i32"), ("kind", "i32"), ("site", "i32"), ("values", "ptr")]
    given = [("state", "ptr"), ("base", "i64"), ("first", "i32"), ("active", "i64"), *numbers]
    f = Function(STRETCH, "void", given, "noinline")
    state, base, first, active, size, kind, site, values = f.parameters
    grain = field(f, state, at.GLOBAL_GRAIN)
    shift = f.call("llvm.cttz.i32", "i32", [size >> grain, f.number(1, "i1")]).to("i64")
    grain = grain.to("i64")
    begin = base >> grain
    end = begin + (active << shift)
    now = f.load("i32", clock_place(f, state, first >> field(f, state, at.LANES))).to("i64") << 32
    word = now | (site << at.THREAD_BITS).to("i64")
    number = f.variable("i64", begin)
    with f.during(lambda: number.now < end):
        here = number.now
        behind = (here | ((1 << at.PAGE_BITS) - 1)) + 1
        stop = f.select(behind < end, behind, end, "i64")
        page = f.call(HOLD_PAGE, "ptr", [page_key(here, grain)])
        with f.when(page.to("i64").differs(0)):
            cell, count = here & ((1 << at.PAGE_BITS) - 1), stop - here
            thread = (first.to("i64") << shift) + (here - begin)
            cells = [state, page, cell, count, thread, shift, kind]
            quiet = f.call(_QUIET, "i1", cells)
            with f.when(quiet):
                f.call(_BECOME, "void", [*cells, word])
            with f.when(quiet ^ 1), f.count(here, stop) as each:
                lane = ((each - begin) >> shift).to("i32")
                address, value = base + lane.to("i64") * size.to("i64"), value_of(f, values, lane, size)
                place = each & ((1 << at.PAGE_BITS) - 1)
                f.call(TOUCH, "void", [state, page, place, first + lane, kind, site, address, size, value])
            leave_page(f, page)
        number.set(stop)
    f.line("ret void")
    return f.text()
