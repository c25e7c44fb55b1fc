"""Native code of global memory's shadow: blocks are concurrent, in whatever order this machine runs them.

A page stands for 1024 cells of memory and has four rows: the last write and the last read of each cell, as words that
shared memory has too, and the blocks that made them. Within a block order is what it is for shared memory; between
blocks it comes from releases (`block_order_code`). Here lanes are looked at one by one; those side by side, which are
most, in `global_stretch_code`.
"""

from __future__ import annotations

from triptych.support.findings import Kind
from triptych.targets.cpu.checking import shadow_layout as at
from triptych.targets.cpu.checking.block_order_code import KNOWS_BLOCK
from triptych.targets.cpu.checking.finding_code import RECORD
from triptych.targets.cpu.checking.global_pages_code import HOLD_PAGE, is_of_launch, leave_page, page_key
from triptych.targets.cpu.checking.llvm_writer import Function, Number
from triptych.targets.cpu.checking.order_code import KNOWS, STATE, clock_place, field, put
from triptych.targets.cpu.checking.shadow_code import PARAMETERS, site_of, stamp_of, thread_of, value_of
from triptych.targets.cpu.checking.spin_locks import named

ACCESS_GLOBAL = "triptych_check_global"
GLOBAL_RUN = "triptych_check_global_run"
STRETCH = "triptych_check_global_stretch"
TOUCH = "triptych_check_touch"
_LANES = "triptych_check_global_lanes"


def global_code() -> str:
    """All functions of this file."""
    return "".join((_conflict(), _touch(), _lanes(), _access(), _run()))


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
    """`touch(state, page, cell, thread, kind, site, same)`: compare with what was there, and become the last."""
    names = [("state", "ptr"), ("page", "ptr"), ("cell", "i64"), ("thread", "i32"), ("kind", "i32"), ("site", "i32")]
    f = Function(TOUCH, "void", [*names, ("address", "i64"), ("size", "i32"), ("value", "ptr")])
    state, page, cell, thread, kind, site, address, size, value = f.parameters
    mine = field(f, state, at.SERIAL)
    written, read = (f.at(f.at(page, offset, "i8"), cell, "i64") for offset in (at.PAGE_WRITES, at.PAGE_READS))
    writer, reader = (f.at(f.at(page, offset, "i8"), cell, "i32") for offset in (at.PAGE_WRITERS, at.PAGE_READERS))
    reads, writes = (kind & at.READS_MEMORY).differs(0), (kind & at.WRITES_MEMORY).differs(0)
    atomic, narrow = (kind & at.IS_ATOMIC).differs(0), (kind & at.IS_NARROW).differs(0)
    last, who = f.load("i64", written), f.load("i32", writer)
    either = narrow | (who >= at.NARROW_BLOCK)
    excused = atomic & (last & at.ATOMIC).differs(0) & ((either ^ 1) | (who & at.SERIAL_MASK).equals(mine))
    own = who.equals(mine) & thread_of(last).equals(thread)
    with f.when(is_of_launch(f, who) & (excused ^ 1) & (own ^ 1)):
        found = f.variable("i32", f.select(reads, Kind.READ_AFTER_WRITE.value, Kind.WRITE_AFTER_WRITE.value, "i32"))
        with f.when((reads ^ 1) & value.to("i64").differs(0)):
            same = _is_same(f, state, (address, size, value), (last, who), thread, site)
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
        put(f, page, at.PAGE_WRITER, mine)
    with f.when(reads & (atomic ^ 1)):
        before, by = f.load("i64", read), f.load("i32", reader)
        other_block = is_of_launch(f, by) & by.differs(mine)
        same = by.equals(mine) & stamp_of(before).equals(stamp_of(word)) & thread_of(before).differs(thread)
        several = same | (by.equals(mine) & (before & at.SEVERAL).differs(0))
        f.store(mine | f.select(other_block, at.SEVERAL_BLOCKS, 0, "i32"), reader)
        put(f, page, at.PAGE_READER, mine)
        f.store(word | f.select(several, at.SEVERAL, 0, "i64"), read)
    f.line("ret void")
    return f.text()


def _is_same(
    f: Function,
    state: Number,
    stored: tuple[Number, Number, Number],
    before: tuple[Number, Number],
    thread: Number,
    site: Number,
) -> Number:
    """Whether a thread writes what is there: in memory, or in the lane that writes by the same instruction."""
    (address, size, value), (word, block) = stored, before
    lanes, other = field(f, state, at.LANES), thread_of(word)
    together = block.equals(field(f, state, at.SERIAL)) & (other >> lanes).equals(thread >> lanes)
    together = together & site_of(word).equals(site)
    distance = f.select(together, (thread - other) * size, 0, "i32")
    beside = f.made(f"sext i32 {distance.name} to i64", "i64")
    neighbour = f.at(value, f.number(0, "i64") - beside, "i8")
    compared = f.made(f"select i1 {together.name}, ptr {neighbour.name}, ptr {address.to('ptr').name}", "ptr")
    return f.call("memcmp", "i32", [compared, value, size.to("i64")]).equals(0)


def _lanes() -> str:
    """`lanes(state, addresses, mask, first, width, size, kind, site, values)`: one after the other, page by page."""
    f = Function(_LANES, "void", [("state", "ptr"), ("addresses", "ptr"), *PARAMETERS, ("values", "ptr")], "noinline")
    state, addresses, mask, first, width, size, kind, site, values = f.parameters
    grain = field(f, state, at.GLOBAL_GRAIN).to("i64")
    shared, limit = field(f, state, at.SHARED, "i64"), field(f, state, at.SHARED_BYTES, "i64")
    last_key, page = f.variable("i64", 0), f.variable("ptr", named(f, "null"))
    with f.count(0, width) as lane, f.when(((mask >> lane.to("i64")) & 1).differs(0)):
        address = f.load("i64", f.at(addresses, lane, "i64"))
        begin, end = address >> grain, ((address + size.to("i64") - 1) >> grain) + 1
        with f.when((address - shared) >= limit), f.count(begin, end) as number:
            key = page_key(number, grain)
            with f.when(key.differs(last_key.now)):
                with f.when(page.now.to("i64").differs(0)):
                    leave_page(f, page.now)
                last_key.set(key)
                page.set(f.call(HOLD_PAGE, "ptr", [key]))
            with f.when(page.now.to("i64").differs(0)):
                cell, value = number & ((1 << at.PAGE_BITS) - 1), value_of(f, values, lane, size)
                f.call(TOUCH, "void", [state, page.now, cell, first + lane, kind, site, address, size, value])
    with f.when(page.now.to("i64").differs(0)):
        leave_page(f, page.now)
    f.line("ret void")
    return f.text()


def _access() -> str:
    """`access(addresses, mask, first, width, size, kind, site, values)`: lanes access what is not shared memory."""
    f = Function(ACCESS_GLOBAL, "void", [("addresses", "ptr"), *PARAMETERS, ("values", "ptr")], "noinline")
    addresses, mask, first, width, size, kind, site, values = f.parameters
    base, apart = f.load("i64", addresses), f.variable("i64", 0)
    active, step = f.call("llvm.ctpop.i64", "i64", [mask]), size.to("i64")
    from_first = (mask & (mask + 1)).equals(0)
    with f.when(from_first), f.count(0, active) as lane:
        apart.set(apart.now | (f.load("i64", f.at(addresses, lane, "i64")) ^ (base + lane * step)))
    with f.when(from_first & apart.now.equals(0)):
        f.call(GLOBAL_RUN, "void", [base.to("ptr"), step, mask, first, width, size, kind, site, values])
        f.give()
    f.call(_LANES, "void", [f.call(STATE, "ptr", ()), addresses, mask, first, width, size, kind, site, values])
    f.line("ret void")
    return f.text()


def _run() -> str:
    """`run(base, stride, mask, first, width, size, kind, site, values)`: lane i has the address base + i * stride."""
    f = Function(GLOBAL_RUN, "void", [("base", "ptr"), ("stride", "i64"), *PARAMETERS, ("values", "ptr")], "noinline")
    base, stride, mask, first, width, size, kind, site, values = f.parameters
    with f.when(mask.equals(0)):
        f.give()
    state = f.call(STATE, "ptr", ())
    grain, address, bytes_each = field(f, state, at.GLOBAL_GRAIN), base.to("i64"), size.to("i64")
    shared, limit = field(f, state, at.SHARED, "i64"), field(f, state, at.SHARED_BYTES, "i64")
    active = f.call("llvm.ctpop.i64", "i64", [mask])
    each = size >> grain
    regular = (address & ((f.number(1, "i64") << grain.to("i64")) - 1)).equals(0) & (each & (each - 1)).equals(0)
    outside = ((address - shared) >= limit) & ((address + bytes_each * active - 1 - shared) >= limit)
    plain = (kind & (at.IS_ATOMIC | at.IS_COLLECTIVE)).equals(0)
    together = (stride.equals(bytes_each) | active.equals(1)) & (mask & (mask + 1)).equals(0)
    with f.when(together & regular & outside & plain):
        f.call(STRETCH, "void", [state, address, first, active, size, kind, site, values])
        f.give()
    lowest = mask & (f.number(0, "i64") - mask)
    highest = f.number(-(1 << 63), "i64") >> f.call("llvm.ctlz.i64", "i64", [mask, f.number(1, "i1")])
    same = stride.equals(0) & (kind & (at.IS_ATOMIC | at.WRITES_MEMORY)).equals(0)
    looked_at = f.select(same, lowest | highest, mask, "i64")
    f.line(f"%addresses = alloca [{at.MOST_WARPS} x i64], align 64")
    addresses = named(f, "%addresses")
    with f.count(0, width) as lane:
        f.store(address + stride * lane.to("i64"), f.at(addresses, lane, "i64"))
    f.call(_LANES, "void", [state, addresses, looked_at, first, width, size, kind, site, values])
    f.line("ret void")
    return f.text()
