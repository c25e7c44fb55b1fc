"""Async proxy agents, native code: TMA copies that complete on an mbarrier, bulk stores, WGMMAs.

A TMA load is a write by the agent of its mbarrier; whoever has seen the phase end knows it. Stores and products
read: their agent is that of the warp, and whoever waits for the group knows it. Four warps make a product together, so
that each that waits for its group knows all four. An mbarrier keeps two rows of times: what was released in the phase
that goes on, and all that the last complete phase has released. That a phase is over is read from the barrier itself
whenever somebody comes to it: no phase ends without an arrival, so none is missed.
"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager

from triptych.kernel_ir.dialects.mma import WARPGROUP_WARPS
from triptych.sanitizer.findings import Kind
from triptych.targets.cpu.sanitizer import shadow_layout as at
from triptych.targets.cpu.sanitizer.finding_code import RECORD
from triptych.targets.cpu.sanitizer.happens_before_code import (
    KNOWS,
    STATE,
    field,
    known_place,
    position,
    put,
    raise_to,
    site_of,
    stamp_of,
    thread_of,
    whole_warp,
)
from triptych.targets.cpu.sanitizer.llvm_writer import Function, Number
from triptych.targets.cpu.sanitizer.shadow_code import RUN_NOW, last_read, not_landed

PHASE = "triptych_check_phase"
LOAD = "triptych_check_load"
USE = "triptych_check_use"
ASK = "triptych_check_ask"
_NONE = at.MOST_PHASES
_BARRIER_BYTES = 8
_USES_BARRIER = at.READS_MEMORY | at.IS_ATOMIC | at.OF_BARRIER


def async_proxy_code() -> str:
    """All functions of this file."""
    cells = (_write_cells(), _uses(), _read_cells())
    return "".join((_find(), _settle(), _phase(), _groups(), *cells, _load(), _ask(), _use(), _ended()))


def _word(f: Function, state: Number, offset: int, index: Number) -> Number:
    return f.at(f.at(state, offset, "i8"), index, "i32")


def phase_row(f: Function, state: Number, index: Number, done: int) -> Number:
    """The times that an mbarrier keeps: of the phase that goes on, or of all that are done."""
    return f.at(field(f, state, at.PHASE_ROWS, "ptr"), (index * 2 + done) * at.ROW, "i32")


def _parity(f: Function, address: Number) -> Number:
    return (f.load("i64", address.to("ptr")) >> 63).to("i32")


def _report(
    f: Function, state: Number, kind: Kind, word: Number, site: Number, before: Number, now: Number, where: Number
) -> None:
    f.call(RECORD, "void", [state, f.number(kind.value, "i32"), site_of(word), site, before, now, where])


def _find() -> str:
    """`find(state, address)`: the number of an mbarrier, which settles what it knows; too many are reported."""
    f = Function("triptych_check_find", "i32", [("state", "ptr"), ("address", "i64")], "noinline")
    state, address = f.parameters
    keys, count = f.at(state, at.PHASE_KEYS, "i8"), field(f, state, at.PHASE_COUNT)
    found = position(f, keys, count, address)
    with f.when(found.now >= at.MOST_PHASES):
        numbers = [f.number(value, "i32") for value in (Kind.TOO_MANY_MBARRIERS.value, 0, 0, 0, 0, at.MOST_PHASES)]
        f.call(RECORD, "void", [state, *numbers])
        f.give(_NONE, "i32")
    with f.when(found.now.equals(count)):
        size = f.number(8 * at.ROW, "i64")
        with f.when(field(f, state, at.PHASE_ROWS, "i64").equals(0)):
            put(f, state, at.PHASE_ROWS, f.call("calloc", "ptr", [f.number(at.MOST_PHASES, "i64"), size]))
        f.store(address, f.at(keys, found.now, "i64"))
        put(f, state, at.PHASE_COUNT, count + 1)
        f.call("memset", "ptr", [phase_row(f, state, found.now, 0), f.number(0, "i32"), size])
        f.store(_parity(f, address), _word(f, state, at.PHASE_PARITY, found.now))
    f.call("triptych_check_settle", "void", [state, found.now, address])
    f.line(f"ret i32 {found.now.name}")
    return f.text()


def _settle() -> str:
    """`settle(state, index, address)`: if the phase has ended, all that was released in it is acquired by waiting."""
    f = Function("triptych_check_settle", "void", [("state", "ptr"), ("index", "i32"), ("address", "i64")])
    state, index, address = f.parameters
    place, now = _word(f, state, at.PHASE_PARITY, index), _parity(f, address)
    with f.when(f.load("i32", place).differs(now)):
        f.store(now, place)
        time = next_time(f, state)
        current = phase_row(f, state, index, 0)
        f.store(time, f.at(current, index + (at.MOST_THREADS + at.MBARRIER_AGENT), "i32"))
        f.call("memcpy", "ptr", [phase_row(f, state, index, 1), current, f.number(4 * at.ROW, "i64")])
    f.line("ret void")
    return f.text()


def next_time(f: Function, state: Number) -> Number:
    """All that agents have begun so far is earlier."""
    time = field(f, state, at.AGENT_TIME) + 1
    put(f, state, at.AGENT_TIME, time)
    return time


def _phase() -> str:
    """`phase(what, mask, first, barrier, site)`: lanes make or use an mbarrier, arrive, or have seen its phase end."""
    names = [("what", "i32"), ("mask", "i64"), ("first", "i32"), ("barrier", "ptr"), ("site", "i32")]
    f = Function(PHASE, "void", names, "noinline")
    what, mask, first, barrier, site = f.parameters
    state = f.call(STATE, "ptr", ())
    with f.when(what.differs(at.PASS_PHASE)):
        kind = f.select(what.equals(at.MAKE_PHASE), at.WRITES_MEMORY, _USES_BARRIER, "i32")
        _access_barrier(f, state, barrier, mask, first, kind, site)
    with f.when(what < at.ARRIVE_PHASE):
        f.give()
    index = f.call("triptych_check_find", "i32", [state, barrier.to("i64")])
    with f.when(index.equals(_NONE)):
        f.give()
    with f.when(what.equals(at.ARRIVE_PHASE)):
        f.call("triptych_check_give", "void", [state, phase_row(f, state, index, 0), mask, first])
        f.call("triptych_check_advance", "void", [state, first >> field(f, state, at.LANES)])
    with f.when(what.equals(at.PASS_PHASE)):
        whole = whole_warp(f, state, first, mask)
        f.call("triptych_check_take", "void", [state, phase_row(f, state, index, 1), mask, first, whole])
    f.line("ret void")
    return f.text()


def _access_barrier(
    f: Function, state: Number, barrier: Number, mask: Number, first: Number, kind: Number, site: Number
) -> None:
    """The mbarrier itself is accessed, in whichever block it lies: whoever makes it is ordered before its users."""
    with f.when((field(f, state, at.MODE) & at.OF_SHARED).differs(0)):
        where = [barrier, f.number(0, "i64")]
        lanes = [mask, first, f.number(1, "i32") << field(f, state, at.LANES)]
        what = [f.number(_BARRIER_BYTES, "i32"), kind, site, Number(f, "null", "ptr")]
        f.call(RUN_NOW, "void", [state, *where, *lanes, *what])


def _groups() -> str:
    """`groups(state, what, mask, first, place, newest)`: fences of these lanes, their groups of stores and products.

    `place` is that of the warp in its warpgroup.
    """
    names = [("state", "ptr"), ("what", "i32"), ("mask", "i64"), ("first", "i32"), ("place", "i32"), ("newest", "i32")]
    f = Function("triptych_check_groups", "void", names, "noinline")
    state, what, mask, first, place, newest = f.parameters
    warp = first >> field(f, state, at.LANES)
    put(f, state, at.USES_CLOCKS, f.number(1, "i32"))
    with f.when(what.equals(at.COMMIT_PRODUCTS)):
        some = f.number(1, "i1")
        _close(f, state, _word(f, state, at.PRODUCT_COUNT, warp), _word(f, state, at.PRODUCT_ENDS, warp << 4), some)
    with f.when(what.equals(at.AWAIT_PRODUCTS)):
        _await_products(f, state, warp, place, newest)
    clock = f.at(f.at(state, at.CLOCKS, "i8"), warp, "i32")
    with f.count(0, f.number(64, "i32")) as lane, f.when(((mask >> lane.to("i64")) & 1).differs(0)):
        thread = first + lane
        count_at = _word(f, state, at.STORE_COUNT, thread)
        ends = _word(f, state, at.STORE_ENDS, thread << 4)
        with f.when(what.equals(at.FENCE_PROXY)):
            f.store(f.load("i32", clock) + 1, _word(f, state, at.FENCED, thread))
            f.store(field(f, state, at.BLOCK_TIME), _word(f, state, at.FENCE_EPOCH, thread))
        with f.when(what.equals(at.COMMIT_STORES)):
            open_at = _word(f, state, at.STORE_OPEN, thread)
            _close(f, state, count_at, ends, f.load("i32", open_at).differs(0))
            f.store(f.number(0, "i32"), open_at)
        with f.when(what.equals(at.AWAIT_STORES) & (newest < f.load("i32", count_at))):
            end = f.load("i32", _end(f, ends, f.load("i32", count_at) - newest - 1))
            mine = f.call("triptych_check_row", "ptr", [state, thread])
            raise_to(f, f.at(mine, warp + (at.MOST_THREADS + at.STORE_AGENT), "i32"), end)
    with f.when(what.equals(at.FENCE_PROXY)):
        f.call("triptych_check_advance", "void", [state, warp])
    f.line("ret void")
    return f.text()


def _await_products(f: Function, state: Number, warp: Number, place: Number, newest: Number) -> None:
    """A group is one of the warpgroup: who has waited for it knows what the other three warps have read, too.

    One that has not closed the group yet cannot have begun a product of the next.
    """
    count = f.load("i32", _word(f, state, at.PRODUCT_COUNT, warp))
    with f.when(newest < count), f.count(warp - place, warp - place + WARPGROUP_WARPS) as other:
        group = count - newest - 1
        closed = group < f.load("i32", _word(f, state, at.PRODUCT_COUNT, other))
        end = f.load("i32", _end(f, _word(f, state, at.PRODUCT_ENDS, other << 4), group))
        known = f.select(closed, end, next_time(f, state), "i32")
        raise_to(f, known_place(f, state, warp, other + (at.MOST_WARPS + at.WGMMA_AGENT)), known)


def _end(f: Function, ends: Number, group: Number) -> Number:
    return f.at(ends, group & (at.OPEN_GROUPS - 1), "i32")


def _close(f: Function, state: Number, count_at: Number, ends: Number, some: Number) -> None:
    """What was begun since the last one is a group; an empty one ends with the one before it."""
    count = f.load("i32", count_at)
    before = f.load("i32", _end(f, ends, count - 1))
    before = f.select(count.equals(0), 0, before, "i32")
    f.store(f.select(some, next_time(f, state), before, "i32"), _end(f, ends, count))
    f.store(count + 1, count_at)


def _issuer(f: Function, state: Number, other: Number) -> Number:
    return f.load("i32", _word(f, state, at.AGENT_ISSUER, other - at.FIRST_AGENT))


def _cells(f: Function, state: Number, low: Number, size: Number) -> tuple[Number, Number]:
    """The first cell and the one behind the last; none for what lies outside."""
    grain = field(f, state, at.GRAIN).to("i64")
    byte = low.to("i64") - field(f, state, at.SHARED, "i64")
    limit = field(f, state, at.SHARED_BYTES, "i64")
    inside = (byte < limit) & ((byte + size - 1) < limit)
    begin = f.select(inside, byte >> grain, 0, "i64")
    return begin, f.select(inside, ((byte + size - 1) >> grain) + 1, 0, "i64")


def _write_cells() -> str:
    """`write_cells(state, thread, begin, end, site)`: somebody is about to write there for a thread."""
    names = [("state", "ptr"), ("thread", "i32"), ("low", "i64"), ("high", "i64"), ("site", "i32")]
    f = Function("triptych_check_write_cells", "void", names, "noinline")
    state, thread, begin, end, site = f.parameters
    start, block = (field(f, state, offset) for offset in (at.START, at.BLOCK_TIME))
    writes, grain = field(f, state, at.WRITES, "ptr"), field(f, state, at.GRAIN).to("i64")
    with _strange(f, writes, begin, end, start) as (word, cell):
        where = f.binary("shl", cell, grain).to("i32")
        with f.when(thread_of(word) >= at.PROXY):
            not_landed(f, state, word, thread, site, where)
        other, stamp = thread_of(word), stamp_of(word)
        with f.when((other < at.MOST_THREADS) & other.differs(thread) & (stamp >= block)):
            knows = f.call(KNOWS, "i1", [state, thread, other, stamp])
            with f.when(knows ^ 1):
                _report(f, state, Kind.WRITE_AFTER_WRITE, word, site, other, thread, where)
    reads, count = field(f, state, at.READS, "ptr"), field(f, state, at.CELL_COUNT, "i64")
    warps = field(f, state, at.WARPS)
    with f.count(0, warps) as warp, f.when(f.load("i32", last_read(f, state, warp)).equals(block)):
        row = f.at(reads, warp.to("i64") * count, "i64")
        with _strange(f, row, begin, end, block) as (word, cell):
            other, several = thread_of(word), (word & at.SEVERAL).differs(0)
            with f.when((other.equals(thread) & (several ^ 1)) ^ 1):
                neighbour = f.select(other.equals(thread), other ^ 1, other, "i32")
                knows = f.call(KNOWS, "i1", [state, thread, neighbour, stamp_of(word)])
                with f.when(knows ^ 1):
                    where = f.binary("shl", cell, grain).to("i32")
                    _report(f, state, Kind.WRITE_AFTER_READ, word, site, neighbour, thread, where)
    f.call("triptych_check_uses", "void", [state, thread, begin, end, site])
    f.line("ret void")
    return f.text()


def _uses() -> str:
    """`uses(state, thread, begin, end, site)`: nobody writes what stores and products under way read."""
    names = [("state", "ptr"), ("thread", "i32"), ("low", "i64"), ("high", "i64"), ("site", "i32")]
    f = Function("triptych_check_uses", "void", names, "noinline")
    state, thread, begin, end, site = f.parameters
    reads, count = field(f, state, at.READS, "ptr"), field(f, state, at.CELL_COUNT, "i64")
    warps, grain = field(f, state, at.WARPS), field(f, state, at.GRAIN).to("i64")
    with f.count(0, warps) as warp, f.when(f.load("i32", _word(f, state, at.HAS_READS, warp)).differs(0)):
        row = f.at(reads, (warps + warp).to("i64") * count, "i64")
        with _strange(f, row, begin, end, field(f, state, at.AGENT_START)) as (word, cell):
            knows = f.call(KNOWS, "i1", [state, thread, thread_of(word), stamp_of(word)])
            with f.when(knows ^ 1):
                where = f.binary("shl", cell, grain).to("i32")
                issuer = _issuer(f, state, thread_of(word))
                _report(f, state, Kind.STILL_READ, word, site, issuer, thread, where)
    f.line("ret void")
    return f.text()


@contextmanager
def _strange(f: Function, row: Number, begin: Number, end: Number, since: Number) -> Iterator[tuple[Number, Number]]:
    """What is written inside happens for cells with a word not older than a time, once for each run of equal words."""
    last = f.variable("i64", 0)
    with f.count(begin, end) as cell:
        word = f.load("i64", f.at(row, cell, "i64"))
        with f.when(word.differs(last.now) & (stamp_of(word) >= since)):
            last.set(word)
            yield word, cell


def _load() -> str:
    """`load(thread, target, barrier, size, site)`: a copy begins whose bytes an mbarrier counts."""
    names = [("thread", "i32"), ("target", "ptr"), ("barrier", "ptr"), ("size", "i64"), ("site", "i32")]
    f = Function(LOAD, "void", names, "noinline")
    thread, target, barrier, size, site = f.parameters
    state = f.call(STATE, "ptr", ())
    begin, end = _cells(f, state, target, size)
    index = f.call("triptych_check_find", "i32", [state, barrier.to("i64")])
    with f.when(index.equals(_NONE)):
        f.give()
    _access_barrier(f, state, barrier, f.number(1, "i64"), thread, f.number(_USES_BARRIER, "i32"), site)
    with f.when((field(f, state, at.MODE) & at.CHECK_RACES).differs(0)):
        f.call("triptych_check_write_cells", "void", [state, thread, begin, end, site])
    agent = index + at.MBARRIER_AGENT
    f.store(thread, _word(f, state, at.AGENT_ISSUER, agent))
    writes, word = field(f, state, at.WRITES, "ptr"), agent_word(f, state, agent, site)
    with f.count(begin, end) as cell:
        f.store(word, f.at(writes, cell, "i64"))
    put(f, state, at.LAST_WRITE, field(f, state, at.BLOCK_TIME))
    f.line("ret void")
    return f.text()


def _ask() -> str:
    """`ask(thread, barrier, given, site)`: launch control answers on an mbarrier; who knows of a refusal never asks."""
    names = [("thread", "i32"), ("barrier", "ptr"), ("given", "i32"), ("site", "i32")]
    f = Function(ASK, "void", names, "noinline")
    thread, barrier, given, site = f.parameters
    state = f.call(STATE, "ptr", ())
    index = f.call("triptych_check_find", "i32", [state, barrier.to("i64")])
    with f.when(index.equals(_NONE)):
        f.give()
    word = field(f, state, at.REFUSED, "i64")
    with f.when(word.differs(0)):
        with f.when(f.call(KNOWS, "i1", [state, thread, thread_of(word), stamp_of(word)])):
            _report(f, state, Kind.ASKED_AGAIN, word, site, thread, thread, f.number(0, "i32"))
        f.give()
    with f.when(given.equals(0)):
        put(f, state, at.REFUSED, agent_word(f, state, index + at.MBARRIER_AGENT, site))
    f.line("ret void")
    return f.text()


def agent_word(f: Function, state: Number, agent: Number, site: Number) -> Number:
    """The word of a cell that an agent accesses now."""
    time = field(f, state, at.AGENT_TIME).to("i64") << 32
    return time | (site << at.THREAD_BITS).to("i64") | (agent + at.FIRST_AGENT).to("i64")


def _read_cells() -> str:
    """`read_cells(state, thread, begin, end, site)`: somebody is about to read there for a thread."""
    names = [("state", "ptr"), ("thread", "i32"), ("low", "i64"), ("high", "i64"), ("site", "i32")]
    f = Function("triptych_check_read_cells", "void", names, "noinline")
    state, thread, begin, end, site = f.parameters
    start, block, mode = (field(f, state, offset) for offset in (at.START, at.BLOCK_TIME, at.MODE))
    writes, grain = field(f, state, at.WRITES, "ptr"), field(f, state, at.GRAIN).to("i64")
    with f.when((mode & at.CHECK_INIT).differs(0)):
        new = f.variable("i64", -1)
        with f.count(begin, end) as cell:
            fresh = stamp_of(f.load("i64", f.at(writes, cell, "i64"))) < start
            new.set(f.select(fresh, cell, new.now, "i64"))
        with f.when(new.now.differs(-1)):
            where = f.binary("shl", new.now, grain).to("i32")
            kind = f.number(Kind.UNINITIALISED.value, "i32")
            f.call(RECORD, "void", [state, kind, site, site, thread, thread, where])
    with f.when((mode & at.CHECK_RACES).equals(0)):
        f.give()
    with _strange(f, writes, begin, end, start) as (word, cell):
        where = f.binary("shl", cell, grain).to("i32")
        with f.when(thread_of(word) >= at.PROXY):
            not_landed(f, state, word, thread, site, where)
        other, stamp = thread_of(word), stamp_of(word)
        with f.when(other < at.MOST_THREADS):
            known = f.variable("i1", other.equals(thread) | (stamp < block))
            with f.when(known.now ^ 1):
                known.set(f.call(KNOWS, "i1", [state, thread, other, stamp]))
            with f.when(known.now ^ 1):
                _report(f, state, Kind.READ_AFTER_WRITE, word, site, other, thread, where)
            theirs = f.load("i32", _word(f, state, at.FENCED, other))
            mine = f.load("i32", _word(f, state, at.FENCE_EPOCH, thread))
            own = f.load("i32", _word(f, state, at.FENCED, thread))
            fenced = (stamp < theirs) | (stamp < mine) | (other.equals(thread) & (stamp < own))
            with f.when(known.now & (fenced ^ 1)):
                _report(f, state, Kind.NOT_FENCED, word, site, other, thread, where)
    f.line("ret void")
    return f.text()


def _use() -> str:
    """`use(thread, low, size, site, agent)`: a bulk store of a thread, or a product of its warp, begins to read."""
    names = [("thread", "i32"), ("low", "ptr"), ("size", "i64"), ("site", "i32"), ("agent", "i32")]
    f = Function(USE, "void", names, "noinline")
    thread, low, size, site, base = f.parameters
    state = f.call(STATE, "ptr", ())
    begin, end = _cells(f, state, low, size)
    f.call("triptych_check_read_cells", "void", [state, thread, begin, end, site])
    warp, warps = thread >> field(f, state, at.LANES), field(f, state, at.WARPS)
    agent = base + warp
    f.store(thread, _word(f, state, at.AGENT_ISSUER, agent))
    f.store(f.number(1, "i32"), _word(f, state, at.HAS_READS, warp))
    word = agent_word(f, state, agent, site)
    row = (warps + warp).to("i64") * field(f, state, at.CELL_COUNT, "i64")
    mine = f.at(field(f, state, at.READS, "ptr"), row, "i64")
    with f.count(begin, end) as cell:
        f.store(word, f.at(mine, cell, "i64"))
    with f.when(base.equals(at.STORE_AGENT)):
        f.store(f.number(1, "i32"), _word(f, state, at.STORE_OPEN, thread))
        f.store(word, f.at(f.at(state, at.STORED, "i8"), warp, "i64"))
    f.line("ret void")
    return f.text()


def _ended() -> str:
    """`parties_ended(state)`: the block has ended; who began a store and never waited is reported."""
    f = Function("triptych_check_agents_ended", "void", [("state", "ptr")], "noinline")
    (state,) = f.parameters
    with f.when((field(f, state, at.MODE) & at.CHECK_RACES).equals(0)):
        f.give()
    with f.count(0, field(f, state, at.WARPS)) as warp:
        word = f.load("i64", f.at(f.at(state, at.STORED, "i8"), warp, "i64"))
        with f.when(stamp_of(word) >= field(f, state, at.AGENT_START)):
            thread = _issuer(f, state, thread_of(word))
            knows = f.call(KNOWS, "i1", [state, thread, thread_of(word), stamp_of(word)])
            with f.when(knows ^ 1):
                _report(f, state, Kind.NEVER_AWAITED, word, site_of(word), thread, thread, f.number(0, "i32"))
    f.line("ret void")
    return f.text()
