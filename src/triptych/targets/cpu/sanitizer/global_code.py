"""Shadow of global memory, native code: blocks are concurrent, in whatever order this machine runs them.

A cell has the last write and the last read, as words that shared memory has too, and the blocks that made them. Within
a block order is what it is for shared memory; between blocks it comes from releases (`global_happens_before_code`).
Here lanes are looked at one by one; coalesced accesses, which are most, in `coalesced_access_code`.
"""

from __future__ import annotations

from triptych.sanitizer.findings import Kind
from triptych.targets.cpu.sanitizer import shadow_layout as at
from triptych.targets.cpu.sanitizer.finding_code import RECORD
from triptych.targets.cpu.sanitizer.global_happens_before_code import KNOWS_BLOCK
from triptych.targets.cpu.sanitizer.global_pages_code import (
    FIND_PAGE,
    HOLD_CELLS,
    HOLD_PAGE,
    is_of_launch,
    leave_cells,
    leave_page,
    page_key,
    place_in_page,
)
from triptych.targets.cpu.sanitizer.happens_before_code import (
    KNOWS,
    STATE,
    clock_place,
    field,
    put,
    site_of,
    stamp_of,
    thread_of,
)
from triptych.targets.cpu.sanitizer.llvm_writer import Function, Number, named
from triptych.targets.cpu.sanitizer.read_log_code import shifts
from triptych.targets.cpu.sanitizer.shadow_code import PARAMETERS, Stores, value_of

ACCESS_GLOBAL = "triptych_check_global"
GLOBAL_RUN = "triptych_check_global_run"
GLOBAL_LOOP = "triptych_check_global_loop"
GLOBAL_RUN_LOOP = "triptych_check_global_run_loop"
GLOBAL_RANGE = "triptych_check_global_range"
TOUCH = "triptych_check_touch"
_LANES = "triptych_check_global_lanes"
_MOST_CELLS = 1 << 12
"""Of one lane of those that are looked at together."""


def global_code() -> str:
    """All functions of this file."""
    return "".join((_conflict(), _touch(), _lanes(), _access(), _run(), _access_loop(), _run_loop()))


def _conflict() -> str:
    """`conflict(state, kind, word, block, thread, site, atomic)`: an earlier access that this thread may not know."""
    names = [("state", "ptr"), ("kind", "i32"), ("word", "i64"), ("block", "i32"), ("thread", "i32"), ("site", "i32")]
    f = Function("triptych_check_conflict", "void", names, "noinline")
    state, kind, word, block, thread, site = f.parameters
    mine = field(f, state, at.SERIAL)
    other, stamp, several = thread_of(word), stamp_of(word), (word & at.SEVERAL).differs(0)
    who = f.select(other.equals(thread) & several, other ^ 1, other, "i32")
    many = (block & at.SEVERAL_BLOCKS).differs(0)
    before = f.select(many, at.MANY_BLOCKS, block & at.SERIAL_MASK, "i32")
    known = f.variable("i1", 0)
    with f.when(before.equals(mine)):
        known.set(other.equals(thread) & (several ^ 1))
        with f.when(known.now ^ 1):
            known.set(f.call(KNOWS, "i1", [state, thread, who, stamp]))
    with f.when(before.differs(mine)):
        known.set(f.call(KNOWS_BLOCK, "i1", [state, thread, before, other, stamp]))
    with f.when(known.now ^ 1):
        put(f, state, at.OTHER_BLOCK, f.select(before.equals(mine), 0, before, "i32"))
        f.call(RECORD, "void", [state, kind, site_of(word), site, who, thread, f.number(0, "i32")])
        put(f, state, at.OTHER_BLOCK, f.number(0, "i32"))
    f.line("ret void")
    return f.text()


def _touch() -> str:
    """`touch(state, cells, cell, thread, kind, site, same)`: compare with what was there, and become the last."""
    names = [("state", "ptr"), ("cells", "ptr"), ("cell", "i64"), ("thread", "i32"), ("kind", "i32"), ("site", "i32")]
    f = Function(TOUCH, "void", [*names, ("address", "i64"), ("size", "i32"), ("value", "ptr")])
    state, cells, cell, thread, kind, site, address, size, value = f.parameters
    mine = field(f, state, at.SERIAL)
    written, read = (f.at(f.at(cells, offset, "i8"), cell, "i64") for offset in (at.CELL_WRITES, at.CELL_READS))
    writer, reader = (f.at(f.at(cells, offset, "i8"), cell, "i32") for offset in (at.CELL_WRITERS, at.CELL_READERS))
    reads, writes = (kind & at.READS_MEMORY).differs(0), (kind & at.WRITES_MEMORY).differs(0)
    atomic, narrow = (kind & at.IS_ATOMIC).differs(0), (kind & at.IS_NARROW).differs(0)
    last, who = f.load("i64", written), f.load("i32", writer)
    either = narrow | (who >= at.NARROW_BLOCK)
    excused = atomic & (last & at.ATOMIC).differs(0) & ((either ^ 1) | (who & at.SERIAL_MASK).equals(mine))
    own = who.equals(mine) & thread_of(last).equals(thread)
    with f.when(is_of_launch(f, who) & (excused ^ 1) & (own ^ 1)):
        found = f.variable("i32", f.select(reads, Kind.READ_AFTER_WRITE.value, Kind.WRITE_AFTER_WRITE.value, "i32"))
        with f.when((reads ^ 1) & value.to("i64").differs(0)):
            same = f.call("memcmp", "i32", [address.to("ptr"), value, size.to("i64")]).equals(0)
            found.set(f.select(same, Kind.SAME_VALUE.value, found.now, "i32"))
        f.call("triptych_check_conflict", "void", [state, found.now, last, who, thread, site])
    warp = thread >> field(f, state, at.LANES)
    now = f.load("i32", clock_place(f, state, warp)).to("i64") << 32
    flags = f.select(atomic, at.ATOMIC, 0, "i64")
    word = now | (site << at.THREAD_BITS).to("i64") | thread.to("i64") | flags
    block = mine | f.select(narrow, at.NARROW_BLOCK, 0, "i32")
    with f.when(writes):
        seen, by = f.load("i64", read), f.load("i32", reader)
        excused_read = atomic & (seen & at.ATOMIC).differs(0)
        alone = by.equals(mine) & thread_of(seen).equals(thread) & (seen & at.SEVERAL).equals(0)
        with f.when(is_of_launch(f, by) & (excused_read ^ 1) & (alone ^ 1)):
            after_read = f.number(Kind.WRITE_AFTER_READ.value, "i32")
            f.call("triptych_check_conflict", "void", [state, after_read, seen, by, thread, site])
        f.store(word, written)
        f.store(block, writer)
    with f.when(reads & (atomic ^ 1)):
        before, by = f.load("i64", read), f.load("i32", reader)
        other_block = is_of_launch(f, by) & by.differs(mine)
        same = by.equals(mine) & stamp_of(before).equals(stamp_of(word)) & thread_of(before).differs(thread)
        several = same | (by.equals(mine) & (before & at.SEVERAL).differs(0))
        f.store(mine | f.select(other_block, at.SEVERAL_BLOCKS, 0, "i32"), reader)
        f.store(word | f.select(several, at.SEVERAL, 0, "i64"), read)
    f.line("ret void")
    return f.text()


def _lanes() -> str:
    """`lanes(state, addresses, mask, first, width, size, kind, site, values)`: one after the other, cell by cell."""
    f = Function(_LANES, "void", [("state", "ptr"), ("addresses", "ptr"), *PARAMETERS, ("values", "ptr")], "noinline")
    state, addresses, mask, first, width, size, kind, site, values = f.parameters
    grain = field(f, state, at.GLOBAL_GRAIN).to("i64")
    shared, limit = field(f, state, at.SHARED, "i64"), field(f, state, at.SHARED_BYTES, "i64")
    stores = Stores(f, (addresses, mask), size, kind & (at.READS_MEMORY | at.WRITES_MEMORY), values)
    with f.count(0, width) as lane, f.when(((mask >> lane.to("i64")) & 1).differs(0)):
        address, value = f.load("i64", f.at(addresses, lane, "i64")), stores.before(lane)
        begin, end = address >> grain, ((address + size.to("i64") - 1) >> grain) + 1
        with f.when((address - shared) >= limit), f.count(begin, end) as number:
            key = page_key(number, grain)
            page = f.call(HOLD_PAGE, "ptr", [f.call(FIND_PAGE, "ptr", [key]), key, f.number(0, "i32")])
            with f.when(page.to("i64").differs(0)):
                place = place_in_page(f, page, number)
                cells = f.call(HOLD_CELLS, "ptr", [page, place])
                with f.when(cells.to("i64").differs(0)):
                    cell = place & ((1 << at.UNIT_BITS) - 1)
                    f.call(TOUCH, "void", [state, cells, cell, first + lane, kind, site, address, size, value])
                    leave_cells(f, cells)
                leave_page(f, page)
    f.line("ret void")
    return f.text()


def _is_plain(kind: Number) -> Number:
    return (kind & (at.IS_ATOMIC | at.IS_COLLECTIVE)).equals(0)


def _only_reads(kind: Number) -> Number:
    return (kind & (at.IS_ATOMIC | at.IS_COLLECTIVE | at.WRITES_MEMORY)).equals(0)


def _is_regular(f: Function, state: Number, address: Number, size: Number, last: Number) -> Number:
    """Whether accesses from an address until another are outside of shared memory and have whole cells, 2^n each."""
    grain, each = field(f, state, at.GLOBAL_GRAIN), size >> field(f, state, at.GLOBAL_GRAIN)
    aligned = (address & ((f.number(1, "i64") << grain.to("i64")) - 1)).equals(0)
    simple = (each & (each - 1)).equals(0) & ((each - 1) < _MOST_CELLS)
    shared, limit = field(f, state, at.SHARED, "i64"), field(f, state, at.SHARED_BYTES, "i64")
    return aligned & simple & ((address - shared) >= limit) & ((last - shared) >= limit)


def _access() -> str:
    """`access(addresses, mask, first, width, size, kind, site, values)`: lanes access what is not shared memory.

    Neighbours that are side by side, or read the same, are looked at together.
    """
    f = Function(ACCESS_GLOBAL, "void", [("addresses", "ptr"), *PARAMETERS, ("values", "ptr")], "noinline")
    addresses, mask, first, width, size, kind, site, values = f.parameters
    state, step = f.call(STATE, "ptr", ()), size.to("i64")
    with f.when(_is_plain(kind) ^ 1):
        f.call(_LANES, "void", [state, addresses, mask, first, width, size, kind, site, values])
        f.give()
    beside, same = f.variable("i64", 0), f.variable("i64", 0)
    with f.count(1, width.to("i64")) as lane:
        apart = f.load("i64", f.at(addresses, lane, "i64")) - f.load("i64", f.at(addresses, lane - 1, "i64"))
        beside.set(beside.now | (apart.equals(step).to("i64") << lane))
        same.set(same.now | (apart.equals(0).to("i64") << lane))
    same.set(f.select(_only_reads(kind), same.now, 0, "i64"))
    rest = f.variable("i64", mask)
    with f.during(lambda: rest.now.differs(0)):
        begin = f.call("llvm.cttz.i64", "i64", [rest.now, f.number(1, "i1")])
        together, equal = (_ones(f, ((each.now & rest.now) >> begin) >> 1) for each in (beside, same))
        count = f.larger(together, equal) + 1
        behind = (f.number(-1, "i64") << (begin + count - 1)) << 1
        group, stride = rest.now & (behind ^ -1), f.select(equal.differs(0), 0, step, "i64")
        rest.set(rest.now & behind)
        address = f.load("i64", f.at(addresses, begin, "i64"))
        last = address + f.select(equal.differs(0), step, step * count, "i64") - 1
        regular = _is_regular(f, state, address, size, last)
        with f.when(regular):
            lane = begin.to("i32")
            other = f.select(equal.differs(0), first + lane + count.to("i32") - 1, first + lane, "i32")
            cells = _cells(f, state, size, f.select(equal.differs(0), 1, count, "i64"))
            shift = _shift(f, state, size, stride)
            value = value_of(f, values, lane, size)
            given = [address, cells, shift, first + lane, other, size, kind, site, value]
            f.call(GLOBAL_RANGE, "void", [state, *given])
        with f.when(regular ^ 1):
            f.call(_LANES, "void", [state, addresses, group, first, width, size, kind, site, values])
    f.line("ret void")
    return f.text()


def _ones(f: Function, number: Number) -> Number:
    """How many of the low bits are set, one after the other."""
    return f.call("llvm.cttz.i64", "i64", [number ^ -1, f.number(0, "i1")])


def _shift(f: Function, state: Number, size: Number, stride: Number) -> Number:
    """Cells of each lane as a power of two, or that lanes have all cells in common."""
    each = size >> field(f, state, at.GLOBAL_GRAIN)
    cells = f.call("llvm.cttz.i32", "i32", [each, f.number(1, "i1")])
    return f.select(stride.equals(0), at.BY_ONE, cells, "i32").to("i64")


def _cells(f: Function, state: Number, size: Number, count: Number) -> Number:
    """The cells of so many accesses."""
    return (size.to("i64") * count) >> field(f, state, at.GLOBAL_GRAIN).to("i64")


def _run() -> str:
    """`run(base, stride, mask, first, width, size, kind, site, values)`: lane i has the address base + i * stride."""
    f = Function(GLOBAL_RUN, "void", [("base", "ptr"), ("stride", "i64"), *PARAMETERS, ("values", "ptr")], "noinline")
    base, stride, mask, first, width, size, kind, site, values = f.parameters
    with f.when(mask.equals(0)):
        f.give()
    state, step = f.call(STATE, "ptr", ()), size.to("i64")
    begin = f.call("llvm.cttz.i64", "i64", [mask, f.number(1, "i1")])
    active, lane = mask >> begin, begin.to("i32")
    count, address = f.call("llvm.ctpop.i64", "i64", [active]), base.to("i64") + stride * begin
    alone, one = active.equals(1), stride.equals(0) & _only_reads(kind)
    side_by_side = (stride.equals(step) | alone) & (active & (active + 1)).equals(0) & _is_plain(kind)
    lanes = f.select(one, 1, count, "i64")
    regular = _is_regular(f, state, address, size, address + step * lanes - 1)
    with f.when((side_by_side | one) & regular):
        highest = f.number(63, "i64") - f.call("llvm.ctlz.i64", "i64", [mask, f.number(1, "i1")])
        other = f.select(one, first + highest.to("i32"), first + lane, "i32")
        shift = _shift(f, state, size, f.select(one, 0, step, "i64"))
        given = [address, _cells(f, state, size, lanes), shift, first + lane, other, size, kind, site]
        f.call(GLOBAL_RANGE, "void", [state, *given, value_of(f, values, lane, size)])
        f.give()
    f.line(f"%addresses = alloca [{at.MOST_WARPS} x i64], align 64")
    addresses = named(f, "%addresses")
    with f.count(0, width) as each:
        f.store(base.to("i64") + stride * each.to("i64"), f.at(addresses, each, "i64"))
    f.call(_LANES, "void", [state, addresses, mask, first, width, size, kind, site, values])
    f.line("ret void")
    return f.text()


def _access_loop() -> str:
    """`access_loop(addresses, mask, first, width, size, kind, site, levels)`: reads that loops repeat."""
    f = Function(GLOBAL_LOOP, "void", [("addresses", "ptr"), *PARAMETERS, ("levels", "ptr")], "noinline")
    addresses, mask, first, width, size, kind, site, levels = f.parameters
    f.line(f"%moved = alloca [{at.MOST_WARPS} x i64], align 64")
    moved, nothing = named(f, "%moved"), named(f, "null")
    with shifts(f, levels) as shift:
        with f.count(0, width) as lane:
            f.store(f.load("i64", f.at(addresses, lane, "i64")) + shift, f.at(moved, lane, "i64"))
        f.call(ACCESS_GLOBAL, "void", [moved, mask, first, width, size, kind, site, nothing])
    f.line("ret void")
    return f.text()


def _run_loop() -> str:
    """`run_loop(base, stride, mask, first, width, size, kind, site, levels)`: lane i has base + i * stride.

    What one thread, or all of them, read cell after cell is one range.
    """
    given = [("base", "ptr"), ("stride", "i64"), *PARAMETERS, ("levels", "ptr")]
    f = Function(GLOBAL_RUN_LOOP, "void", given, "noinline")
    base, stride, mask, first, width, size, kind, site, levels = f.parameters
    with f.when(mask.equals(0)):
        f.give()
    state, nothing, step = f.call(STATE, "ptr", ()), named(f, "null"), size.to("i64")
    (near, count), *outer = ((field(f, levels, 16 * i, "i64"), field(f, levels, 16 * i + 8, "i64")) for i in range(3))
    lowest = f.call("llvm.cttz.i64", "i64", [mask, f.number(1, "i1")])
    highest = f.number(63, "i64") - f.call("llvm.ctlz.i64", "i64", [mask, f.number(1, "i1")])
    one = stride.equals(0) & near.equals(step) & _only_reads(kind) & count.differs(0)
    with f.when(one & _is_regular(f, state, base.to("i64"), size, base.to("i64") + step * count - 1)):
        threads = [first + lowest.to("i32"), first + highest.to("i32")]
        cells, by_one = _cells(f, state, size, count), f.number(at.BY_ONE, "i64")
        with f.count(0, outer[1][1]) as k, f.count(0, outer[0][1]) as j:
            address = base.to("i64") + j * outer[0][0] + k * outer[1][0]
            f.call(GLOBAL_RANGE, "void", [state, address, cells, by_one, *threads, size, kind, site, nothing])
        f.give()
    with shifts(f, levels) as shift:
        place = (base.to("i64") + shift).to("ptr")
        f.call(GLOBAL_RUN, "void", [place, stride, mask, first, width, size, kind, site, nothing])
    f.line("ret void")
    return f.text()
