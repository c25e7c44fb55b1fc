"""Happens-before between blocks, native code: releases and acquires of global memory, for all of the device.

A release is a record: the block, a time for each of its threads, and what the block had acquired itself. Records of a
place are a list; who acquires the place knows the list as it is then, and so do the threads that it meets afterwards.
"""

from __future__ import annotations

from triptych.targets.cpu.sanitizer import shadow_layout as at
from triptych.targets.cpu.sanitizer.happens_before_code import KNOWS, clock_place, field, put
from triptych.targets.cpu.sanitizer.llvm_writer import Function, Number, lock, named, unlock

PUBLISH, OBTAIN, KNOWS_BLOCK = "triptych_check_publish", "triptych_check_obtain", "triptych_check_knows_block"
_COVERS = "triptych_check_covers"
_LOCK = "@release_lock"
_PRIME = 0x9E3779B97F4A7C15 - (1 << 64)
GLOBALS = f"""
@released = internal global [{2 * at.RELEASE_SLOTS} x i64] zeroinitializer, align 64
@release_arena = internal global ptr null
@release_used = internal global i64 0
@release_lock = internal global i32 0
@order_lost = internal global i32 0
"""

# a record: offsets in bytes
_BLOCK, _THREADS, _NEXT, _ACQUIRED, _TIMES = 0, 4, 8, 16, 24
# what a block has acquired: offsets in bytes
_HEAD, _THREAD, _STAMP, _BEFORE, NODE_BYTES = 0, 8, 12, 16, 24


def release_acquire_code() -> str:
    """All functions of this file."""
    return GLOBALS + "".join((_take(), _slot(), _publish(), _obtain(), _covers(), _knows_block(), _forget()))


def _take() -> str:
    """`take_room(bytes)`: memory until the launch ends; null when there is none, and then all counts as ordered."""
    f = Function("triptych_check_take_room", "ptr", [("bytes", "i64")], "noinline")
    (size,) = f.parameters
    arena = named(f, "@release_arena")
    with f.when(f.load("i64", arena).equals(0)):
        f.store(f.call("calloc", "ptr", [f.number(1, "i64"), f.number(at.RELEASE_CAPACITY, "i64")]), arena)
    used = f.load("i64", named(f, "@release_used"))
    with f.when((used + size) >= at.RELEASE_CAPACITY):
        f.store(f.number(1, "i32"), named(f, "@order_lost"))
        f.give(named(f, "null"), "ptr")
    f.store(used + size, named(f, "@release_used"))
    f.line(f"ret ptr {f.at(f.load('ptr', arena), used, 'i8').name}")
    return f.text()


def _slot() -> str:
    """`slot(address)`: where the list of a place is kept."""
    f = Function("triptych_check_slot", "ptr", [("address", "i64")], "noinline")
    (address,) = f.parameters
    slot = f.variable("i64", ((address * _PRIME) >> 32) & (at.RELEASE_SLOTS - 1))
    slots, steps = named(f, "@released"), f.variable("i32", 0)

    def elsewhere() -> Number:
        found = f.load("i64", f.at(slots, slot.now << 1, "i64"))
        return found.differs(0) & found.differs(address) & (steps.now < at.RELEASE_SLOTS)

    with f.during(elsewhere):
        slot.set((slot.now + 1) & (at.RELEASE_SLOTS - 1))
        steps.set(steps.now + 1)
    with f.when(steps.now >= at.RELEASE_SLOTS):
        f.store(f.number(1, "i32"), named(f, "@order_lost"))
    f.store(address, f.at(slots, slot.now << 1, "i64"))
    f.line(f"ret ptr {f.at(slots, (slot.now << 1) + 1, 'i64').name}")
    return f.text()


def _publish() -> str:
    """`publish(state, address, row, thread)`: a thread releases what the row has, for all blocks."""
    names = [("state", "ptr"), ("address", "i64"), ("row", "ptr"), ("thread", "i32")]
    f = Function(PUBLISH, "void", names, "noinline")
    state, address, row, _ = f.parameters
    threads = field(f, state, at.THREADS)
    lock(f, named(f, _LOCK))
    record = f.call("triptych_check_take_room", "ptr", [(threads.to("i64") * 4 + (_TIMES + 7)) & ~7])
    with f.when(record.to("i64").differs(0)):
        place = f.call("triptych_check_slot", "ptr", [address])
        put(f, record, _BLOCK, field(f, state, at.SERIAL))
        put(f, record, _THREADS, threads)
        put(f, record, _NEXT, f.load("i64", place))
        put(f, record, _ACQUIRED, field(f, state, at.ACQUIRED, "i64"))
        block = field(f, state, at.BLOCK_TIME)
        with f.count(0, threads) as thread:
            time = f.larger(f.load("i32", f.at(row, thread, "i32")), block)
            f.store(time, f.at(f.at(record, _TIMES, "i8"), thread, "i32"))
        f.store(record.to("i64"), place)
    unlock(f, named(f, _LOCK))
    f.line("ret void")
    return f.text()


def _obtain() -> str:
    """`obtain(state, address, thread)`: a thread has acquired a place."""
    f = Function(OBTAIN, "void", [("state", "ptr"), ("address", "i64"), ("thread", "i32")], "noinline")
    state, address, thread = f.parameters
    lock(f, named(f, _LOCK))
    head = f.load("i64", f.call("triptych_check_slot", "ptr", [address]))
    last = field(f, state, at.ACQUIRED, "i64")
    known = f.variable("i1", head.equals(0))
    with f.when(last.differs(0)):
        node = last.to("ptr")
        same = field(f, node, _HEAD, "i64").equals(head) & field(f, node, _THREAD).equals(thread)
        known.set(known.now | same)
    with f.when(known.now ^ 1):
        node = f.call("triptych_check_take_room", "ptr", [f.number(NODE_BYTES, "i64")])
        with f.when(node.to("i64").differs(0)):
            put(f, node, _HEAD, head)
            put(f, node, _THREAD, thread)
            warp = thread >> field(f, state, at.LANES)
            put(f, node, _STAMP, f.load("i32", clock_place(f, state, warp)))
            put(f, node, _BEFORE, last)
            put(f, state, at.ACQUIRED, node.to("i64"))
            f.call("triptych_check_advance", "void", [state, warp])
    unlock(f, named(f, _LOCK))
    f.line("ret void")
    return f.text()


def _covers() -> str:
    """`covers(head, block, thread, stamp, left)`: whether a list of records, or what they rest on, has that access."""
    names = [("head", "i64"), ("block", "i32"), ("thread", "i32"), ("stamp", "i32"), ("left", "ptr")]
    f = Function(_COVERS, "i1", names, "noinline")
    head, block, thread, stamp, left = f.parameters
    here = f.variable("i64", head)
    with f.during(lambda: here.now.differs(0)):
        record = here.now.to("ptr")
        f.store(f.load("i32", left) - 1, left)
        with f.when(f.load("i32", left).equals(0)):
            f.store(f.number(1, "i32"), left)
            f.give(1, "i1")
        with f.when(field(f, record, _BLOCK).equals(block) & (thread < field(f, record, _THREADS))):
            time = f.load("i32", f.at(f.at(record, _TIMES, "i8"), thread, "i32"))
            with f.when(stamp < time):
                f.give(1, "i1")
        node = f.variable("i64", field(f, record, _ACQUIRED, "i64"))
        with f.during(lambda: node.now.differs(0)):
            older = node.now.to("ptr")
            found = f.call(_COVERS, "i1", [field(f, older, _HEAD, "i64"), block, thread, stamp, left])
            with f.when(found):
                f.give(1, "i1")
            node.set(field(f, older, _BEFORE, "i64"))
        here.set(field(f, record, _NEXT, "i64"))
    f.line("ret i1 0")
    return f.text()


def _knows_block() -> str:
    """`knows_block(state, thread, block, other, stamp)`: whether this thread knows an access of another block."""
    names = [("state", "ptr"), ("thread", "i32"), ("block", "i32"), ("other", "i32"), ("stamp", "i32")]
    f = Function(KNOWS_BLOCK, "i1", names, "noinline")
    state, thread, block, other, stamp = f.parameters
    with f.when(f.load("i32", named(f, "@order_lost")).differs(0)):
        f.give(1, "i1")
    node, left = f.variable("i64", field(f, state, at.ACQUIRED, "i64")), f.variable("i32", at.MOST_STEPS)
    many = block.equals(at.MANY_BLOCKS)
    with f.during(lambda: node.now.differs(0)):
        here = node.now.to("ptr")
        taker = field(f, here, _THREAD)
        knows = f.variable("i1", taker.equals(thread))
        with f.when(knows.now ^ 1):
            knows.set(f.call(KNOWS, "i1", [state, thread, taker, field(f, here, _STAMP)]))
        with f.when(knows.now):
            with f.when(many):
                f.give(1, "i1")
            found = f.call(_COVERS, "i1", [field(f, here, _HEAD, "i64"), block, other, stamp, left.place])
            with f.when(found):
                f.give(1, "i1")
        node.set(field(f, here, _BEFORE, "i64"))
    f.line("ret i1 0")
    return f.text()


def _forget() -> str:
    """`forget_releases()`: a launch has ended."""
    f = Function("triptych_check_forget_releases", "void", [], "noinline")
    lock(f, named(f, _LOCK))
    with f.when(f.load("i64", named(f, "@release_used")).differs(0)):
        size = f.number(16 * at.RELEASE_SLOTS, "i64")
        f.call("memset", "ptr", [named(f, "@released"), f.number(0, "i32"), size])
        f.store(f.number(0, "i64"), named(f, "@release_used"))
    f.store(f.number(0, "i32"), named(f, "@order_lost"))
    unlock(f, named(f, _LOCK))
    f.line("ret void")
    return f.text()
