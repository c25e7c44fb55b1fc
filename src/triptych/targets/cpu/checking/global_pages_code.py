"""Native code of the pages of global memory's shadow: found without a lock, and each locked by itself.

What a page has of earlier launches counts as nothing: blocks are numbered through all launches, and those before the
first number of this launch are over. A page may stand for other addresses in the next launch; whoever holds it has seen
that it stands for what was asked. Pages are limited: beyond half of them only some addresses get one.
"""

from __future__ import annotations

from triptych.targets.cpu.checking import shadow_layout as at
from triptych.targets.cpu.checking.llvm_writer import Function, Number
from triptych.targets.cpu.checking.order_code import field, put
from triptych.targets.cpu.checking.spin_locks import lock, named, unlock

HOLD_PAGE = "triptych_check_hold_page"
END_LAUNCH = "triptych_check_end_launch"
_FIND, _NEW = "triptych_check_find_page", "triptych_check_new_page"
_PRIME = 0x9E3779B97F4A7C15 - (1 << 64)
GLOBALS = f"""
@pages = internal global [{2 * at.PAGE_SLOTS} x i64] zeroinitializer, align 64
@page_arena = internal global ptr null
@page_count = internal global i32 0
@page_lock = internal global i32 0
@first_block = internal global i32 1
@skipped_pages = internal global i32 0
"""


def global_pages_code() -> str:
    """All functions of this file."""
    return GLOBALS + "".join((_find(), _new(), _hold(), _end_launch()))


def leave_page(f: Function, page: Number) -> None:
    unlock(f, f.at(page, at.PAGE_LOCK, "i8"))


def is_of_launch(f: Function, block: Number) -> Number:
    """Whether a block, as cells and pages have it, belongs to the launch that goes on."""
    return (block & at.SERIAL_MASK) >= f.load("i32", named(f, "@first_block"))


def page_key(number: Number, grain: Number) -> Number:
    """What stands for the page of a cell; cells are numbered through all of memory."""
    return ((number >> at.PAGE_BITS) << 2) | grain | (1 << 63) - (1 << 64)


def _mixed(key: Number) -> Number:
    return (key * _PRIME) >> 32


def _place(f: Function, slot: Number, half: int) -> Number:
    return f.at(named(f, "@pages"), (slot << 1) + half, "i64")


def _slot(f: Function, key: Number) -> Number:
    """The place of a key in the table, or the free one where it would be; nobody has to hold the table."""
    slot = f.variable("i64", _mixed(key) & (at.PAGE_SLOTS - 1))

    def is_other() -> Number:
        found = f.made(f"load atomic i64, ptr {_place(f, slot.now, 0).name} acquire, align 8", "i64")
        return found.differs(0) & found.differs(key)

    with f.during(is_other):
        slot.set((slot.now + 1) & (at.PAGE_SLOTS - 1))
    return slot.now


def _find() -> str:
    """`find_page(key)`: the page of these addresses, which may have become that of others; null if there is none."""
    f = Function(_FIND, "ptr", [("key", "i64")])
    (key,) = f.parameters
    slot = _slot(f, key)
    found = f.made(f"load atomic i64, ptr {_place(f, slot, 0).name} acquire, align 8", "i64")
    with f.when(found.differs(key)):
        f.give(named(f, "null"), "ptr")
    f.line(f"ret ptr {f.load('i64', _place(f, slot, 1)).to('ptr').name}")
    return f.text()


def _new() -> str:
    """`new_page(key)`: the same, and where there is none it is made; null for addresses that are not looked at."""
    f = Function(_NEW, "ptr", [("key", "i64")], "noinline")
    (key,) = f.parameters
    mixed, count = _mixed(key), f.load("i32", named(f, "@page_count"))
    half = (count >= at.MOST_PAGES // 2) & ((mixed >> 16) & 3).differs(0)
    full = (count >= at.MOST_PAGES // 4 * 3) & ((mixed >> 16) & 15).differs(0)
    with f.when(half | full | (count >= at.MOST_PAGES)):
        with f.when(f.load("i32", named(f, "@skipped_pages")).equals(0)):
            f.store(f.number(1, "i32"), named(f, "@skipped_pages"))
        f.give(named(f, "null"), "ptr")
    lock(f, named(f, "@page_lock"))
    with f.when(f.load("i64", named(f, "@page_arena")).equals(0)):
        room = [f.number(at.MOST_PAGES, "i64"), f.number(at.PAGE_BYTES, "i64")]
        f.store(f.call("calloc", "ptr", room), named(f, "@page_arena"))
    slot, count = _slot(f, key), f.load("i32", named(f, "@page_count"))
    with f.when(f.load("i64", _place(f, slot, 0)).equals(0) & (count < at.MOST_PAGES)):
        page = f.at(f.load("ptr", named(f, "@page_arena")), count.to("i64") * at.PAGE_BYTES, "i8")
        lock(f, f.at(page, at.PAGE_LOCK, "i8"))
        put(f, page, at.PAGE_KEY, key)
        put(f, page, at.PAGE_WRITER, f.number(0, "i32"))
        put(f, page, at.PAGE_READER, f.number(0, "i32"))
        leave_page(f, page)
        f.store(page.to("i64"), _place(f, slot, 1))
        f.line(f"store atomic i64 {key.name}, ptr {_place(f, slot, 0).name} release, align 8")
        f.store(count + 1, named(f, "@page_count"))
    unlock(f, named(f, "@page_lock"))
    f.line(f"ret ptr {f.call(_FIND, 'ptr', [key]).name}")
    return f.text()


def _hold() -> str:
    """`hold_page(key)`: the page of these addresses, which nobody else holds now; null if it is not looked at."""
    f = Function(HOLD_PAGE, "ptr", [("key", "i64")])
    (key,) = f.parameters
    page = f.variable("ptr", f.call(_FIND, "ptr", [key]))
    with f.when(page.now.to("i64").equals(0)):
        page.set(f.call(_NEW, "ptr", [key]))
    with f.when(page.now.to("i64").differs(0)):
        lock(f, f.at(page.now, at.PAGE_LOCK, "i8"))
        with f.when(field(f, page.now, at.PAGE_KEY, "i64").differs(key)):
            leave_page(f, page.now)
            f.give(named(f, "null"), "ptr")
    f.line(f"ret ptr {page.now.name}")
    return f.text()


def _end_launch() -> str:
    """`end_launch()`: what the next launch accesses is new; gives whether pages were not looked at."""
    f = Function(END_LAUNCH, "i32", [], "noinline")
    place = named(f, "@page_lock")
    lock(f, place)
    with f.when(f.load("i32", named(f, "@page_count")).differs(0)):
        size = f.number(16 * at.PAGE_SLOTS, "i64")
        f.call("memset", "ptr", [named(f, "@pages"), f.number(0, "i32"), size])
        f.store(f.number(0, "i32"), named(f, "@page_count"))
    # only now: a block that began before has found pages of the old table
    serial = f.made("atomicrmw add ptr @block_serial, i32 0 seq_cst", "i32")
    with f.when((serial >= at.LAST_SERIAL) & f.load("i64", named(f, "@page_arena")).differs(0)):
        size = f.number(at.MOST_PAGES * at.PAGE_BYTES, "i64")
        f.call("memset", "ptr", [f.load("ptr", named(f, "@page_arena")), f.number(0, "i32"), size])
        f.store(f.number(0, "i32"), named(f, "@block_serial"))
    f.store(f.load("i32", named(f, "@block_serial")) + 1, named(f, "@first_block"))
    f.call("triptych_check_forget_releases", "void", [])
    skipped = f.made("atomicrmw xchg ptr @skipped_pages, i32 0 monotonic", "i32")
    unlock(f, place)
    f.line(f"ret i32 {skipped.name}")
    return f.text()
