"""Native code of global memory's shadow: blocks are concurrent, in whatever order this machine runs them.

A page stands for 1024 cells of memory and has four rows: the last write and the last read of each cell, as words that
shared memory has too, and the blocks that made them. Pages belong to a launch; memory that a later launch comes to is
new. Within a block order is what it is for shared memory; between blocks it comes from releases (`block_order_code`).
Pages are limited: beyond half of them only some addresses get one, and the report says so.
"""

from __future__ import annotations

from triptych.support.findings import Kind
from triptych.targets.cpu.checking import shadow_layout as at
from triptych.targets.cpu.checking.block_order_code import KNOWS_BLOCK
from triptych.targets.cpu.checking.finding_code import RECORD
from triptych.targets.cpu.checking.llvm_writer import Function, Number
from triptych.targets.cpu.checking.order_code import KNOWS, STATE, clock_place, field, put
from triptych.targets.cpu.checking.shadow_code import PARAMETERS, site_of, stamp_of, thread_of

ACCESS_GLOBAL = "triptych_check_global"
END_LAUNCH = "triptych_check_end_launch"
_PAGE, _TOUCH = "triptych_check_page", "triptych_check_touch"
_PRIME = 0x9E3779B97F4A7C15 - (1 << 64)
GLOBALS = f"""
@pages = internal global [{2 * at.PAGE_SLOTS} x i64] zeroinitializer, align 64
@page_arena = internal global ptr null
@page_count = internal global i32 0
@page_lock = internal global i32 0
@launch_number = internal global i64 1
@skipped_pages = internal global i32 0
"""


def global_code() -> str:
    """All functions of this file."""
    return GLOBALS + "".join((_page(), _conflict(), _touch(), _access(), _end_launch()))


def _named(f: Function, name: str) -> Number:
    return Number(f, name, "ptr")


def lock(f: Function, place: Number) -> None:
    """What is locked takes nanoseconds: whoever waits spins."""
    with f.during(lambda: f.made(f"atomicrmw xchg ptr {place.name}, i32 1 acquire", "i32").differs(0)):
        pass


def unlock(f: Function, place: Number) -> None:
    f.line(f"store atomic i32 0, ptr {place.name} release, align 4")


def _page() -> str:
    """`page(key)`: the page of these addresses; null for those that are not looked at."""
    f = Function(_PAGE, "ptr", [("key", "i64")], "noinline")
    (key,) = f.parameters
    mixed = (key * _PRIME) >> 32
    slot = f.variable("i64", mixed & (at.PAGE_SLOTS - 1))
    slots = _named(f, "@pages")
    with f.during(lambda: _other_key(f, slots, slot.now, key)):
        slot.set((slot.now + 1) & (at.PAGE_SLOTS - 1))
    found = f.load("i64", f.at(slots, slot.now << 1, "i64"))
    with f.when(found.equals(key)):
        f.give(f.load("i64", f.at(slots, (slot.now << 1) + 1, "i64")).to("ptr"), "ptr")
    count = f.load("i32", _named(f, "@page_count"))
    half = (count >= at.MOST_PAGES // 2) & ((mixed >> 16) & 3).differs(0)
    full = (count >= at.MOST_PAGES // 4 * 3) & ((mixed >> 16) & 15).differs(0)
    with f.when(half | full | (count >= at.MOST_PAGES)):
        f.made("atomicrmw add ptr @skipped_pages, i32 1 monotonic", "i32")
        f.give(_named(f, "null"), "ptr")
    arena = f.load("ptr", _named(f, "@page_arena"))
    page = f.at(arena, count.to("i64") * at.PAGE_BYTES, "i8")
    put(f, page, at.PAGE_LAUNCH, f.number(0, "i64"))
    f.store(page.to("i64"), f.at(slots, (slot.now << 1) + 1, "i64"))
    f.store(key, f.at(slots, slot.now << 1, "i64"))
    f.store(count + 1, _named(f, "@page_count"))
    f.line(f"ret ptr {page.name}")
    return f.text()


def _other_key(f: Function, slots: Number, slot: Number, key: Number) -> Number:
    found = f.load("i64", f.at(slots, slot << 1, "i64"))
    return found.differs(0) & found.differs(key)


def _conflict() -> str:
    """`conflict(state, kind, word, block, thread, site, atomic)`: an earlier access that this thread may not know."""
    names = [("state", "ptr"), ("kind", "i32"), ("word", "i64"), ("block", "i32"), ("thread", "i32"), ("site", "i32")]
    f = Function("triptych_check_conflict", "void", names, "noinline")
    state, kind, word, block, thread, site = f.parameters
    mine = field(f, state, at.SERIAL)
    other, stamp, several = thread_of(word), stamp_of(word), (word & at.SEVERAL).differs(0)
    who = f.select(other.equals(thread) & several, other ^ 1, other, "i32")
    before = block & at.BLOCK_MASK
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
    f = Function(_TOUCH, "void", [*names, ("address", "i64"), ("size", "i32"), ("value", "ptr")])
    state, page, cell, thread, kind, site, address, size, value = f.parameters
    mine = field(f, state, at.SERIAL)
    written, read = (f.at(f.at(page, offset, "i8"), cell, "i64") for offset in (at.PAGE_WRITES, at.PAGE_READS))
    writer, reader = (f.at(f.at(page, offset, "i8"), cell, "i32") for offset in (at.PAGE_WRITERS, at.PAGE_READERS))
    reads, writes = (kind & at.READS_MEMORY).differs(0), (kind & at.WRITES_MEMORY).differs(0)
    atomic, narrow = (kind & at.IS_ATOMIC).differs(0), (kind & at.IS_NARROW).differs(0)
    last, who = f.load("i64", written), f.load("i32", writer)
    either = narrow | (who >= at.NARROW_BLOCK)
    excused = atomic & (last & at.ATOMIC).differs(0) & ((either ^ 1) | (who & at.BLOCK_MASK).equals(mine))
    own = who.equals(mine) & thread_of(last).equals(thread)
    with f.when(who.differs(0) & (excused ^ 1) & (own ^ 1)):
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
        with f.when(by.differs(0) & (excused_read ^ 1) & (alone ^ 1)):
            after_read = f.number(Kind.WRITE_AFTER_READ.value, "i32")
            f.call("triptych_check_conflict", "void", [state, after_read, seen, by, thread, site])
        f.store(word, written)
        f.store(block, writer)
    with f.when(reads & (atomic ^ 1)):
        before, by = f.load("i64", read), f.load("i32", reader)
        other_block = by.differs(0) & by.differs(mine)
        same = by.equals(mine) & stamp_of(before).equals(stamp_of(word)) & thread_of(before).differs(thread)
        several = same | (by.equals(mine) & (before & at.SEVERAL).differs(0))
        f.store(f.select(other_block, at.MANY_BLOCKS, mine, "i32"), reader)
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


def _access() -> str:
    """`access(addresses, mask, first, width, size, kind, site, values)`: lanes access what is not shared memory."""
    f = Function(ACCESS_GLOBAL, "void", [("addresses", "ptr"), *PARAMETERS, ("values", "ptr")], "noinline")
    addresses, mask, first, width, size, kind, site, values = f.parameters
    state = f.call(STATE, "ptr", ())
    grain = field(f, state, at.GLOBAL_GRAIN).to("i64")
    shared, limit = field(f, state, at.SHARED, "i64"), field(f, state, at.SHARED_BYTES, "i64")
    launch = f.load("i64", _named(f, "@launch_number"))
    place = _named(f, "@page_lock")
    lock(f, place)
    with f.when(f.load("i64", _named(f, "@page_arena")).equals(0)):
        room = [f.number(at.MOST_PAGES, "i64"), f.number(at.PAGE_BYTES, "i64")]
        f.store(f.call("calloc", "ptr", room), _named(f, "@page_arena"))
    last_key, page = f.variable("i64", 0), f.variable("ptr", _named(f, "null"))
    with f.count(0, width) as lane, f.when(((mask >> lane.to("i64")) & 1).differs(0)):
        address = f.load("i64", f.at(addresses, lane, "i64"))
        inside = (address - shared) < limit
        begin, end = address >> grain, ((address + size.to("i64") - 1) >> grain) + 1
        with f.when(inside ^ 1), f.count(begin, end) as number:
            key = ((number >> at.PAGE_BITS) << 2) | grain | (1 << 63) - (1 << 64)
            with f.when(key.differs(last_key.now)):
                last_key.set(key)
                found = f.call(_PAGE, "ptr", [key])
                page.set(found)
                with f.when(found.to("i64").differs(0)):
                    _begin_page(f, found, launch)
            with f.when(page.now.to("i64").differs(0)):
                cell = number & ((1 << at.PAGE_BITS) - 1)
                has = values.to("i64").differs(0)
                beside = f.at(values, lane.to("i64") * size.to("i64"), "i8")
                value = f.made(f"select i1 {has.name}, ptr {beside.name}, ptr null", "ptr")
                given = [state, page.now, cell, first + lane, kind, site, address, size, value]
                f.call(_TOUCH, "void", given)
    unlock(f, place)
    f.line("ret void")
    return f.text()


def _begin_page(f: Function, page: Number, launch: Number) -> None:
    """What other launches have done there is over."""
    with f.when(field(f, page, at.PAGE_LAUNCH, "i64").differs(launch)):
        f.call("memset", "ptr", [page, f.number(0, "i32"), f.number(at.PAGE_BYTES, "i64")])
        put(f, page, at.PAGE_LAUNCH, launch)


def _end_launch() -> str:
    """`end_launch()`: what the next launch accesses is new; gives how many pages were not looked at."""
    f = Function(END_LAUNCH, "i32", [], "noinline")
    place = _named(f, "@page_lock")
    lock(f, place)
    launch = _named(f, "@launch_number")
    f.store(f.load("i64", launch) + 1, launch)
    with f.when(f.load("i32", _named(f, "@page_count")).differs(0)):
        size = f.number(16 * at.PAGE_SLOTS, "i64")
        f.call("memset", "ptr", [_named(f, "@pages"), f.number(0, "i32"), size])
        f.store(f.number(0, "i32"), _named(f, "@page_count"))
    f.call("triptych_check_forget_releases", "void", [])
    skipped = f.made("atomicrmw xchg ptr @skipped_pages, i32 0 monotonic", "i32")
    unlock(f, place)
    f.line(f"ret i32 {skipped.name}")
    return f.text()
