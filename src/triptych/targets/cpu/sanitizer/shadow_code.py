"""Shadow of shared memory, native code: every access of a warp's threads is compared with previous accesses.

What an access finds is nearly always older than the block's last barrier. Loops without branches look for that, which
LLVM makes vector code of; only where something is younger are threads looked at one by one.
"""

from __future__ import annotations

from triptych.sanitizer.findings import Kind
from triptych.targets.cpu.sanitizer import shadow_layout as at
from triptych.targets.cpu.sanitizer.finding_code import RECORD
from triptych.targets.cpu.sanitizer.happens_before_code import (
    KNOWS,
    STATE,
    clock_place,
    field,
    known_place,
    put,
    site_of,
    stamp_of,
    thread_of,
)
from triptych.targets.cpu.sanitizer.llvm_writer import Function, Number
from triptych.targets.cpu.sanitizer.pipeline_code import forget_calls

BEGIN_BLOCK = "triptych_check_block"
ACCESS_NOW = "triptych_check_access_now"
STORE_BEFORE = "triptych_check_store_before"
RUN_NOW = "triptych_check_run_now"
END_BLOCK = "triptych_check_end"
SETUP = "triptych_check_setup"

DECLARATIONS = """
declare ptr @calloc(i64, i64)
declare void @free(ptr)
declare ptr @memset(ptr, i32, i64)
declare i32 @pthread_key_create(ptr, ptr)
declare ptr @pthread_getspecific(%thread_key)
declare i32 @pthread_setspecific(%thread_key, ptr)
@key = internal global %thread_key 0
@block_serial = internal global i32 0
@block_places = internal global [65536 x i32] zeroinitializer, align 64
"""


def shadow_code() -> str:
    """All functions of this file; `%thread_key` stands for the type of a key of threads."""
    functions = (_setup(), _state(), _block(), _room(), _lane(), _update(), _store_before(), _access(), _run())
    return DECLARATIONS + "".join(functions)


def _setup() -> str:
    """`setup()`: called once when the code is loaded."""
    f = Function(SETUP, "void", [])
    f.line("%made = call i32 @pthread_key_create(ptr @key, ptr @free)")
    f.line("ret void")
    return f.text()


def _state() -> str:
    """`state()`: what the checkers know of the block that this thread runs."""
    f = Function(STATE, "ptr", [])
    key = f.load("%thread_key", Number(f, "@key", "ptr"))
    found = f.call("pthread_getspecific", "ptr", [key])
    with f.when(found.to("i64").equals(0)):
        made = f.call("calloc", "ptr", [f.number(1, "i64"), f.number(at.STATE_BYTES, "i64")])
        put(
            f,
            made,
            at.RELEASES,
            f.call("calloc", "ptr", [f.number(1, "i64"), f.number(at.RELEASE_BYTES + 4 * at.ROW, "i64")]),
        )
        put(f, made, at.LOG, f.call("calloc", "ptr", [f.number(1, "i64"), f.number(at.LOG_CAPACITY, "i64")]))
        f.call("pthread_setspecific", "i32", [key, made])
        f.give(made, "ptr")
    f.line(f"ret ptr {found.name}")
    return f.text()


def _room() -> str:
    """`grow(state, bytes)`: the shadow is at least so large."""
    f = Function("triptych_check_grow", "void", [("state", "ptr"), ("bytes", "i64")], "noinline")
    state, size = f.parameters
    with f.when(size < (field(f, state, at.CAPACITY, "i64") + 1)):
        f.give()
    f.call("free", "void", [field(f, state, at.WRITES, "ptr")])
    put(f, state, at.WRITES, f.call("calloc", "ptr", [f.number(1, "i64"), size + 64]))
    put(f, state, at.CAPACITY, size)
    f.line("ret void")
    return f.text()


def _block() -> str:
    """`block(shared, bytes, threads, grain, lanes, mode, x, y, z, table)`: another block begins."""
    names = ("bytes", "threads", "grain", "lanes", "mode", "x", "y", "z")
    f = Function(BEGIN_BLOCK, "void", [("shared", "ptr"), *((name, "i32") for name in names), ("table", "ptr")])
    shared, size, threads, grains, lanes, mode, x, y, z, table = f.parameters
    grain = grains & 0xFF
    state = f.call(STATE, "ptr", ())
    with f.when((mode & at.CHECK_GLOBAL).differs(0)):
        _number_block(f, state, grains >> 8, (x, y, z))
    count = ((size + ((f.number(1, "i32") << grain) - 1)) >> grain).to("i64")
    warps = (threads + ((f.number(1, "i32") << lanes) - 1)) >> lanes
    agents = (mode & at.HAS_AGENTS).differs(0)
    rows = warps + f.select(agents, warps + 1, 1, "i32")
    f.call("triptych_check_grow", "void", [state, count * 8 * rows.to("i64")])
    writes = field(f, state, at.WRITES, "ptr")
    fields = {at.SHARED: shared, at.SHARED_BYTES: size.to("i64"), at.TABLE: table, at.CELL_COUNT: count}
    fields |= {at.THREADS: threads, at.WARPS: warps, at.GRAIN: grain, at.LANES: lanes, at.MODE: mode}
    fields |= {at.LOG_BYTES: f.number(0, "i64"), at.LAST_WRITE: f.number(0, "i32")}
    _forget_others(f, state, agents, count, warps)
    fields |= {at.PENDING: f.number(0, "i32")}
    fields |= {at.READS: f.at(writes, count, "i64"), at.EPOCH: f.number(0, "i32"), at.PLACE_COUNT: f.number(0, "i32")}
    for offset, value in (fields | {at.BLOCK: x, at.BLOCK + 4: y, at.BLOCK + 8: z}).items():
        put(f, state, offset, value)
    latest = f.variable("i32", 0)
    clocks, passed = (f.at(state, offset, "i8") for offset in (at.CLOCKS, at.PASSED))
    every = f.number(at.MOST_WARPS, "i32")
    with f.count(0, every) as warp:
        latest.set(f.larger(latest.now, f.load("i32", f.at(clocks, warp, "i32"))))
    with f.when(latest.now >= at.LAST_TIME - (1 << 24)):
        _begin_anew(f, state)
        latest.set(0)
    time = latest.now + 1
    with f.count(0, every) as warp:
        f.store(time, f.at(clocks, warp, "i32"))
        f.store(f.number(0, "i32"), f.at(passed, warp, "i32"))
    forget_calls(f, state)
    put(f, state, at.START, time)
    put(f, state, at.BLOCK_TIME, time)
    _forget_clocks(f, state)
    with f.when(agents):
        _forget_agents(f, state, count)
        f.call("memset", "ptr", [shared, f.number(at.JUNK, "i32"), size.to("i64")])
    f.line("ret void")
    return f.text()


def _forget_others(f: Function, state: Number, agents: Number, count: Number, warps: Number) -> None:
    """Words of copies and of other agents are later than all clocks: those of another kernel must not be there.

    A kernel whose rows begin elsewhere would take them for reads of its own threads; a block that an error has ended
    may have left copies under way.
    """
    elsewhere = field(f, state, at.CELL_COUNT, "i64").differs(count) | field(f, state, at.WARPS).differs(warps)
    left = field(f, state, at.AGENT_TIME).differs(0) & (elsewhere | (agents ^ 1))
    with f.when(left | field(f, state, at.PENDING).differs(0)):
        _clear(f, state)


def _clear(f: Function, state: Number) -> None:
    """Nobody has accessed anything."""
    everything = field(f, state, at.CAPACITY, "i64")
    f.call("memset", "ptr", [field(f, state, at.WRITES, "ptr"), f.number(0, "i32"), everything])
    put(f, state, at.AGENT_TIME, f.number(0, "i32"))


def _begin_anew(f: Function, state: Number) -> None:
    """Clocks begin with the first time again: none that was kept may be a later one."""
    _clear(f, state)
    kept = [(at.LAST_READ, 1), (at.LAST_READS, at.MOST_WARPS), (at.FENCED, 2 * at.MOST_THREADS)]
    for offset, words in [*kept, (at.MEMO, 2 * at.MEMO_ENTRIES)]:
        f.call("memset", "ptr", [f.at(state, offset, "i8"), f.number(0, "i32"), f.number(4 * words, "i64")])


def _number_block(f: Function, state: Number, grain: Number, place: tuple[Number, Number, Number]) -> None:
    """Blocks differ by their numbers; where each is, is kept for reports, as far as it fits into a word."""
    serial = (f.made("atomicrmw add ptr @block_serial, i32 1 monotonic", "i32") & 0x3FFFFFFF) + 1
    x, y, z = place
    packed = (x & 0xFFFF) | ((y & 0xFF) << 16) | ((z & 0x7F) << 24) | at.NARROW_BLOCK
    f.store(packed, f.at(Number(f, "@block_places", "ptr"), serial & 0xFFFF, "i32"))
    put(f, state, at.SERIAL, serial)
    put(f, state, at.GLOBAL_GRAIN, grain)
    put(f, state, at.OTHER_BLOCK, f.number(0, "i32"))
    put(f, state, at.ACQUIRED, f.number(0, "i64"))


def _forget_agents(f: Function, state: Number, count: Number) -> None:
    """Their words are later than all clocks: those of the last block must not be there."""
    zero, time = f.number(0, "i32"), field(f, state, at.AGENT_TIME) + 1
    f.call("memset", "ptr", [field(f, state, at.WRITES, "ptr"), zero, count * 8])
    with f.when(time >= at.LAST_AGENT_TIME):
        _clear(f, state)
    time = f.select((time < at.LAST_TIME) | (time >= at.LAST_AGENT_TIME), at.LAST_TIME + 1, time, "i32")
    put(f, state, at.AGENT_TIME, time)
    put(f, state, at.AGENT_START, time)
    put(f, state, at.REFUSED, f.number(0, "i64"))
    put(f, state, at.PHASE_COUNT, zero)
    put(f, state, at.LAST_WRITE, field(f, state, at.BLOCK_TIME))
    counts = [(at.HAS_READS, at.MOST_WARPS), (at.STORE_COUNT, at.MOST_THREADS), (at.PRODUCT_COUNT, at.MOST_WARPS)]
    for offset, words in [*counts, (at.STORED, 2 * at.MOST_WARPS), (at.STORE_OPEN, at.MOST_THREADS)]:
        f.call("memset", "ptr", [f.at(state, offset, "i8"), zero, f.number(4 * words, "i64")])


def _forget_clocks(f: Function, state: Number) -> None:
    """What warps knew of each other; most kernels only have barriers of the block."""
    with f.when(field(f, state, at.USES_CLOCKS).differs(0)):
        put(f, state, at.USES_CLOCKS, f.number(0, "i32"))
        zero = f.number(0, "i32")
        f.call("memset", "ptr", [f.at(state, at.ARRIVED, "i8"), zero, f.number(16 * at.BARRIERS, "i64")])
        used = (field(f, state, at.PHASE_COUNT) + (at.MOST_WARPS + at.MBARRIER_AGENT)).to("i64") * 4
        with f.count(0, f.number(at.MOST_WARPS, "i32")) as warp:
            f.call("memset", "ptr", [known_place(f, state, warp, zero), zero, used])
        f.call("free", "void", [field(f, state, at.LANE_ROWS, "ptr")])
        put(f, state, at.LANE_ROWS, f.number(0, "i64"))


# one thread -----------------------------------------------------------------------------------------------------


def _lane() -> str:
    """`lane(state, thread, byte, size, kind, site, same)`: compare the access of one thread with all before it."""
    names = ("thread", "byte", "size", "kind", "site", "values")
    f = Function(
        "triptych_check_lane", "void", [("state", "ptr"), *((name, "i32") for name in names[:5]), ("value", "ptr")]
    )
    state, thread, byte, size, kind, site, value = f.parameters
    grain = field(f, state, at.GRAIN)
    first, last = byte >> grain, (byte + size - 1) >> grain
    mode, start, block = (field(f, state, offset) for offset in (at.MODE, at.START, at.BLOCK_TIME))
    writes = field(f, state, at.WRITES, "ptr")
    reads_it, writes_it = (kind & at.READS_MEMORY).differs(0), (kind & at.WRITES_MEMORY).differs(0)
    atomic = (kind & at.IS_ATOMIC).differs(0)
    with f.count(first, last + 1) as cell:
        word = f.load("i64", f.at(writes, cell, "i64"))
        stamp, other = stamp_of(word), thread_of(word)
        new = stamp < start
        where = f.binary("shl", cell, grain)
        with f.when(reads_it & new & (mode & at.CHECK_INIT).differs(0)):
            f.call(
                RECORD, "void", [state, f.number(Kind.UNINITIALISED.value, "i32"), site, site, thread, thread, where]
            )
        both_atomic = atomic & (word & at.ATOMIC).differs(0)
        several = (word & at.SEVERAL).differs(0) & field(f, state, at.USES_CLOCKS).equals(0)
        own = other.equals(thread) & ((kind & at.IS_COLLECTIVE).equals(0)) & (several ^ 1)
        young = (stamp >= block) & (both_atomic ^ 1) & (own ^ 1) & (new ^ 1)
        with f.when((other >= at.PROXY) & young):
            not_landed(f, state, word, thread, site, where)
        with f.when(young & (other < at.PROXY) & (mode & at.CHECK_RACES).differs(0)):
            knows = f.variable("i1", f.call(KNOWS, "i1", [state, thread, other, stamp]))
            with f.when((knows.now ^ 1) & (kind & at.OF_BARRIER).differs(0)):
                maker = (other >> field(f, state, at.LANES)) + (at.FIRST_AGENT + at.INIT_AGENT)
                knows.set(f.call(KNOWS, "i1", [state, thread, maker, stamp]))
            with f.when(knows.now ^ 1):
                plain_write = writes_it & (reads_it ^ 1)
                after_write = f.select(plain_write, Kind.WRITE_AFTER_WRITE.value, Kind.READ_AFTER_WRITE.value, "i32")
                same = f.variable("i1", 0)
                with f.when(plain_write & value.to("i64").differs(0)):
                    memory = f.at(field(f, state, at.SHARED, "ptr"), byte, "i8")
                    same.set(f.call("memcmp", "i32", [memory, value, size.to("i64")]).equals(0))
                found = f.select(same.now, Kind.SAME_VALUE.value, after_write, "i32")
                f.call(RECORD, "void", [state, found, site_of(word), site, other, thread, where])
        with f.when(writes_it & (mode & at.CHECK_RACES).differs(0)):
            _compare_with_reads(f, state, thread, cell, site, where, atomic)
    with f.when(writes_it & (mode & at.HAS_AGENTS).differs(0)):
        f.call("triptych_check_uses", "void", [state, thread, first.to("i64"), last.to("i64") + 1, site])
    f.call("triptych_check_update", "void", [state, thread, first, last, kind, site])
    f.line("ret void")
    return f.text()


def not_landed(f: Function, state: Number, word: Number, thread: Number, site: Number, where: Number) -> None:
    """What an asynchronous copy writes is accessed: whoever waited for it knows it."""
    stamp, other = stamp_of(word), thread_of(word)
    known, issuer = f.variable("i1", 0), f.variable("i32", other - at.PROXY)
    with f.when(other >= at.FIRST_AGENT):
        known.set(f.call(KNOWS, "i1", [state, thread, other, stamp]))
        issuer.set(f.load("i32", f.at(f.at(state, at.AGENT_ISSUER, "i8"), other - at.FIRST_AGENT, "i32")))
    with f.when((known.now ^ 1) & (field(f, state, at.MODE) & at.CHECK_RACES).differs(0)):
        kind = f.number(Kind.BEFORE_IT_LANDS.value, "i32")
        f.call(RECORD, "void", [state, kind, site_of(word), site, issuer.now, thread, where])


def _compare_with_reads(
    f: Function, state: Number, thread: Number, cell: Number, site: Number, where: Number, atomic: Number
) -> None:
    """A write must come after every read by another thread."""
    reads, count = field(f, state, at.READS, "ptr"), field(f, state, at.CELL_COUNT, "i64")
    block = field(f, state, at.BLOCK_TIME)
    with f.count(0, field(f, state, at.WARPS)) as warp, f.when(f.load("i32", last_read(f, state, warp)).equals(block)):
        word = f.load("i64", f.at(reads, warp.to("i64") * count + cell.to("i64"), "i64"))
        stamp, other = stamp_of(word), thread_of(word)
        several = (word & at.SEVERAL).differs(0)
        alone = other.equals(thread) & (several ^ 1)
        both_atomic = atomic & (word & at.ATOMIC).differs(0)
        with f.when((stamp >= block) & (alone ^ 1) & (both_atomic ^ 1)):
            # of several lanes, look at one that is not this thread
            neighbour = f.select(other.equals(thread), other ^ 1, other, "i32")
            knows = f.call(KNOWS, "i1", [state, thread, neighbour, stamp])
            with f.when(knows ^ 1):
                kind = f.number(Kind.WRITE_AFTER_READ.value, "i32")
                f.call(RECORD, "void", [state, kind, site_of(word), site, neighbour, thread, where])


def _update() -> str:
    """`update(state, thread, first, last, kind, site)`: the access becomes the last one of its cells."""
    names = ("thread", "first", "last", "kind", "site")
    f = Function("triptych_check_update", "void", [("state", "ptr"), *((name, "i32") for name in names)])
    state, thread, first, last, kind, site = f.parameters
    warp = thread >> field(f, state, at.LANES)
    now = f.load("i32", clock_place(f, state, warp))
    atomic = f.select((kind & at.IS_ATOMIC).differs(0), at.ATOMIC, 0, "i64")
    collective = f.select((kind & at.IS_COLLECTIVE).differs(0), at.SEVERAL, 0, "i64")
    word = (now.to("i64") << 32) | (site << at.THREAD_BITS).to("i64") | thread.to("i64") | atomic
    writes = field(f, state, at.WRITES, "ptr")
    count = field(f, state, at.CELL_COUNT, "i64")
    reads = f.at(field(f, state, at.READS, "ptr"), warp.to("i64") * count, "i64")
    with f.when((kind & at.WRITES_MEMORY).differs(0)):
        with f.count(first, last + 1) as cell:
            place = f.at(writes, cell, "i64")
            before = f.load("i64", place)
            joined = (stamp_of(before) >= field(f, state, at.BLOCK_TIME)) & (before & at.ATOMIC & atomic).differs(0)
            others = (thread_of(before).differs(thread) | (before & at.SEVERAL).differs(0)) & joined
            made = word | f.select(others, at.SEVERAL, 0, "i64")
            f.store(f.select(_stays(before, word), before, made, "i64"), place)
        f.give()
    with f.count(first, last + 1) as cell:
        place = f.at(reads, cell, "i64")
        f.store(_merged(f, f.load("i64", place), word | collective), place)
    f.line("ret void")
    return f.text()


def _stays(before: Number, word: Number) -> Number:
    """Whether a plain write by the same thread at the same time is there: others may race with it, atomic or not."""
    same_time = ((before ^ word) >> 32).equals(0)
    same_thread = ((before ^ word) & at.THREAD_MASK).equals(0)
    return same_time & same_thread & (before & at.ATOMIC).equals(0) & (word & at.ATOMIC).differs(0)


def _merged(f: Function, before: Number, word: Number) -> Number:
    """A read, beside one by another lane of the warp at the same time."""
    same_time = ((before ^ word) >> 32).equals(0)
    other_lane = ((before ^ word) & at.THREAD_MASK).differs(0)
    several = f.select(same_time & (other_lane | (before & at.SEVERAL).differs(0)), at.SEVERAL, 0, "i64")
    plain = f.select(same_time & (before & at.ATOMIC).equals(0), ~at.ATOMIC, -1, "i64")
    return (word | several) & plain


def _store_before() -> str:
    """`store_before(addresses, mask, begin, end, size, values)`: lanes store what the kernel is about to store.

    What a later lane meets is then in memory, also where the same instruction writes it.
    """
    names = [("addresses", "ptr"), ("mask", "i64"), ("low", "i32"), ("high", "i32"), ("size", "i32"), ("values", "ptr")]
    f = Function(STORE_BEFORE, "void", names, "noinline")
    addresses, mask, begin, end, size, values = f.parameters
    with f.count(begin, end) as lane, f.when(((mask >> lane.to("i64")) & 1).differs(0)):
        target = f.load("i64", f.at(addresses, lane, "i64")).to("ptr")
        f.call("memcpy", "ptr", [target, value_of(f, values, lane, size), size.to("i64")])
    f.line("ret void")
    return f.text()


class Stores:
    """Lanes of a plain write, one after the other: those before one that must be compared have stored."""

    def __init__(self, f: Function, lanes: tuple[Number, Number], size: Number, kind: Number, values: Number) -> None:
        """`lanes` are their addresses and which of them are active."""
        self._f, self._lanes, self._rest = f, lanes, (size, values)
        self._asked = kind.equals(at.WRITES_MEMORY) & values.to("i64").differs(0)
        self._done = f.variable("i32", 0)

    def before(self, lane: Number) -> Number:
        """Where the value of a lane is, or null."""
        f, (size, values) = self._f, self._rest
        with f.when(self._asked):
            f.call(STORE_BEFORE, "void", [*self._lanes, self._done.now, lane, size, values])
            self._done.set(lane)
        return value_of(f, values, lane, size)


# the threads of a warp ------------------------------------------------------------------------------------------
PARAMETERS = [("mask", "i64"), ("first", "i32"), ("width", "i32"), ("size", "i32"), ("kind", "i32"), ("site", "i32")]


def last_read(f: Function, state: Number, warp: Number) -> Number:
    """Where the time is kept when a warp last read cells."""
    return f.at(f.at(state, at.LAST_READS, "i8"), warp, "i32")


def note_time(f: Function, state: Number, kind: Number, first: Number) -> None:
    """That cells are written, or read, since the block's last barrier."""
    block = field(f, state, at.BLOCK_TIME)
    with f.when((kind & at.WRITES_MEMORY).differs(0)):
        put(f, state, at.LAST_WRITE, block)
    with f.when((kind & at.READS_MEMORY).differs(0)):
        put(f, state, at.LAST_READ, block)
        f.store(block, last_read(f, state, first >> field(f, state, at.LANES)))


def _access() -> str:
    """`access(state, addresses, mask, first, width, size, kind, site, values)`: each lane has an address of its own."""
    f = Function(
        ACCESS_NOW, "void", [("state", "ptr"), ("addresses", "ptr"), *PARAMETERS, ("values", "ptr")], "noinline"
    )
    state, addresses, mask, first, width, size, kind, site, values = f.parameters
    note_time(f, state, kind, first)
    shared, limit = field(f, state, at.SHARED, "i64"), field(f, state, at.SHARED_BYTES, "i64")
    grain = field(f, state, at.GRAIN)
    start, block = ((field(f, state, offset).to("i64") << 32) for offset in (at.START, at.BLOCK_TIME))
    writes = field(f, state, at.WRITES, "ptr")
    reads_only = (kind & ~at.IS_COLLECTIVE).equals(at.READS_MEMORY)
    writes_only = kind.equals(at.WRITES_MEMORY) & nobody_reads(f, state)
    with f.when((f.number(1, "i32") << grain).equals(size) & (kind.equals(at.READS_MEMORY) | writes_only)):
        f.call("triptych_check_scattered", "void", [state, addresses, mask, first, width, size, kind, site, values])
        f.give()
    stores = Stores(f, (addresses, mask), size, kind, values)
    with f.count(0, width) as lane, f.when(((mask >> lane.to("i64")) & 1).differs(0)):
        byte = f.load("i64", f.at(addresses, lane, "i64")) - shared
        with f.when((byte + (size - 1).to("i64")) < limit):
            offset, thread = byte.to("i32"), first + lane
            begin, last = offset >> grain, (offset + size - 1) >> grain
            strange = f.variable("i1", (reads_only | writes_only) ^ 1)
            with f.count(begin, last + 1) as cell:
                word = f.load("i64", f.at(writes, cell, "i64"))
                strange.set(strange.now | ((word < start) & reads_only) | (word >= block))
            with f.when(strange.now):
                value = stores.before(lane)
                f.call("triptych_check_lane", "void", [state, thread, offset, size, kind, site, value])
            with f.when(strange.now ^ 1):
                f.call("triptych_check_update", "void", [state, thread, begin, last, kind, site])
    f.line("ret void")
    return f.text()


def value_of(f: Function, values: Number, lane: Number, size: Number) -> Number:
    """Where the value is that a lane is about to store; null where nobody asks."""
    has, beside = values.to("i64").differs(0), f.at(values, lane.to("i64") * size.to("i64"), "i8")
    return f.made(f"select i1 {has.name}, ptr {beside.name}, ptr null", "ptr")


def nobody_reads(f: Function, state: Number) -> Number:
    """Whether no warp has read cells since the block's last barrier, and nothing but threads reads at all."""
    only_threads = (field(f, state, at.MODE) & at.HAS_AGENTS).equals(0)
    return field(f, state, at.LAST_READ).differs(field(f, state, at.BLOCK_TIME)) & only_threads


def _run() -> str:
    """`run(state, base, stride, mask, first, ...)`: lane i has the address base + i * stride."""
    parameters = [("state", "ptr"), ("base", "ptr"), ("stride", "i64"), *PARAMETERS, ("values", "ptr")]
    f = Function(RUN_NOW, "void", parameters, "noinline")
    state, base, stride, mask, first, width, size, kind, site, values = f.parameters
    note_time(f, state, kind, first)
    shared, limit = field(f, state, at.SHARED, "i64"), field(f, state, at.SHARED_BYTES, "i64")
    byte = base.to("i64") - shared
    from_first = (mask & (mask + 1)).equals(0) & mask.differs(0)
    active = f.call("llvm.ctpop.i64", "i64", [mask]).to("i32")
    simple = kind.equals(at.READS_MEMORY) | (field(f, state, at.MODE) & at.HAS_AGENTS).equals(0)
    together = stride.equals(size.to("i64")) & from_first & (kind < at.IS_ATOMIC) & simple
    inside = (byte + (size * active).to("i64") - 1) < limit
    with f.when(together & inside):
        quiet = f.call("triptych_check_range", "i1", [state, byte.to("i32"), first, active, size, kind, site])
        with f.when(quiet):
            f.give()
    one = stride.equals(0) & kind.equals(at.READS_MEMORY) & ((byte + (size - 1).to("i64")) < limit)
    with f.when(one):
        quiet = f.call("triptych_check_one", "i1", [state, byte.to("i32"), mask, first, size, site])
        with f.when(quiet):
            f.give()
    f.line(f"%addresses = alloca [{at.MOST_WARPS} x i64], align 64")
    addresses = Number(f, "%addresses", "ptr")
    with f.count(0, width) as lane:
        f.store(base.to("i64") + stride * lane.to("i64"), f.at(addresses, lane, "i64"))
    f.call(ACCESS_NOW, "void", [state, addresses, mask, first, width, size, kind, site, values])
    f.line("ret void")
    return f.text()


UNSET = "triptych_check_unset"
_SITE_BITS = 16


def uninitialized_register_code() -> str:
    """`unset(origins, active, first, width, site)`: an origin is the read (from 1 on) and the cell, or 0."""
    numbers = (("active", "i64"), ("first", "i32"), ("width", "i32"), ("site", "i32"))
    f = Function(UNSET, "void", [("origins", "ptr"), *numbers], "noinline")
    origins, active, first, width, site = f.parameters
    state = f.call(STATE, "ptr", ())
    kind = f.number(int(Kind.UNSET_REGISTER), "i32")
    with f.count(0, width) as lane:
        origin = f.load("i32", f.at(origins, lane, "i32"))
        is_active = ((active >> lane.to("i64")) & 1).differs(0)
        with f.when(is_active & origin.differs(0)):
            thread, read = first + lane, (origin >> _SITE_BITS) - 1
            cell = origin & ((1 << _SITE_BITS) - 1)
            f.call(RECORD, "void", [state, kind, read, site, thread, thread, cell])
    f.line("ret void")
    return f.text()
