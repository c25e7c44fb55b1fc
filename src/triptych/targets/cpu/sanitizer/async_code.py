"""Asynchronous copies (`cp.async`), native code: they complete as late as a program allows.

Until its thread waits for it, a copy is one more agent that writes: whoever reads or writes its target, the thread
itself included, is reported. When the thread waits, the bytes are moved, and what has landed is a write by that thread.
"""

from __future__ import annotations

from triptych.sanitizer.findings import Kind
from triptych.targets.cpu.sanitizer import shadow_layout as at
from triptych.targets.cpu.sanitizer.finding_code import RECORD
from triptych.targets.cpu.sanitizer.happens_before_code import STATE, clock_place, field, put
from triptych.targets.cpu.sanitizer.llvm_writer import Function, Number

COPY = "triptych_check_copy"
AWAIT = "triptych_check_await"
DROP = "triptych_check_drop"


def async_code() -> str:
    """All functions of this file."""
    return "".join((_mark(), _land(), _await(), _commit(), _drop(), _copy()))


def _mark() -> str:
    """`mark(state, byte, size, word)`: the last write of these cells."""
    names = [("state", "ptr"), ("byte", "i64"), ("size", "i32"), ("word", "i64")]
    f = Function("triptych_check_mark", "void", names)
    state, byte, size, word = f.parameters
    grain, writes = field(f, state, at.GRAIN).to("i64"), field(f, state, at.WRITES, "ptr")
    last = byte + (size - 1).to("i64")
    inside = last < field(f, state, at.SHARED_BYTES, "i64")
    with f.when(inside), f.count(byte >> grain, (last >> grain) + 1) as cell:
        f.store(word, f.at(writes, cell, "i64"))
    f.line("ret void")
    return f.text()


def _land() -> str:
    """`land(state, copy)`: move the bytes; from now on its thread has written them."""
    f = Function("triptych_check_land", "void", [("state", "ptr"), ("copy", "ptr")], "noinline")
    state, copy = f.parameters
    thread, size, given, site = (
        field(f, copy, offset) for offset in (at.COPY_THREAD, at.COPY_SIZE, at.COPY_BYTES, at.COPY_SITE)
    )
    target, source = (field(f, copy, offset, "ptr") for offset in (at.COPY_TARGET, at.COPY_SOURCE))
    f.call("memset", "ptr", [target, f.number(0, "i32"), size.to("i64")])
    f.call("memcpy", "ptr", [target, source, given.to("i64")])
    warp = thread >> field(f, state, at.LANES)
    now = f.load("i32", clock_place(f, state, warp)).to("i64") << 32
    word = now | (site << at.THREAD_BITS).to("i64") | thread.to("i64")
    byte = target.to("i64") - field(f, state, at.SHARED, "i64")
    f.call("triptych_check_mark", "void", [state, byte, size, word])
    put(f, state, at.LAST_WRITE, field(f, state, at.BLOCK_TIME))
    f.line("ret void")
    return f.text()


def _copy_at(f: Function, state: Number, index: Number) -> Number:
    return f.at(field(f, state, at.QUEUE, "ptr"), index.to("i64") * at.COPY_RECORD_BYTES, "i8")


def _closed(f: Function, state: Number, thread: Number) -> Number:
    """Where the number of groups is kept that a thread has closed."""
    return f.at(field(f, state, at.COMMITTED, "ptr"), thread, "i32")


def _await() -> str:
    """`await(state, mask, first, groups)`: these lanes wait until at most so many of their groups are on their way."""
    f = Function(AWAIT, "void", [("state", "ptr"), ("mask", "i64"), ("first", "i32"), ("groups", "i32")], "noinline")
    state, mask, first, groups = f.parameters
    with f.when(field(f, state, at.PENDING).equals(0)):
        f.give()
    kept = f.variable("i32", 0)
    with f.count(0, field(f, state, at.PENDING)) as i:
        copy = _copy_at(f, state, i)
        thread, group = field(f, copy, at.COPY_THREAD), field(f, copy, at.COPY_GROUP)
        lane = thread - first
        mine = (lane < 64) & ((mask >> (lane.to("i64") & 63)) & 1).differs(0)
        lands = mine & ((group + groups) < f.load("i32", _closed(f, state, thread)))
        with f.when(lands):
            f.call("triptych_check_land", "void", [state, copy])
        with f.when(lands ^ 1):
            f.call("memmove", "ptr", [_copy_at(f, state, kept.now), copy, f.number(at.COPY_RECORD_BYTES, "i64")])
            kept.set(kept.now + 1)
    put(f, state, at.PENDING, kept.now)
    f.line("ret void")
    return f.text()


def _commit() -> str:
    """`commit(state, mask, first)`: what these lanes have begun to copy is a group."""
    f = Function("triptych_check_commit", "void", [("state", "ptr"), ("mask", "i64"), ("first", "i32")])
    state, mask, first = f.parameters
    with f.when(field(f, state, at.COMMITTED, "i64").equals(0)):
        f.give()
    with f.count(0, f.number(64, "i32")) as lane, f.when(((mask >> lane.to("i64")) & 1).differs(0)):
        place = _closed(f, state, first + lane)
        f.store(f.load("i32", place) + 1, place)
    f.line("ret void")
    return f.text()


def _drop() -> str:
    """`drop(state)`: a block has ended; copies that nobody waited for are reported."""
    f = Function(DROP, "void", [("state", "ptr")], "noinline")
    (state,) = f.parameters
    with f.count(0, field(f, state, at.PENDING)) as i:
        copy = _copy_at(f, state, i)
        thread, site = field(f, copy, at.COPY_THREAD), field(f, copy, at.COPY_SITE)
        byte = field(f, copy, at.COPY_TARGET, "i64") - field(f, state, at.SHARED, "i64")
        kind = f.number(Kind.NEVER_AWAITED.value, "i32")
        f.call(RECORD, "void", [state, kind, site, site, thread, thread, byte.to("i32")])
        f.call("triptych_check_mark", "void", [state, byte, field(f, copy, at.COPY_SIZE), f.number(0, "i64")])
    put(f, state, at.PENDING, f.number(0, "i32"))
    with f.when(field(f, state, at.COMMITTED, "i64").differs(0)):
        zero, size = f.number(0, "i32"), f.number(4 * at.MOST_THREADS, "i64")
        f.call("memset", "ptr", [field(f, state, at.COMMITTED, "ptr"), zero, size])
    f.line("ret void")
    return f.text()


def _twin(f: Function, state: Number, begun: Number, target: Number, source: Number, count: Number) -> Number:
    """Another lane of the instruction that copies from the same place to the same, or -1."""
    twin = f.variable("i32", -1)
    with f.count(begun, field(f, state, at.PENDING)) as i:
        copy = _copy_at(f, state, i)
        places = ((at.COPY_TARGET, target), (at.COPY_SOURCE, source))
        equal = field(f, copy, at.COPY_BYTES).equals(count)
        for offset, place in places:
            equal = equal & field(f, copy, offset, "i64").equals(place)
        with f.when(equal):
            twin.set(field(f, copy, at.COPY_THREAD))
    return twin.now


def _copy() -> str:
    """`copy(targets, sources, bytes, mask, first, width, size, site)`: each lane begins to copy."""
    numbers = [("first", "i32"), ("width", "i32"), ("size", "i32"), ("site", "i32")]
    pointers = [("targets", "ptr"), ("sources", "ptr"), ("bytes", "ptr"), ("mask", "i64")]
    f = Function(COPY, "void", [*pointers, *numbers], "noinline")
    targets, sources, given, mask, first, width, size, site = f.parameters
    state = f.call(STATE, "ptr", ())
    with f.when(field(f, state, at.QUEUE, "i64").equals(0)):
        sizes = [f.number(at.MOST_COPIES, "i64"), f.number(at.COPY_RECORD_BYTES, "i64")]
        put(f, state, at.QUEUE, f.call("calloc", "ptr", sizes))
        words = [f.number(at.MOST_THREADS, "i64"), f.number(4, "i64")]
        put(f, state, at.COMMITTED, f.call("calloc", "ptr", words))
    with f.when(field(f, state, at.LOG_BYTES, "i64").differs(0)):
        f.call("triptych_check_flush", "void", [state])
    shared, begun = field(f, state, at.SHARED, "i64"), field(f, state, at.PENDING)
    with f.count(0, width) as lane, f.when(((mask >> lane.to("i64")) & 1).differs(0)):
        thread = first + lane
        target = f.load("i64", f.at(targets, lane, "i64"))
        byte = target - shared
        kind, nothing = f.number(at.WRITES_MEMORY, "i32"), Number(f, "null", "ptr")
        inside = (byte + (size - 1).to("i64")) < field(f, state, at.SHARED_BYTES, "i64")
        source, count = f.load("i64", f.at(sources, lane, "i64")), f.load("i32", f.at(given, lane, "i32"))
        twin = _twin(f, state, begun, target, source, count)
        with f.when(inside & twin.equals(-1)):
            f.call("triptych_check_lane", "void", [state, thread, byte.to("i32"), size, kind, site, nothing])
        with f.when(inside & twin.differs(-1)):
            same = f.number(Kind.SAME_VALUE.value, "i32")
            f.call(RECORD, "void", [state, same, site, site, twin, thread, byte.to("i32")])
        copy = _copy_at(f, state, field(f, state, at.PENDING))
        fields = {at.COPY_THREAD: thread, at.COPY_GROUP: f.load("i32", _closed(f, state, thread))}
        fields |= {at.COPY_SIZE: size, at.COPY_BYTES: count, at.COPY_SITE: site}
        fields |= {at.COPY_TARGET: target, at.COPY_SOURCE: source}
        for offset, value in fields.items():
            put(f, copy, offset, value)
        with f.when(field(f, state, at.PENDING) >= at.MOST_COPIES - 1):
            f.call("triptych_check_land", "void", [state, copy])
        with f.when(field(f, state, at.PENDING) < at.MOST_COPIES - 1):
            put(f, state, at.PENDING, field(f, state, at.PENDING) + 1)
            proxy = (thread + at.PROXY).to("i64") | (site << at.THREAD_BITS).to("i64") | (-1 << 32)
            f.call("triptych_check_mark", "void", [state, byte, size, proxy])
    f.line("ret void")
    return f.text()
