"""Happens-before, native code: the vector clock of a thread, and how barriers, lane masks and memory advance it.

A thread knows another's accesses before a time: all before the block's last barrier; for each pair of warps, what all
lanes of the one know of all lanes of the other; and, once some lanes of a warp have synchronized without the others, a
row for each thread. A release carries a time for each thread, so that one lane that arrives for its warp releases only
what it did itself. Whoever else writes (an asynchronous copy) is one more thread, with a number of its own.
"""

from __future__ import annotations

from triptych.sanitizer.findings import Arrival, Kind
from triptych.targets.cpu.sanitizer import shadow_layout as at
from triptych.targets.cpu.sanitizer.finding_code import RECORD
from triptych.targets.cpu.sanitizer.llvm_writer import Function, Number, Variable

KNOWS = "triptych_check_knows"
SYNC = "triptych_check_sync"
COME = "triptych_check_come"
STATE = "triptych_check_state"


def happens_before_code() -> str:
    """All functions of this file."""
    synchronization = (_meet(), _share(), _pass_block(), _sync())
    return "".join((_knows(), _row(), _place(), _join_warp(), _release(), _acquire(), *synchronization))


def stamp_of(word: Number) -> Number:
    return (word >> 32).to("i32")


def thread_of(word: Number) -> Number:
    return word.to("i32") & at.THREAD_MASK


def site_of(word: Number) -> Number:
    return (word.to("i32") >> at.THREAD_BITS) & at.SITE_MASK


def field(f: Function, state: Number, offset: int, kind: str = "i32") -> Number:
    return f.load(kind, f.at(state, offset, "i8"))


def put(f: Function, state: Number, offset: int, value: Number) -> None:
    f.store(value, f.at(state, offset, "i8"))


def position(f: Function, keys: Number, count: Number, key: Number) -> Variable:
    """Where a key stands among so many; their count where it does not."""
    found = f.variable("i32", 0)
    with f.during(lambda: (found.now < count) & f.load("i64", f.at(keys, found.now, "i64")).differs(key)):
        found.set(found.now + 1)
    return found


def clock_place(f: Function, state: Number, warp: Number) -> Number:
    return f.at(f.at(state, at.CLOCKS, "i8"), warp, "i32")


def known_place(f: Function, state: Number, warp: Number, other: Number) -> Number:
    """Of what a warp knows about another."""
    return f.at(f.at(state, at.KNOWN, "i8"), warp * at.KNOWN_ROW + other, "i32")


def raise_to(f: Function, place: Number, value: Number) -> None:
    f.store(f.larger(f.load("i32", place), value), place)


def _knows() -> str:
    """`knows(state, thread, other, stamp)`: whether what the other did at that time happened before now."""
    f = Function(KNOWS, "i1", [("state", "ptr"), ("thread", "i32"), ("other", "i32"), ("stamp", "i32")])
    state, thread, other, stamp = f.parameters
    with f.when(stamp < field(f, state, at.BLOCK_TIME)):
        f.give(1, "i1")
    lanes = field(f, state, at.LANES)
    with f.when(other >= at.FIRST_AGENT):
        column = other - at.FIRST_AGENT
        known = f.variable("i32", f.load("i32", known_place(f, state, thread >> lanes, column + at.MOST_WARPS)))
        with f.when(field(f, state, at.LANE_ROWS, "i64").differs(0)):
            mine = f.at(field(f, state, at.LANE_ROWS, "ptr"), thread * at.ROW + column + at.MOST_THREADS, "i32")
            known.set(f.larger(known.now, f.load("i32", mine)))
        f.give(stamp < known.now, "i1")
    with f.when(stamp < f.load("i32", known_place(f, state, thread >> lanes, other >> lanes))):
        f.give(1, "i1")
    rows = field(f, state, at.LANE_ROWS, "ptr")
    with f.when(rows.to("i64").equals(0)):
        f.give(0, "i1")
    row = thread * at.ROW + other
    f.line(f"ret i1 {(stamp < f.load('i32', f.at(rows, row, 'i32'))).name}")
    return f.text()


def _row() -> str:
    """`lane_row(state, thread)`: what this thread alone knows of each other; memory comes with the first use."""
    f = Function("triptych_check_row", "ptr", [("state", "ptr"), ("thread", "i32")], "noinline")
    state, thread = f.parameters
    with f.when(field(f, state, at.LANE_ROWS, "i64").equals(0)):
        size = f.number(4 * at.ROW, "i64")
        made = f.call("calloc", "ptr", [f.number(at.MOST_THREADS, "i64"), size])
        put(f, state, at.LANE_ROWS, made)
    rows = field(f, state, at.LANE_ROWS, "ptr")
    f.line(f"ret ptr {f.at(rows, thread * at.ROW, 'i32').name}")
    return f.text()


def _place() -> str:
    """`place(state, address)`: the release that is kept for a place in memory; null when there are too many."""
    f = Function("triptych_check_place", "ptr", [("state", "ptr"), ("address", "i64")], "noinline")
    state, address = f.parameters
    keys, count = f.at(state, at.PLACE_KEYS, "i8"), field(f, state, at.PLACE_COUNT)
    found = position(f, keys, count, address)
    with f.when(found.now >= at.PLACES):
        f.give(Number(f, "null", "ptr"), "ptr")
    size = f.number(4 * at.ROW, "i64")
    with f.when(field(f, state, at.PLACE_ROWS, "i64").equals(0)):
        put(f, state, at.PLACE_ROWS, f.call("calloc", "ptr", [f.number(at.PLACES, "i64"), size]))
    row = f.at(field(f, state, at.PLACE_ROWS, "ptr"), found.now * at.ROW, "i32")
    with f.when(found.now.equals(count)):
        f.store(address, f.at(keys, found.now, "i64"))
        put(f, state, at.PLACE_COUNT, count + 1)
        f.call("memset", "ptr", [row, f.number(0, "i32"), size])
    f.line(f"ret ptr {row.name}")
    return f.text()


def _join_warp() -> str:
    """`release(state, row, mask, first)`: what these lanes have done and know goes into a row."""
    parameters = [("state", "ptr"), ("row", "ptr"), ("mask", "i64"), ("first", "i32")]
    f = Function("triptych_check_give", "void", parameters, "noinline")
    state, row, mask, first = f.parameters
    lanes, threads = field(f, state, at.LANES), field(f, state, at.THREADS)
    warp = first >> lanes
    with f.count(0, threads) as other:
        raise_to(f, f.at(row, other, "i32"), f.load("i32", known_place(f, state, warp, other >> lanes)))
    with f.count(0, _agents(f, state)) as agent:
        known = f.load("i32", known_place(f, state, warp, agent + at.MOST_WARPS))
        raise_to(f, f.at(row, agent + at.MOST_THREADS, "i32"), known)
    rows = field(f, state, at.LANE_ROWS, "ptr")
    own = f.load("i32", clock_place(f, state, warp)) + 1
    with f.count(0, f.number(1, "i32") << lanes) as lane, f.when(((mask >> lane.to("i64")) & 1).differs(0)):
        thread = first + lane
        raise_to(f, f.at(row, thread, "i32"), own)
        with f.when(rows.to("i64").differs(0)):
            mine = f.at(rows, thread * at.ROW, "i32")
            _join_rows(f, state, row, mine)
    f.line("ret void")
    return f.text()


def _agents(f: Function, state: Number) -> Number:
    """How many agents beside threads a kernel may have."""
    has = (field(f, state, at.MODE) & at.HAS_AGENTS).differs(0)
    return f.select(has, field(f, state, at.PHASE_COUNT) + at.MBARRIER_AGENT, 0, "i32")


def _join_rows(f: Function, state: Number, row: Number, other: Number) -> None:
    """A row learns what another one has."""
    with f.count(0, field(f, state, at.THREADS)) as thread:
        raise_to(f, f.at(row, thread, "i32"), f.load("i32", f.at(other, thread, "i32")))
    with f.count(0, _agents(f, state)) as agent:
        place = agent + at.MOST_THREADS
        raise_to(f, f.at(row, place, "i32"), f.load("i32", f.at(other, place, "i32")))


def _release() -> str:
    """`advance(state, warp)`: what the warp does from now on is later than what it has released."""
    f = Function("triptych_check_advance", "void", [("state", "ptr"), ("warp", "i32")])
    state, warp = f.parameters
    place = clock_place(f, state, warp)
    f.store(f.load("i32", place) + 1, place)
    put(f, state, at.USES_CLOCKS, f.number(1, "i32"))
    with f.when(f.load("i32", place) >= at.LAST_TIME):
        numbers = [f.number(value, "i32") for value in (Kind.CLOCK_OVERFLOW.value, 0, 0, 0, 0, 0)]
        f.call(RECORD, "void", [state, *numbers])
    f.line("ret void")
    return f.text()


def _acquire() -> str:
    """`acquire(state, row, mask, first, whole)`: these lanes know what a row has; all of a warp know it together."""
    parameters = [("state", "ptr"), ("row", "ptr"), ("mask", "i64"), ("first", "i32"), ("whole", "i1")]
    f = Function("triptych_check_take", "void", parameters, "noinline")
    state, row, mask, first, whole = f.parameters
    lanes, threads, warps = (field(f, state, offset) for offset in (at.LANES, at.THREADS, at.WARPS))
    differ = f.variable("i1", 0)
    with f.count(0, warps) as other:
        begin = other << lanes
        least, most = f.variable("i32", -1), f.variable("i32", 0)
        with f.count(0, f.number(1, "i32") << lanes) as lane, f.when((begin + lane) < threads):
            time = f.load("i32", f.at(row, begin + lane, "i32"))
            least.set(f.select(time < least.now, time, least.now, "i32"))
            most.set(f.larger(most.now, time))
        with f.when(whole):
            raise_to(f, known_place(f, state, first >> lanes, other), least.now)
        differ.set(differ.now | least.now.differs(most.now))
    with f.when(whole), f.count(0, _agents(f, state)) as agent:
        known = f.load("i32", f.at(row, agent + at.MOST_THREADS, "i32"))
        raise_to(f, known_place(f, state, first >> lanes, agent + at.MOST_WARPS), known)
    with f.when((differ.now | (whole ^ 1)) ^ 1):
        f.give()
    with f.count(0, f.number(1, "i32") << lanes) as lane, f.when(((mask >> lane.to("i64")) & 1).differs(0)):
        _join_rows(f, state, f.call("triptych_check_row", "ptr", [state, first + lane]), row)
    f.line("ret void")
    return f.text()


def whole_warp(f: Function, state: Number, first: Number, mask: Number) -> Number:
    """Whether a mask has every lane of the warp that is a thread."""
    lanes, threads = field(f, state, at.LANES), field(f, state, at.THREADS)
    left = threads - first
    width = f.number(1, "i32") << lanes
    count = f.select(left < width, left, width, "i32")
    every = f.select(count >= 64, -1, (f.number(1, "i64") << count.to("i64")) - 1, "i64")
    return (mask & every).equals(every)


def _meet() -> str:
    """`meet(state, members, first)`: lanes of a warp wait for each other."""
    f = Function("triptych_check_meet", "void", [("state", "ptr"), ("members", "i64"), ("first", "i32")], "noinline")
    state, members, first = f.parameters
    lanes = field(f, state, at.LANES)
    warp = first >> lanes
    rows = field(f, state, at.LANE_ROWS, "i64")
    whole = whole_warp(f, state, first, members)
    with f.when(whole & rows.equals(0)):
        time = f.load("i32", clock_place(f, state, warp)) + 1
        raise_to(f, known_place(f, state, warp, warp), time)
        f.call("triptych_check_advance", "void", [state, warp])
        f.give()
    row = f.at(field(f, state, at.RELEASES, "ptr"), at.BARRIERS * at.GENERATIONS * at.ROW, "i32")
    f.call("memset", "ptr", [row, f.number(0, "i32"), f.number(4 * at.ROW, "i64")])
    f.call("triptych_check_give", "void", [state, row, members, first])
    f.call("triptych_check_advance", "void", [state, warp])
    f.call("triptych_check_take", "void", [state, row, members, first, whole])
    f.line("ret void")
    return f.text()


def _pass_block() -> str:
    """`pass(state, part)`: the first warp (or half of one) behind a barrier of the block begins a new epoch."""
    f = Function("triptych_check_pass", "void", [("state", "ptr"), ("part", "i32")])
    state, part = f.parameters
    place = f.at(f.at(state, at.PASSED, "i8"), part, "i32")
    passed = f.load("i32", place) + 1
    f.store(passed, place)
    epoch = field(f, state, at.EPOCH)
    with f.when(epoch < passed):
        put(f, state, at.LOG_BYTES, f.number(0, "i64"))
        put(f, state, at.EPOCH, passed)
        latest = f.variable("i32", 0)
        clocks = f.at(state, at.CLOCKS, "i8")
        warps = field(f, state, at.WARPS)
        with f.count(0, warps) as warp:
            latest.set(f.larger(latest.now, f.load("i32", f.at(clocks, warp, "i32"))))
        time = latest.now + 1
        with f.count(0, warps) as warp:
            f.store(time, f.at(clocks, warp, "i32"))
        put(f, state, at.BLOCK_TIME, time)
        with f.when((field(f, state, at.MODE) & at.HAS_AGENTS).differs(0)):
            f.call("triptych_check_share", "void", [state])
        with f.when(time >= at.LAST_TIME):
            numbers = [f.number(value, "i32") for value in (Kind.CLOCK_OVERFLOW.value, 0, 0, 0, 0, 0)]
            f.call(RECORD, "void", [state, *numbers])
    f.line("ret void")
    return f.text()


def _share() -> str:
    """`share(state)`: behind a barrier all know of copies what one of them knew; reads are looked at at once."""
    f = Function("triptych_check_share", "void", [("state", "ptr")], "noinline")
    (state,) = f.parameters
    put(f, state, at.LAST_WRITE, field(f, state, at.BLOCK_TIME))
    warps, rows = field(f, state, at.WARPS), field(f, state, at.LANE_ROWS, "ptr")
    with f.count(0, _agents(f, state)) as agent:
        most = f.variable("i32", 0)
        with f.count(0, warps) as warp:
            most.set(f.larger(most.now, f.load("i32", known_place(f, state, warp, agent + at.MOST_WARPS))))
        with f.when(rows.to("i64").differs(0)), f.count(0, field(f, state, at.THREADS)) as thread:
            place = f.at(rows, thread * at.ROW + agent + at.MOST_THREADS, "i32")
            most.set(f.larger(most.now, f.load("i32", place)))
        with f.when(most.now.differs(0)), f.count(0, warps) as warp:
            f.store(most.now, known_place(f, state, warp, agent + at.MOST_WARPS))
    f.line("ret void")
    return f.text()


def _sync() -> str:
    """`sync(what, mask, first, width, number, count, addresses)`: what compiled code calls around waiting."""
    parameters = [("what", "i32"), ("mask", "i64"), ("first", "i32"), ("width", "i32"), ("number", "i64")]
    f = Function(SYNC, "void", [*parameters, ("count", "i32"), ("addresses", "ptr")], "noinline")
    what, mask, first, width, number, count, addresses = f.parameters
    state = f.call(STATE, "ptr", ())
    warp = first >> field(f, state, at.LANES)
    with f.when(what.equals(at.PASS_BLOCK)):
        f.call("triptych_check_pass", "void", [state, f.binary("udiv", first, width)])
        f.give()
    with f.when(field(f, state, at.LOG_BYTES, "i64").differs(0)):
        f.call("triptych_check_flush", "void", [state])
    with f.when(what.equals(at.MEET_WARP)):
        f.call("triptych_check_meet", "void", [state, number, first])
        f.give()
    with f.when(what.equals(at.COMMIT_COPIES)):
        f.call("triptych_check_commit", "void", [state, mask, first])
        f.give()
    with f.when(what.equals(at.AWAIT_COPIES)):
        f.call("triptych_check_await", "void", [state, mask, first, count])
        f.give()
    with f.when(what.equals(at.LAND_COPIES)):
        f.call("triptych_check_commit", "void", [state, mask, first])
        f.call("triptych_check_await", "void", [state, mask, first, f.number(0, "i32")])
        f.give()
    with f.when(what.equals(at.COME_TO_SITE)):
        f.call(COME, "void", [state, mask, first, number, count])
        f.give()
    with f.when(what >= at.FENCE_PROXY):
        f.call("triptych_check_groups", "void", [state, what, mask, first, number.to("i32"), count])
        f.give()
    with f.when((what < at.RELEASE_PLACE) | what.equals(at.ARRIVE_RELAXED)):
        _named(f, state, what, mask, first, width, number.to("i32"), count)
        f.give()
    with f.count(0, width) as lane:
        one = f.number(1, "i64") << lane.to("i64")
        with f.when((mask & one).differs(0)):
            row = f.call("triptych_check_place", "ptr", [state, f.load("i64", f.at(addresses, lane, "i64"))])
            address = f.load("i64", f.at(addresses, lane, "i64"))
            outside = (address - field(f, state, at.SHARED, "i64")) >= field(f, state, at.SHARED_BYTES, "i64")
            with f.when((field(f, state, at.MODE) & at.CHECK_GLOBAL).differs(0) & count.equals(0) & outside):
                _between_blocks(f, state, what, address, one, first, lane)
            with f.when(row.to("i64").differs(0)):
                with f.when(what.equals(at.RELEASE_PLACE)):
                    f.call("triptych_check_give", "void", [state, row, one, first])
                with f.when(what.equals(at.ACQUIRE_PLACE)):
                    f.call("triptych_check_take", "void", [state, row, one, first, f.number(0, "i1")])
    with f.when(what.equals(at.RELEASE_PLACE)):
        f.call("triptych_check_advance", "void", [state, warp])
    f.line("ret void")
    return f.text()


def _between_blocks(
    f: Function, state: Number, what: Number, address: Number, one: Number, first: Number, lane: Number
) -> None:
    """A place in global memory that is released, or has been acquired, for all blocks."""
    with f.when(what.equals(at.RELEASE_PLACE)):
        row = f.at(field(f, state, at.RELEASES, "ptr"), at.BARRIERS * at.GENERATIONS * at.ROW, "i32")
        f.call("memset", "ptr", [row, f.number(0, "i32"), f.number(4 * at.ROW, "i64")])
        f.call("triptych_check_give", "void", [state, row, one, first])
        f.call("triptych_check_publish", "void", [state, address, row, first + lane])
    with f.when(what.equals(at.ACQUIRE_PLACE)):
        f.call("triptych_check_obtain", "void", [state, address, first + lane])


def _named(
    f: Function, state: Number, what: Number, mask: Number, first: Number, width: Number, number: Number, count: Number
) -> None:
    """A named barrier: those who come release, those who wait acquire what all of that generation have released."""
    warp = first >> field(f, state, at.LANES)
    apart = f.select(number.equals(at.OF_CLUSTER), at.MOST_WARPS, 0, "i32")
    waits = f.at(f.at(state, at.WAITS_FOR, "i8"), warp + apart, "i32")
    releases = field(f, state, at.RELEASES, "ptr")
    with f.when(what.differs(at.PASS_NAMED)):
        arrived = f.at(f.at(state, at.ARRIVED, "i8"), number, "i32")
        generation = f.at(f.at(state, at.GENERATION, "i8"), number, "i32")
        now = f.load("i32", generation)
        row = _release_row(f, releases, number, now)
        with f.when(f.load("i32", arrived).equals(0)):
            f.call("memset", "ptr", [row, f.number(0, "i32"), f.number(4 * at.ROW, "i64")])
        with f.when(what.equals(at.ARRIVE)):
            f.call("triptych_check_give", "void", [state, row, mask, first])
        with f.when(what.equals(at.ARRIVE_RELAXED)):
            before = f.load("i32", clock_place(f, state, warp)) + 1
            raise_to(f, f.at(row, warp + (at.MOST_THREADS + at.INIT_AGENT), "i32"), before)
        f.call("triptych_check_advance", "void", [state, warp])
        f.store(now, waits)
        total = f.load("i32", arrived) + width
        complete = total >= f.select(count.equals(0), field(f, state, at.THREADS), count, "i32")
        f.store(f.select(complete, 0, total, "i32"), arrived)
        f.store(f.select(complete, now + 1, now, "i32"), generation)
    with f.when(what.equals(at.PASS_NAMED)):
        row = _release_row(f, releases, number, f.load("i32", waits))
        f.call("triptych_check_take", "void", [state, row, mask, first, whole_warp(f, state, first, mask)])


def _release_row(f: Function, releases: Number, number: Number, generation: Number) -> Number:
    place = number * at.GENERATIONS + (generation & (at.GENERATIONS - 1))
    return f.at(releases, place * at.ROW, "i32")


BLOCK_ENDED = "triptych_check_arrivals_ended"


def barrier_statistics_code() -> str:
    """All functions of this file."""
    return _come() + _ended()


def _come() -> str:
    """`come(state, mask, first, place, count)`: lanes come to a site, the low half of a place, and to a barrier."""
    parameters = [("state", "ptr"), ("mask", "i64"), ("first", "i32"), ("place", "i64"), ("count", "i32")]
    f = Function(COME, "void", parameters, "noinline cold")
    state, mask, first, place, count = f.parameters
    site, barrier = place.to("i32"), (place >> 32).to("i32")
    alone = (mask & (mask - 1)).equals(0)
    kind = f.select(alone, Arrival.ALONE.value, Arrival.WITH_OTHERS.value, "i32")
    thread = first + f.call("llvm.cttz.i64", "i64", [mask, f.number(0, "i1")]).to("i32")
    f.call(RECORD, "void", [state, kind, site, site, thread, thread, f.number(0, "i32")])
    with f.when(barrier.differs(0)):
        f.store(site + 1, _word(f, state, at.BARRIER_SITES, barrier - 1))
        f.store(count, _word(f, state, at.EXPECTED, barrier - 1))
    f.line("ret void")
    return f.text()


def _ended() -> str:
    """`ended(state)`: a block has ended; a named barrier that some have come to since it was last complete is left."""
    f = Function(BLOCK_ENDED, "void", [("state", "ptr")], "noinline cold")
    (state,) = f.parameters
    with f.count(0, f.number(at.BARRIERS, "i32")) as barrier:
        site = f.load("i32", _word(f, state, at.BARRIER_SITES, barrier))
        with f.when(site.differs(0)):
            arrived = f.load("i32", _word(f, state, at.ARRIVED, barrier))
            expected = f.load("i32", _word(f, state, at.EXPECTED, barrier))
            expected = f.select(expected.equals(0), field(f, state, at.THREADS), expected, "i32")
            kind = f.select(arrived.equals(0), Arrival.COMPLETE.value, Arrival.INCOMPLETE.value, "i32")
            f.call(RECORD, "void", [state, kind, site - 1, site - 1, arrived, expected, f.number(0, "i32")])
    f.line("ret void")
    return f.text()


def _word(f: Function, state: Number, offset: int, barrier: Number) -> Number:
    return f.at(f.at(state, offset, "i8"), barrier, "i32")
