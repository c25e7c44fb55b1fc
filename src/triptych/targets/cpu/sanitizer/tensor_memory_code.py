"""Shadow of tensor memory, native code: who wrote and who loaded each quarter of 32 lanes of each column.

A product, or a copy into tensor memory, is a write by the agent of the warp that issues it, which is done in the order
of issue; a commit releases it to the mbarrier that it arrives on, and whoever has seen the phase end knows it. Loads
and stores of a warp have an agent each, which it knows when it has waited for them. A cell has a word for the last
write, and for each warp that can reach it two for its last load: one by the agent and one by the thread, for who gives
columns back only has to come later. Scales are read by the agent of products. Cells begin anew when their columns are
taken.
"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager

from triptych.kernel_ir.dialects.tensor_memory import COLUMNS, LANE_SHIFT, LANES, WARP_LANES
from triptych.sanitizer.findings import Kind
from triptych.targets.cpu.sanitizer import shadow_layout as at
from triptych.targets.cpu.sanitizer.async_proxy_code import PHASE, agent_word, next_time, phase_row
from triptych.targets.cpu.sanitizer.finding_code import RECORD
from triptych.targets.cpu.sanitizer.happens_before_code import (
    KNOWS,
    STATE,
    clock_place,
    field,
    known_place,
    put,
    raise_to,
    site_of,
    stamp_of,
    thread_of,
)
from triptych.targets.cpu.sanitizer.llvm_writer import Function, Number
from triptych.targets.cpu.sanitizer.shadow_code import not_landed

TENSOR = "triptych_check_tensor"
TENSOR_COMMIT = "triptych_check_tensor_commit"
TENSOR_WAIT = "triptych_check_tensor_wait"
_QUARTERS = LANES // WARP_LANES
_QUARTER_SHIFT = LANE_SHIFT + WARP_LANES.bit_length() - 1
_CELLS = at.MOST_BLOCKS * COLUMNS * _QUARTERS
_FIRST_READS, _TABLES_OF_SLOT = 1, 2
_RANGE = [("state", "ptr"), ("thread", "i32"), ("low", "i32"), ("high", "i32"), ("step", "i32"), ("site", "i32")]


def tensor_memory_code() -> str:
    """All functions of this file."""
    return "".join((_table(), _written(), _loaded(), _given_back(), _tensor(), _commit(), _wait()))


def _row(f: Function, state: Number, number: Number | int) -> Number:
    """One word of all cells: the last writes, then for each slot the loads by agents and by threads."""
    return f.at(field(f, state, at.TENSOR_CELLS, "ptr"), f.number(number, "i32") * _CELLS, "i64")


@contextmanager
def _strange(f: Function, row: Number, low: Number, high: Number, step: Number) -> Iterator[tuple[Number, Number]]:
    """What is written inside happens once for each run of equal words, with where it begins for reports."""
    last, cell = f.variable("i64", -1), f.variable("i32", low)
    with f.during(lambda: cell.now < high):
        word = f.load("i64", f.at(row, cell.now, "i64"))
        with f.when(word.differs(last.now)):
            last.set(word)
            yield word, cell.now | at.IN_TENSOR_MEMORY
        cell.set(cell.now + step)


def _table() -> str:
    """`tensor_table(state)`: memory comes with the first use."""
    f = Function("triptych_check_tensor_table", "void", [("state", "ptr")], "noinline")
    (state,) = f.parameters
    with f.when(field(f, state, at.TENSOR_CELLS, "i64").equals(0)):
        words = _CELLS * (_FIRST_READS + _TABLES_OF_SLOT * at.TENSOR_SLOTS)
        put(f, state, at.TENSOR_CELLS, f.call("calloc", "ptr", [f.number(words, "i64"), f.number(8, "i64")]))
    f.line("ret void")
    return f.text()


def _written() -> str:
    """`tensor_written(state, thread, low, high, step, site, own, needed)`: what others have written there is complete.

    `own` is the agent whose writes are done in order; `needed` is what to report of cells that nobody has written.
    """
    f = Function("triptych_check_tensor_written", "void", [*_RANGE, ("own", "i32"), ("needed", "i32")], "noinline")
    state, thread, low, high, step, site, own, kind = f.parameters
    needed = kind.differs(0) & (field(f, state, at.MODE) & at.CHECK_INIT).differs(0)
    with _strange(f, _row(f, state, 0), low, high, step) as (word, where):
        with f.when(word.equals(0) & needed):
            f.call(RECORD, "void", [state, kind, site, site, thread, thread, where])
        with f.when(word.differs(0) & thread_of(word).differs(own)):
            not_landed(f, state, word, thread, site, where)
    f.line("ret void")
    return f.text()


def _loaded() -> str:
    """`tensor_loaded(state, thread, low, high, step, site)`: loads by others are complete."""
    f = Function("triptych_check_tensor_loaded", "void", _RANGE, "noinline")
    state, thread, low, high, step, site = f.parameters
    with f.when((field(f, state, at.MODE) & at.CHECK_RACES).equals(0)):
        f.give()
    lanes = field(f, state, at.LANES)
    with f.count(0, field(f, state, at.TENSOR_SLOT_COUNT)) as slot:
        row = _row(f, state, slot * _TABLES_OF_SLOT + _FIRST_READS)
        with _strange(f, row, low, high, step) as (word, where), f.when(word.differs(0)):
            other = thread_of(word)
            issuer = f.load("i32", f.at(f.at(state, at.AGENT_ISSUER, "i8"), other - at.FIRST_AGENT, "i32"))
            knows = f.variable("i1", f.call(KNOWS, "i1", [state, thread, other, stamp_of(word)]))
            stores, of_warp = f.compared("ne", step, 1), (issuer >> lanes).equals(thread >> lanes)
            loads = other >= at.FIRST_AGENT + at.TMEM_LOAD_AGENT
            knows.set(knows.now | (of_warp & (loads ^ stores ^ 1)))
            with f.when(knows.now ^ 1):
                kind = f.number(Kind.STILL_READ.value, "i32")
                f.call(RECORD, "void", [state, kind, site_of(word), site, issuer, thread, where])
    f.line("ret void")
    return f.text()


def _given_back() -> str:
    """`tensor_given_back(state, thread, low, high, step, site)`: threads have loaded before columns are given back."""
    f = Function("triptych_check_tensor_given_back", "void", _RANGE, "noinline")
    state, thread, low, high, step, site = f.parameters
    with f.when((field(f, state, at.MODE) & at.CHECK_RACES).equals(0)):
        f.give()
    lanes = field(f, state, at.LANES)
    with f.count(0, field(f, state, at.TENSOR_SLOT_COUNT)) as slot:
        row = _row(f, state, slot * _TABLES_OF_SLOT + (_FIRST_READS + 1))
        with _strange(f, row, low, high, step) as (word, where), f.when(word.differs(0)):
            other = thread_of(word)
            with f.when((other >> lanes).differs(thread >> lanes)):
                knows = f.call(KNOWS, "i1", [state, thread, other, stamp_of(word)])
                with f.when(knows ^ 1):
                    kind = f.number(Kind.WRITE_AFTER_READ.value, "i32")
                    f.call(RECORD, "void", [state, kind, site_of(word), site, other, thread, where])
    f.line("ret void")
    return f.text()


def _tensor() -> str:
    """`tensor(what, thread, rank, address, columns, adds, site)`: a warp takes, uses or gives back columns."""
    names = ("what", "thread", "rank", "address", "columns", "adds", "site")
    f = Function(TENSOR, "void", [(name, "i32") for name in names], "noinline")
    what, thread, rank, address, columns, adds, site = f.parameters
    state = f.call(STATE, "ptr", ())
    f.call("triptych_check_tensor_table", "void", [state])
    column = (rank * COLUMNS + (address & (COLUMNS - 1))) * _QUARTERS
    by_warp = what < at.TENSOR_PRODUCT
    begin = column + f.select(by_warp, (address >> _QUARTER_SHIFT) & (_QUARTERS - 1), 0, "i32")
    step = f.select(by_warp, _QUARTERS, 1, "i32")
    cells = [begin, column + columns * _QUARTERS, step]
    warp, lanes = thread >> field(f, state, at.LANES), [state, thread, *cells, site]
    uninitialized, nobody = f.number(Kind.UNINITIALISED.value, "i32"), f.number(0, "i32")
    products = warp + (at.FIRST_AGENT + at.WGMMA_AGENT)
    put(f, state, at.USES_CLOCKS, f.number(1, "i32"))
    with f.when(what.equals(at.TENSOR_ALLOC)):
        _forget(f, state, column, columns)
    with f.when(what.equals(at.TENSOR_LOAD)):
        f.call("triptych_check_tensor_written", "void", [*lanes, nobody, uninitialized])
        _read(f, state, thread, site, cells, at.TMEM_LOAD_AGENT)
    with f.when(what.equals(at.TENSOR_STORE)):
        f.call(
            "triptych_check_tensor_written",
            "void",
            [*lanes, warp + (at.FIRST_AGENT + at.TMEM_STORE_AGENT), nobody],
        )
        f.call("triptych_check_tensor_loaded", "void", lanes)
        _mark(f, _row(f, state, 0), cells, _by(f, state, thread, warp + at.TMEM_STORE_AGENT, site))
    with f.when(what.equals(at.TENSOR_PRODUCT)):
        added = f.select(adds.differs(0), uninitialized, nobody, "i32")
        f.call("triptych_check_tensor_written", "void", [*lanes, products, added])
        f.call("triptych_check_tensor_loaded", "void", lanes)
        _mark(f, _row(f, state, 0), cells, _by(f, state, thread, warp + at.WGMMA_AGENT, site))
    with f.when(what >= at.TENSOR_SCALES):
        of_scales = f.number(Kind.MISSING_SCALES.value, "i32")
        kind = f.select(what.equals(at.TENSOR_SCALES), of_scales, uninitialized, "i32")
        f.call("triptych_check_tensor_written", "void", [*lanes, products, kind])
        _read(f, state, thread, site, cells, at.WGMMA_AGENT)
    with f.when(what.equals(at.TENSOR_FREE)):
        f.call("triptych_check_tensor_written", "void", [*lanes, nobody, nobody])
        f.call("triptych_check_tensor_given_back", "void", lanes)
    f.line("ret void")
    return f.text()


def _by(f: Function, state: Number, thread: Number, agent: Number, site: Number) -> Number:
    """The word of an agent that a thread has begun something for."""
    f.store(thread, f.at(f.at(state, at.AGENT_ISSUER, "i8"), agent, "i32"))
    return agent_word(f, state, agent, site)


def _mark(f: Function, row: Number, cells: list[Number], word: Number) -> None:
    low, high, step = cells
    cell = f.variable("i32", low)
    with f.during(lambda: cell.now < high):
        f.store(word, f.at(row, cell.now, "i64"))
        cell.set(cell.now + step)


def _read(f: Function, state: Number, thread: Number, site: Number, cells: list[Number], agent: int) -> None:
    """The last loads of a slot, by an agent of a warp and by a thread of it."""
    warp = thread >> field(f, state, at.LANES)
    slot = (warp >> 2) & (at.TENSOR_SLOTS - 1)
    own = f.load("i32", clock_place(f, state, warp)).to("i64") << 32
    own = own | (site << at.THREAD_BITS).to("i64") | thread.to("i64")
    for place, word in enumerate((_by(f, state, thread, warp + agent, site), own), start=_FIRST_READS):
        _mark(f, _row(f, state, slot * _TABLES_OF_SLOT + place), cells, word)
    put(f, state, at.TENSOR_SLOT_COUNT, f.larger(field(f, state, at.TENSOR_SLOT_COUNT), slot + 1))


def _forget(f: Function, state: Number, first: Number, columns: Number) -> None:
    """Nobody has accessed columns that are taken now."""
    size = (columns * (8 * _QUARTERS)).to("i64")
    rows = field(f, state, at.TENSOR_SLOT_COUNT) * _TABLES_OF_SLOT + _FIRST_READS
    with f.count(0, rows) as number:
        f.call("memset", "ptr", [f.at(_row(f, state, number), first, "i64"), f.number(0, "i32"), size])


def _commit() -> str:
    """`tensor_commit(mask, first, barrier, site)`: a lane arrives when all products of its warp are complete."""
    names = [("mask", "i64"), ("first", "i32"), ("barrier", "ptr"), ("site", "i32")]
    f = Function(TENSOR_COMMIT, "void", names, "noinline")
    mask, first, barrier, site = f.parameters
    f.call(PHASE, "void", [f.number(at.ARRIVE_PHASE, "i32"), mask, first, barrier, site])
    state = f.call(STATE, "ptr", ())
    index = f.call("triptych_check_find", "i32", [state, barrier.to("i64")])
    with f.when(index.equals(at.MOST_PHASES)):
        f.give()
    warp = first >> field(f, state, at.LANES)
    row = phase_row(f, state, index, 0)
    raise_to(f, f.at(row, warp + (at.MOST_THREADS + at.WGMMA_AGENT), "i32"), next_time(f, state))
    f.line("ret void")
    return f.text()


def _wait() -> str:
    """`tensor_wait(first, agent)`: a warp has waited for its loads, or its stores."""
    f = Function(TENSOR_WAIT, "void", [("first", "i32"), ("agent", "i32")], "noinline")
    first, agent = f.parameters
    state = f.call(STATE, "ptr", ())
    warp = first >> field(f, state, at.LANES)
    put(f, state, at.USES_CLOCKS, f.number(1, "i32"))
    raise_to(f, known_place(f, state, warp, warp + agent + at.MOST_WARPS), next_time(f, state))
    f.line("ret void")
    return f.text()
