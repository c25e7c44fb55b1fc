"""Native code of the log of reads: what is only read until the next barrier races with nobody, and is never looked at.

While nothing was written since the block's last barrier, a read goes into a log. A write, a warp that meets, or a full
log has the reads of the log looked at first, and a barrier of the block forgets them. Whether what is read had been
written at all is asked once for each place in a block.
"""

from __future__ import annotations

from triptych.targets.cpu.checking import shadow_layout as at
from triptych.targets.cpu.checking.async_code import DROP
from triptych.targets.cpu.checking.llvm_writer import Function, Number
from triptych.targets.cpu.checking.order_code import STATE, field, put
from triptych.targets.cpu.checking.shadow_code import ACCESS_NOW, END_BLOCK, PARAMETERS, RUN_NOW

ACCESS = "triptych_check_access"
ACCESS_RUN = "triptych_check_run"
FLUSH = "triptych_check_flush"
_LARGEST = at.ENTRY_ADDRESSES + 8 * at.MOST_WARPS
_PRIMES = tuple(number - (1 << 64) for number in (0x9E3779B97F4A7C15, 0xC2B2AE3D27D4EB4F, 0xD6E8FEB86659FD93))


def read_log_code() -> str:
    """All functions of this file."""
    return "".join((_written(), _look(), _flush(), _seen(), _access(), _run(), _end()))


def _entry(f: Function, state: Number) -> Number:
    return f.at(field(f, state, at.LOG, "ptr"), field(f, state, at.LOG_BYTES, "i64"), "i8")


def _header(f: Function, entry: Number) -> tuple[Number, ...]:
    """Mask, first thread, width, size and site of a read in the log."""
    numbers = [field(f, entry, offset) for offset in (at.ENTRY_FIRST, at.ENTRY_WIDTH, at.ENTRY_SIZE, at.ENTRY_SITE)]
    return field(f, entry, at.ENTRY_MASK, "i64"), *numbers


def _look() -> str:
    """`look(state, entry)`: the read becomes one of the cells."""
    f = Function("triptych_check_look", "void", [("state", "ptr"), ("entry", "ptr")], "noinline")
    state, entry = f.parameters
    mask, first, width, size, site = _header(f, entry)
    rest = [mask, first, width, size, f.number(at.READS_MEMORY, "i32"), site, Number(f, "null", "ptr")]
    with f.when(field(f, entry, at.IS_RUN).differs(0)):
        base, stride = field(f, entry, at.ENTRY_BASE, "ptr"), field(f, entry, at.ENTRY_STRIDE, "i64")
        f.call(RUN_NOW, "void", [state, base, stride, *rest])
        f.give()
    f.call(ACCESS_NOW, "void", [state, f.at(entry, at.ENTRY_ADDRESSES, "i8"), *rest])
    f.line("ret void")
    return f.text()


def _flush() -> str:
    """`flush(state)`: look at all reads of the log."""
    f = Function(FLUSH, "void", [("state", "ptr")], "noinline")
    (state,) = f.parameters
    used, log = field(f, state, at.LOG_BYTES, "i64"), field(f, state, at.LOG, "ptr")
    place = f.variable("i64", 0)
    put(f, state, at.LOG_BYTES, f.number(0, "i64"))
    with f.during(lambda: place.now < used):
        entry = f.at(log, place.now, "i8")
        f.call("triptych_check_look", "void", [state, entry])
        place.set(place.now + field(f, entry, at.ENTRY_BYTES).to("i64"))
    f.line("ret void")
    return f.text()


def _seen() -> str:
    """`seen(state, entry, key)`: whether this block has written all that is read; what was so once stays so."""
    f = Function("triptych_check_seen", "void", [("state", "ptr"), ("entry", "ptr"), ("key", "i64")], "noinline")
    state, entry, key = f.parameters
    whole = f.call("triptych_check_written", "i1", [state, entry])
    with f.when(whole):
        f.store(key, _memo_place(f, state, key))
    with f.when(whole ^ 1):
        f.call("triptych_check_look", "void", [state, entry])
    f.line("ret void")
    return f.text()


def _memo_place(f: Function, state: Number, key: Number) -> Number:
    return f.at(f.at(state, at.MEMO, "i8"), (key >> 40) & (at.MEMO_ENTRIES - 1), "i64")


def _written() -> str:
    """`written(state, entry)`: whether this block has written all that a read of the log has read."""
    f = Function("triptych_check_written", "i1", [("state", "ptr"), ("entry", "ptr")], "noinline")
    state, entry = f.parameters
    mask, _, width, size, _ = _header(f, entry)
    shared, limit = field(f, state, at.SHARED, "i64"), field(f, state, at.SHARED_BYTES, "i64")
    grain, writes = field(f, state, at.GRAIN).to("i64"), field(f, state, at.WRITES, "ptr")
    start = field(f, state, at.START).to("i64") << 32
    is_run = field(f, entry, at.IS_RUN).differs(0)
    base, stride = (field(f, entry, offset, "i64") for offset in (at.ENTRY_BASE, at.ENTRY_STRIDE))
    new = f.variable("i1", 0)
    with f.count(0, width) as lane, f.when(((mask >> lane.to("i64")) & 1).differs(0)):
        address = f.variable("i64", base + stride * lane.to("i64"))
        with f.when(is_run ^ 1):
            address.set(f.load("i64", f.at(f.at(entry, at.ENTRY_ADDRESSES, "i8"), lane, "i64")))
        byte, last = address.now - shared, (size - 1).to("i64")
        with f.when((byte + last) < limit), f.count(byte >> grain, ((byte + last) >> grain) + 1) as cell:
            new.set(new.now | (f.load("i64", f.at(writes, cell, "i64")) < start))
    f.line(f"ret i1 {(new.now ^ 1).name}")
    return f.text()


def _log(f: Function, state: Number, kind: Number, given: tuple[Number, ...]) -> Number:
    """Begin an entry; gives whether the read is one for the log."""
    quiet = kind.equals(at.READS_MEMORY) & field(f, state, at.LAST_WRITE).differs(field(f, state, at.BLOCK_TIME))
    quiet = quiet & field(f, state, at.PENDING).equals(0)
    used = field(f, state, at.LOG_BYTES, "i64")
    with f.when((quiet ^ 1) & used.differs(0)):
        f.call(FLUSH, "void", [state])
    with f.when(quiet):
        with f.when(used >= at.LOG_ROOM - _LARGEST):
            f.call(FLUSH, "void", [state])
        entry = _entry(f, state)
        places = (at.ENTRY_MASK, at.ENTRY_FIRST, at.ENTRY_WIDTH, at.ENTRY_SIZE, at.ENTRY_SITE)
        for offset, value in zip(places, given, strict=True):
            put(f, entry, offset, value)
    return quiet


def _access() -> str:
    """`access(addresses, mask, first, width, size, kind, site, values)`: each lane has an address of its own."""
    f = Function(ACCESS, "void", [("addresses", "ptr"), *PARAMETERS, ("values", "ptr")], "noinline")
    addresses, mask, first, width, size, kind, site, values = f.parameters
    state = f.call(STATE, "ptr", ())
    with f.when(_log(f, state, kind, (mask, first, width, size, site))):
        entry, used = _entry(f, state), width.to("i64") * 8
        f.call("memcpy", "ptr", [f.at(entry, at.ENTRY_ADDRESSES, "i8"), addresses, used])
        places = f.variable("i64", 0)
        with f.count(0, width.to("i64")) as lane:
            places.set(places.now + f.load("i64", f.at(addresses, lane, "i64")) * ((lane << 1) + _PRIMES[0]))
        _close(f, state, entry, 0, used + at.ENTRY_ADDRESSES, places.now)
        f.give()
    f.call(ACCESS_NOW, "void", [state, addresses, mask, first, width, size, kind, site, values])
    f.line("ret void")
    return f.text()


def _run() -> str:
    """`run(base, stride, mask, first, width, size, kind, site, values)`: lane i has the address base + i * stride."""
    f = Function(ACCESS_RUN, "void", [("base", "ptr"), ("stride", "i64"), *PARAMETERS, ("values", "ptr")], "noinline")
    base, stride, mask, first, width, size, kind, site, values = f.parameters
    state = f.call(STATE, "ptr", ())
    with f.when(_log(f, state, kind, (mask, first, width, size, site))):
        entry = _entry(f, state)
        put(f, entry, at.ENTRY_BASE, base)
        put(f, entry, at.ENTRY_STRIDE, stride)
        places = base.to("i64") * _PRIMES[0] + stride * _PRIMES[1]
        _close(f, state, entry, 1, f.number(at.ENTRY_ADDRESSES, "i64"), places)
        f.give()
    f.call(RUN_NOW, "void", [state, base, stride, mask, first, width, size, kind, site, values])
    f.line("ret void")
    return f.text()


def _close(f: Function, state: Number, entry: Number, is_run: int, size: Number, places: Number) -> None:
    """End an entry; `places` stands for its addresses where it is asked whether they were looked at before."""
    put(f, entry, at.ENTRY_BYTES, size.to("i32"))
    put(f, entry, at.IS_RUN, f.number(is_run, "i32"))
    put(f, state, at.LOG_BYTES, field(f, state, at.LOG_BYTES, "i64") + size)
    with f.when((field(f, state, at.MODE) & at.CHECK_INIT).differs(0)):
        mask = field(f, entry, at.ENTRY_MASK, "i64") * _PRIMES[1]
        what = (field(f, entry, at.ENTRY_SIZE, "i64") + (field(f, state, at.START).to("i64") << 16)) * _PRIMES[2]
        key = places ^ mask ^ what
        with f.when(f.load("i64", _memo_place(f, state, key)).differs(key)):
            f.call("triptych_check_seen", "void", [state, entry, key])


def _end() -> str:
    """`end()`: a block has ended, and nobody wrote what the log has."""
    f = Function(END_BLOCK, "void", [])
    state = f.call(STATE, "ptr", ())
    put(f, state, at.LOG_BYTES, f.number(0, "i64"))
    f.call(DROP, "void", [state])
    f.line("ret void")
    return f.text()
