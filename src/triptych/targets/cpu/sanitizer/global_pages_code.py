"""Shadow pages of global memory, native code: found without a lock, and each locked by itself.

A page has units of 16 cells, and a unit gets cells of its own where lanes side by side do not describe it. Pages stay
until half of them are in use, cells until the launch ends; then they may stand for other addresses. Whoever holds them
has seen that they stand for what was asked. Both are limited: beyond half of them only some addresses get one. What
blocks before the first number of a launch have left counts as nothing: blocks are numbered through all launches.
"""

from __future__ import annotations

from triptych.targets.cpu.sanitizer import shadow_layout as at
from triptych.targets.cpu.sanitizer.happens_before_code import field, put
from triptych.targets.cpu.sanitizer.llvm_writer import Function, Number, lock, named, unlock

HOLD_PAGE = "triptych_check_hold_page"
HOLD_CELLS = "triptych_check_hold_cells"
END_LAUNCH = "triptych_check_end_launch"
FIND_PAGE, _NEW = "triptych_check_find_page", "triptych_check_new_page"
_SPREAD, _FILL = "triptych_check_new_cells", "triptych_check_fill_cells"
_PRIME = 0x9E3779B97F4A7C15 - (1 << 64)
GLOBALS = f"""
@pages = internal global [{2 * at.PAGE_SLOTS} x i64] zeroinitializer, align 64
@page_arena = internal global ptr null
@page_count = internal global i32 0
@cells_arena = internal global ptr null
@cells_count = internal global i32 0
@page_lock = internal global i32 0
@first_block = internal global i32 1
@skipped_pages = internal global i32 0
"""


def global_pages_code() -> str:
    """All functions of this file."""
    return GLOBALS + "".join((_find(), _new(), _hold(), _fill(), _spread(), _hold_cells(), _end_launch()))


def leave_page(f: Function, page: Number) -> None:
    unlock(f, f.at(page, at.PAGE_LOCK, "i8"))


def leave_cells(f: Function, cells: Number) -> None:
    unlock(f, f.at(cells, at.CELLS_LOCK, "i8"))


def is_of_launch(f: Function, block: Number) -> Number:
    """Whether a block, as cells and units have it, belongs to the launch that goes on."""
    return (block & at.SERIAL_MASK) >= f.load("i32", named(f, "@first_block"))


def page_key(number: Number, grain: Number) -> Number:
    """What stands for the page of a cell; cells are numbered through all of memory."""
    return ((number >> at.PAGE_BITS) << 2) | grain | (1 << 63) - (1 << 64)


def place_in_page(f: Function, page: Number, number: Number) -> Number:
    """Where a cell is, counted from the beginning of the page's first unit, which may lie before the page."""
    return (number & ((1 << at.PAGE_BITS) - 1)) + first_place(f, page)


def first_place(f: Function, page: Number) -> Number:
    """The place of a page's first cell."""
    return f.number(1 << at.UNIT_BITS, "i64") - field(f, page, at.PAGE_PHASE).to("i64")


def unit_of(f: Function, page: Number, place: Number) -> Number:
    return f.at(f.at(page, at.PAGE_UNITS, "i8"), (place >> at.UNIT_BITS) * at.UNIT_BYTES, "i8")


def thread_in(form: Number, cell: Number, shift: Number) -> Number:
    """The thread that a form has for a cell of its unit (`i64`); the first may be of a cell before the unit."""
    number = ((form >> at.FORM_BITS) + cell.to("i32")) & ((1 << 32 - at.FORM_BITS) - 1)
    return (number >> shift.to("i32")).to("i64")


def _mixed(key: Number) -> Number:
    return (key * _PRIME) >> 32


def _is_left_out(key: Number, count: Number, most: int) -> Number:
    """Whether addresses get no place any more: beyond a half three of four, beyond three quarters most, then all."""
    mixed = _mixed(key) >> 16
    half = (count >= most // 2) & (mixed & 3).differs(0)
    full = (count >= most // 4 * 3) & (mixed & 15).differs(0)
    return half | full | (count >= most)


def _skip(f: Function) -> None:
    """The launch will say that it has not looked at everything."""
    with f.when(f.load("i32", named(f, "@skipped_pages")).equals(0)):
        f.store(f.number(1, "i32"), named(f, "@skipped_pages"))


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
    f = Function(FIND_PAGE, "ptr", [("key", "i64")], "alwaysinline")
    (key,) = f.parameters
    slot = _slot(f, key)
    found = f.made(f"load atomic i64, ptr {_place(f, slot, 0).name} acquire, align 8", "i64")
    with f.when(found.differs(key)):
        f.give(named(f, "null"), "ptr")
    f.line(f"ret ptr {f.load('i64', _place(f, slot, 1)).to('ptr').name}")
    return f.text()


def _arena(f: Function, name: str, count: int, size: int) -> None:
    """Memory that comes with its first use, at a line of the cache."""
    with f.when(f.load("i64", named(f, name)).equals(0)):
        made = f.call("calloc", "ptr", [f.number(count + 1, "i64"), f.number(size, "i64")])
        f.store((made.to("i64") + 63) & ~63, named(f, name))


def _new() -> str:
    """`new_page(key, phase)`: the same, and where there is none it is made; null for addresses not looked at."""
    f = Function(_NEW, "ptr", [("key", "i64"), ("phase", "i32")], "noinline")
    key, phase = f.parameters
    with f.when(_is_left_out(key, f.load("i32", named(f, "@page_count")), at.MOST_PAGES)):
        _skip(f)
        f.give(named(f, "null"), "ptr")
    lock(f, named(f, "@page_lock"))
    _arena(f, "@page_arena", at.MOST_PAGES, at.PAGE_BYTES)
    _arena(f, "@cells_arena", at.MOST_CELLS, at.CELLS_BYTES)
    slot, count = _slot(f, key), f.load("i32", named(f, "@page_count"))
    with f.when(f.load("i64", _place(f, slot, 0)).equals(0) & (count < at.MOST_PAGES)):
        page = f.at(f.load("ptr", named(f, "@page_arena")), count.to("i64") * at.PAGE_BYTES, "i8")
        lock(f, f.at(page, at.PAGE_LOCK, "i8"))
        put(f, page, at.PAGE_KEY, key)
        put(f, page, at.PAGE_PHASE, phase)
        size = f.number(at.PAGE_BYTES - at.PAGE_UNITS, "i64")
        f.call("memset", "ptr", [f.at(page, at.PAGE_UNITS, "i8"), f.number(0, "i32"), size])
        leave_page(f, page)
        f.store(page.to("i64"), _place(f, slot, 1))
        f.line(f"store atomic i64 {key.name}, ptr {_place(f, slot, 0).name} release, align 8")
        f.store(count + 1, named(f, "@page_count"))
    unlock(f, named(f, "@page_lock"))
    f.line(f"ret ptr {f.call(FIND_PAGE, 'ptr', [key]).name}")
    return f.text()


def _hold() -> str:
    """`hold_page(found, key, phase)`: the page that was found, or a new one; null if it is not looked at.

    A new page has its units where the first access to it has: 16 cells from `phase` on are one.
    """
    f = Function(HOLD_PAGE, "ptr", [("found", "ptr"), ("key", "i64"), ("phase", "i32")], "alwaysinline")
    found, key, phase = f.parameters
    page = f.variable("ptr", found)
    with f.when(page.now.to("i64").equals(0)):
        page.set(f.call(_NEW, "ptr", [key, phase]))
    with f.when(page.now.to("i64").differs(0)):
        lock(f, f.at(page.now, at.PAGE_LOCK, "i8"))
        with f.when(field(f, page.now, at.PAGE_KEY, "i64").differs(key)):
            leave_page(f, page.now)
            f.give(named(f, "null"), "ptr")
    f.line(f"ret ptr {page.now.name}")
    return f.text()


# cells of a unit ------------------------------------------------------------------------------------------------
def _fill() -> str:
    """`fill(record, words, blocks)`: 16 cells get what their unit had."""
    f = Function(_FILL, "void", [("record", "ptr"), ("words", "ptr"), ("blocks", "ptr")], "noinline")
    record, words, blocks = f.parameters
    word, block = field(f, record, at.UNIT_WORD, "i64"), field(f, record, at.UNIT_BLOCK)
    form = field(f, record, at.UNIT_FORM)
    shift = form & ((1 << at.FORM_BITS) - 1)
    every = f.number(1 << at.UNIT_BITS, "i64")
    with f.count(0, every) as i:
        f.store(word | thread_in(form, i, shift), f.at(words, i, "i64"))
    with f.count(0, every) as i:
        f.store(block, f.at(blocks, i, "i32"))
    f.line("ret void")
    return f.text()


def _owner(page: Number, place: Number, f: Function) -> Number:
    """What stands for the unit of a cell."""
    return (field(f, page, at.PAGE_KEY, "i64") << 7) | (place >> at.UNIT_BITS)


def is_apart(f: Function, unit: Number) -> Number:
    """Whether a unit has cells of its own, or no room for them, in this launch."""
    form = field(f, unit, at.UNIT_WRITE + at.UNIT_FORM) & ((1 << at.FORM_BITS) - 1)
    return (form >= at.HAS_CELLS) & is_of_launch(f, field(f, unit, at.UNIT_WRITE + at.UNIT_BLOCK))


def _leave_units(f: Function, unit: Number, form: int) -> None:
    """The record of a unit does not describe it until the launch ends."""
    put(f, unit, at.UNIT_WRITE + at.UNIT_FORM, f.number(form, "i32"))
    put(f, unit, at.UNIT_WRITE + at.UNIT_BLOCK, f.load("i32", named(f, "@first_block")))


def _spread() -> str:
    """`new_cells(page, place)`: the unit gets cells of its own, which are held; null if there is no room."""
    f = Function(_SPREAD, "ptr", [("page", "ptr"), ("place", "i64")], "noinline")
    page, place = f.parameters
    unit = unit_of(f, page, place)
    number = f.made("atomicrmw add ptr @cells_count, i32 1 monotonic", "i32")
    with f.when(_is_left_out(field(f, page, at.PAGE_KEY, "i64"), number, at.MOST_CELLS)):
        _leave_units(f, unit, at.IS_UNSEEN)
        _skip(f)
        f.give(named(f, "null"), "ptr")
    cells = f.at(f.load("ptr", named(f, "@cells_arena")), number.to("i64") * at.CELLS_BYTES, "i8")
    lock(f, f.at(cells, at.CELLS_LOCK, "i8"))
    put(f, cells, at.CELLS_OWNER, _owner(page, place, f))
    rows = ((at.UNIT_WRITE, at.CELL_WRITES, at.CELL_WRITERS), (at.UNIT_READ, at.CELL_READS, at.CELL_READERS))
    for record, words, blocks in rows:
        f.call(_FILL, "void", [f.at(unit, record, "i8"), f.at(cells, words, "i8"), f.at(cells, blocks, "i8")])
    put(f, unit, at.UNIT_WRITE + at.UNIT_WORD, cells.to("i64"))
    put(f, unit, at.UNIT_READ + at.UNIT_BLOCK, f.number(0, "i32"))
    _leave_units(f, unit, at.HAS_CELLS)
    f.line(f"ret ptr {cells.name}")
    return f.text()


def _hold_cells() -> str:
    """`hold_cells(page, place)`: the cells of a unit of a page that is held; null if there is no room for them."""
    f = Function(HOLD_CELLS, "ptr", [("page", "ptr"), ("place", "i64")], "noinline")
    page, place = f.parameters
    unit = unit_of(f, page, place)
    with f.when(is_apart(f, unit) ^ 1):
        f.give(f.call(_SPREAD, "ptr", [page, place]), "ptr")
    with f.when(field(f, unit, at.UNIT_WRITE + at.UNIT_FORM).equals(at.IS_UNSEEN)):
        f.give(named(f, "null"), "ptr")
    cells = field(f, unit, at.UNIT_WRITE + at.UNIT_WORD, "ptr")
    lock(f, f.at(cells, at.CELLS_LOCK, "i8"))
    with f.when(field(f, cells, at.CELLS_OWNER, "i64").differs(_owner(page, place, f))):
        leave_cells(f, cells)
        f.give(named(f, "null"), "ptr")
    f.line(f"ret ptr {cells.name}")
    return f.text()


def _end_launch() -> str:
    """`end_launch()`: what the next launch accesses is new; gives whether pages were not looked at."""
    f = Function(END_LAUNCH, "i32", [], "noinline")
    place = named(f, "@page_lock")
    lock(f, place)
    over = f.load("i32", named(f, "@block_serial")) >= at.LAST_SERIAL
    with f.when(over | (f.load("i32", named(f, "@page_count")) >= at.MOST_PAGES // 2)):
        size = f.number(16 * at.PAGE_SLOTS, "i64")
        f.call("memset", "ptr", [named(f, "@pages"), f.number(0, "i32"), size])
        f.store(f.number(0, "i32"), named(f, "@page_count"))
    f.store(f.number(0, "i32"), named(f, "@cells_count"))
    # only now: a block that began before has found pages of the old table
    serial = f.made("atomicrmw add ptr @block_serial, i32 0 seq_cst", "i32")
    with f.when(serial >= at.LAST_SERIAL):
        f.store(f.number(0, "i32"), named(f, "@block_serial"))
    f.store(f.load("i32", named(f, "@block_serial")) + 1, named(f, "@first_block"))
    f.call("triptych_check_forget_releases", "void", [])
    skipped = f.made("atomicrmw xchg ptr @skipped_pages, i32 0 monotonic", "i32")
    unlock(f, place)
    f.line(f"ret i32 {skipped.name}")
    return f.text()
