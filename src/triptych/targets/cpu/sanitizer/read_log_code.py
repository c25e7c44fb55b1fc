"""Read log, native code: what is only read until the next barrier races with nobody, and is never checked.

While nothing was written since the block's last barrier, a read goes into a log. A write, a warp that synchronizes, or
a full log has the reads of the log looked at first, and a barrier of the block forgets them. Whether what is read had
been written at all is asked once for each place in a block.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager

from triptych.targets.cpu.sanitizer import shadow_layout as at
from triptych.targets.cpu.sanitizer.async_code import DROP
from triptych.targets.cpu.sanitizer.happens_before_code import BLOCK_ENDED, STATE, field, put
from triptych.targets.cpu.sanitizer.llvm_writer import Function, Number
from triptych.targets.cpu.sanitizer.shadow_code import ACCESS_NOW, END_BLOCK, PARAMETERS, RUN_NOW

WRITTEN = "triptych_check_written"
_WRITTEN_AT = "triptych_check_written_at"


def repeated_reads_code() -> str:
    """All functions of this file."""
    return _written() + _written_at()


@contextmanager
def shifts(f: Function, levels: Number) -> Iterator[Number]:
    """What is written inside happens for every iteration of all loops, with the bytes behind the first."""
    numbers = [(field(f, levels, 16 * i, "i64"), field(f, levels, 16 * i + 8, "i64")) for i in range(at.LEVELS)]
    (step, count), *rest = numbers
    assert len(rest) == 2, "three loops are recorded"
    with f.count(0, rest[1][1]) as k, f.count(0, rest[0][1]) as j, f.count(0, count) as i:
        yield i * step + j * rest[0][0] + k * rest[1][0]


def _written() -> str:
    """`written(state, entry)`: whether this block has written all that reads of the log have read."""
    f = Function(WRITTEN, "i1", [("state", "ptr"), ("entry", "ptr")], "noinline")
    state, entry = f.parameters
    with f.when((field(f, entry, at.ENTRY_FORM) & at.IS_REPEATED).equals(0)):
        f.give(f.call(_WRITTEN_AT, "i1", [state, entry, f.number(0, "i64")]), "i1")
    with shifts(f, f.at(entry, at.ENTRY_LEVELS, "i8")) as shift:
        whole = f.call(_WRITTEN_AT, "i1", [state, entry, shift])
        with f.when(whole ^ 1):
            f.give(0, "i1")
    f.line("ret i1 1")
    return f.text()


def _written_at() -> str:
    """`written_at(state, entry, shift)`: the same for one of the reads, so many bytes behind the first."""
    f = Function(_WRITTEN_AT, "i1", [("state", "ptr"), ("entry", "ptr"), ("shift", "i64")], "noinline")
    state, entry, shift = f.parameters
    mask, width = field(f, entry, at.ENTRY_MASK, "i64"), field(f, entry, at.ENTRY_WIDTH)
    size = field(f, entry, at.ENTRY_SIZE).to("i64")
    from_here = shift - field(f, state, at.SHARED, "i64")
    base, stride = (field(f, entry, offset, "i64") for offset in (at.ENTRY_BASE, at.ENTRY_STRIDE))
    is_run = (field(f, entry, at.ENTRY_FORM) & at.IS_RUN).differs(0)
    from_first = (mask & (mask + 1)).equals(0) & mask.differs(0)
    active = f.select(stride.equals(0), 1, f.call("llvm.ctpop.i64", "i64", [mask]), "i64")
    inside = (base + from_here + size * active - 1) < field(f, state, at.SHARED_BYTES, "i64")
    with f.when(is_run & (stride.equals(size) | stride.equals(0)) & from_first & inside):
        f.give(_is_whole(f, state, base + from_here, size * active), "i1")
    with f.count(0, width) as lane, f.when(((mask >> lane.to("i64")) & 1).differs(0)):
        address = f.variable("i64", base + stride * lane.to("i64"))
        with f.when(is_run ^ 1):
            address.set(f.load("i64", f.at(f.at(entry, at.ENTRY_ADDRESSES, "i8"), lane, "i64")))
        with f.when(_is_whole(f, state, address.now + from_here, size) ^ 1):
            f.give(0, "i1")
    f.line("ret i1 1")
    return f.text()


def _is_whole(f: Function, state: Number, byte: Number, size: Number) -> Number:
    """Whether this block has written all cells of so many bytes; what is not shared memory does not count."""
    grain, writes = field(f, state, at.GRAIN).to("i64"), field(f, state, at.WRITES, "ptr")
    start = field(f, state, at.START).to("i64") << 32
    last = byte + size - 1
    limit = field(f, state, at.SHARED_BYTES, "i64")
    new = f.variable("i64", 0)
    with f.when((byte < limit) & (last < limit)), f.count(byte >> grain, (last >> grain) + 1) as cell:
        new.set(new.now | (f.load("i64", f.at(writes, cell, "i64")) < start).to("i64"))
    return new.now.equals(0)


ACCESS = "triptych_check_access"
ACCESS_RUN = "triptych_check_run"
ACCESS_LOOP = "triptych_check_access_loop"
RUN_LOOP = "triptych_check_run_loop"
PASS_ALL = "triptych_check_pass_all"
FLUSH = "triptych_check_flush"
_LOOK, _LOOK_AT = "triptych_check_look", "triptych_check_look_at"
_LARGEST = at.ENTRY_ADDRESSES + 8 * at.MOST_WARPS
_PRIMES = tuple(number - (1 << 64) for number in (0x9E3779B97F4A7C15, 0xC2B2AE3D27D4EB4F, 0xD6E8FEB86659FD93))


def read_log_code() -> str:
    """All functions of this file."""
    functions = (
        _look(),
        _look_at(),
        _flush(),
        _seen(),
        _access(),
        _run(),
        _access_loop(),
        _run_loop(),
        _pass(),
        _end(),
    )
    return "".join(functions)


def _entry(f: Function, state: Number) -> Number:
    return f.at(field(f, state, at.LOG, "ptr"), field(f, state, at.LOG_BYTES, "i64"), "i8")


def _header(f: Function, entry: Number) -> tuple[Number, ...]:
    """Mask, first thread, width, size, kind and site of reads in the log."""
    places = (at.ENTRY_FIRST, at.ENTRY_WIDTH, at.ENTRY_SIZE, at.ENTRY_KIND, at.ENTRY_SITE)
    return field(f, entry, at.ENTRY_MASK, "i64"), *(field(f, entry, offset) for offset in places)


def _has(f: Function, entry: Number, form: int) -> Number:
    return (field(f, entry, at.ENTRY_FORM) & form).differs(0)


def _look() -> str:
    """`look(state, entry)`: the reads become some of the cells."""
    f = Function(_LOOK, "void", [("state", "ptr"), ("entry", "ptr")], "noinline")
    state, entry = f.parameters
    with f.when(_has(f, entry, at.IS_REPEATED) ^ 1):
        f.call(_LOOK_AT, "void", [state, entry, f.number(0, "i64")])
        f.give()
    with shifts(f, f.at(entry, at.ENTRY_LEVELS, "i8")) as shift:
        f.call(_LOOK_AT, "void", [state, entry, shift])
    f.line("ret void")
    return f.text()


def _look_at() -> str:
    """`look_at(state, entry, shift)`: one of the reads, so many bytes behind the first."""
    f = Function(_LOOK_AT, "void", [("state", "ptr"), ("entry", "ptr"), ("shift", "i64")], "noinline")
    state, entry, shift = f.parameters
    rest = [*_header(f, entry), Number(f, "null", "ptr")]
    with f.when(_has(f, entry, at.IS_RUN)):
        base, stride = (field(f, entry, offset, "i64") for offset in (at.ENTRY_BASE, at.ENTRY_STRIDE))
        f.call(RUN_NOW, "void", [state, (base + shift).to("ptr"), stride, *rest])
        f.give()
    f.line(f"%addresses = alloca [{at.MOST_WARPS} x i64], align 64")
    addresses = Number(f, "%addresses", "ptr")
    with f.count(0, field(f, entry, at.ENTRY_WIDTH).to("i64")) as lane:
        address = f.load("i64", f.at(f.at(entry, at.ENTRY_ADDRESSES, "i8"), lane, "i64"))
        f.store(address + shift, f.at(addresses, lane, "i64"))
    f.call(ACCESS_NOW, "void", [state, addresses, *rest])
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
        f.call(_LOOK, "void", [state, entry])
        place.set(place.now + field(f, entry, at.ENTRY_BYTES).to("i64"))
    f.line("ret void")
    return f.text()


def _seen() -> str:
    """`seen(state, entry, key)`: whether this block has written all that is read; what was so once stays so."""
    f = Function("triptych_check_seen", "void", [("state", "ptr"), ("entry", "ptr"), ("key", "i64")], "noinline")
    state, entry, key = f.parameters
    whole = f.call(WRITTEN, "i1", [state, entry])
    with f.when(whole):
        f.store(key, _memo_place(f, state, key))
    with f.when(whole ^ 1):
        f.call(_LOOK, "void", [state, entry])
    f.line("ret void")
    return f.text()


def _memo_place(f: Function, state: Number, key: Number) -> Number:
    return f.at(f.at(state, at.MEMO, "i8"), (key >> 40) & (at.MEMO_ENTRIES - 1), "i64")


def _log(f: Function, state: Number, kind: Number, given: tuple[Number, ...]) -> Number:
    """Begin an entry; gives whether the read is one for the log."""
    quiet = (kind & ~at.IS_COLLECTIVE).equals(at.READS_MEMORY) & field(f, state, at.LAST_WRITE).differs(
        field(f, state, at.BLOCK_TIME)
    )
    quiet = quiet & field(f, state, at.PENDING).equals(0)
    used = field(f, state, at.LOG_BYTES, "i64")
    with f.when((quiet ^ 1) & used.differs(0)):
        f.call(FLUSH, "void", [state])
    with f.when(quiet):
        with f.when(used >= at.LOG_CAPACITY - _LARGEST):
            f.call(FLUSH, "void", [state])
        entry = _entry(f, state)
        _put_header(f, entry, given)
    return quiet


def _nobody_writes(f: Function, state: Number) -> Number:
    """Whether nothing was written since the block's last barrier, and no copy is on its way."""
    block = field(f, state, at.BLOCK_TIME)
    return field(f, state, at.LAST_WRITE).differs(block) & field(f, state, at.PENDING).equals(0)


def _put_header(f: Function, entry: Number, given: Sequence[Number]) -> None:
    places = (at.ENTRY_MASK, at.ENTRY_FIRST, at.ENTRY_WIDTH, at.ENTRY_SIZE, at.ENTRY_KIND, at.ENTRY_SITE)
    for offset, value in zip(places, given, strict=True):
        put(f, entry, offset, value)


def _access() -> str:
    """`access(addresses, mask, first, width, size, kind, site, values)`: each lane has an address of its own."""
    f = Function(ACCESS, "void", [("addresses", "ptr"), *PARAMETERS, ("values", "ptr")], "noinline")
    addresses, mask, first, width, size, kind, site, values = f.parameters
    state = f.call(STATE, "ptr", ())
    with f.when(_log(f, state, kind, (mask, first, width, size, kind, site))):
        entry, used = _entry(f, state), width.to("i64") * 8
        f.call("memcpy", "ptr", [f.at(entry, at.ENTRY_ADDRESSES, "i8"), addresses, used])
        _close(f, state, entry, 0, used + at.ENTRY_ADDRESSES, _address_key(f, addresses, width))
        f.give()
    f.call(ACCESS_NOW, "void", [state, addresses, mask, first, width, size, kind, site, values])
    f.line("ret void")
    return f.text()


def _address_key(f: Function, addresses: Number, width: Number) -> Number:
    places = f.variable("i64", 0)
    with f.count(0, width.to("i64")) as lane:
        places.set(places.now + f.load("i64", f.at(addresses, lane, "i64")) * ((lane << 1) + _PRIMES[0]))
    return places.now


def _run() -> str:
    """`run(base, stride, mask, first, width, size, kind, site, values)`: lane i has the address base + i * stride."""
    f = Function(ACCESS_RUN, "void", [("base", "ptr"), ("stride", "i64"), *PARAMETERS, ("values", "ptr")], "noinline")
    base, stride, mask, first, width, size, kind, site, values = f.parameters
    state = f.call(STATE, "ptr", ())
    with f.when(_log(f, state, kind, (mask, first, width, size, kind, site))):
        entry = _entry(f, state)
        put(f, entry, at.ENTRY_BASE, base)
        put(f, entry, at.ENTRY_STRIDE, stride)
        places = base.to("i64") * _PRIMES[0] + stride * _PRIMES[1]
        _close(f, state, entry, at.IS_RUN, f.number(at.ENTRY_LEVELS, "i64"), places)
        f.give()
    f.call(RUN_NOW, "void", [state, base, stride, mask, first, width, size, kind, site, values])
    f.line("ret void")
    return f.text()


def _access_loop() -> str:
    """`access_loop(addresses, mask, first, width, size, kind, site, levels)`: reads that loops repeat."""
    f = Function(ACCESS_LOOP, "void", [("addresses", "ptr"), *PARAMETERS, ("levels", "ptr")], "noinline")
    addresses, *given, levels = f.parameters
    width = given[2]

    def write(entry: Number) -> tuple[Number, Number]:
        used = width.to("i64") * 8
        f.call("memcpy", "ptr", [f.at(entry, at.ENTRY_ADDRESSES, "i8"), addresses, used])
        return used + at.ENTRY_ADDRESSES, _address_key(f, addresses, width)

    _log_loop(f, given, levels, 0, write)
    return f.text()


def _run_loop() -> str:
    """`run_loop(base, stride, mask, first, width, size, kind, site, levels)`: lane i has base + i * stride."""
    f = Function(RUN_LOOP, "void", [("base", "ptr"), ("stride", "i64"), *PARAMETERS, ("levels", "ptr")], "noinline")
    base, stride, *given, levels = f.parameters

    def write(entry: Number) -> tuple[Number, Number]:
        put(f, entry, at.ENTRY_BASE, base)
        put(f, entry, at.ENTRY_STRIDE, stride)
        return f.number(at.ENTRY_ADDRESSES, "i64"), base.to("i64") * _PRIMES[0] + stride * _PRIMES[1]

    _log_loop(f, given, levels, at.IS_RUN, write)
    return f.text()


def _log_loop(
    f: Function,
    given: Sequence[Number],
    levels: Number,
    form: int,
    write: Callable[[Number], tuple[Number, Number]],
) -> None:
    """An entry of the log for many reads, or, where something was written since the barrier, a look at each."""
    state = f.call(STATE, "ptr", ())
    quiet = _nobody_writes(f, state)
    used = field(f, state, at.LOG_BYTES, "i64")
    with f.when(((quiet ^ 1) & used.differs(0)) | (used >= at.LOG_CAPACITY - _LARGEST)):
        f.call(FLUSH, "void", [state])
    entry = _entry(f, state)
    _put_header(f, entry, given)
    f.call("memcpy", "ptr", [f.at(entry, at.ENTRY_LEVELS, "i8"), levels, f.number(16 * at.LEVELS, "i64")])
    size, places = write(entry)
    form |= at.IS_REPEATED
    with f.when(quiet ^ 1):
        put(f, entry, at.ENTRY_FORM, f.number(form, "i32"))
        f.call(_LOOK, "void", [state, entry])
        f.give()
    for i in range(2 * at.LEVELS):
        places = places * _PRIMES[2] + field(f, levels, 8 * i, "i64")
    _close(f, state, entry, form, size, places)
    f.line("ret void")


def _close(f: Function, state: Number, entry: Number, form: int, size: Number, places: Number) -> None:
    """End an entry; `places` stands for its addresses where it is asked whether they were looked at before."""
    put(f, entry, at.ENTRY_BYTES, size.to("i32"))
    put(f, entry, at.ENTRY_FORM, f.number(form, "i32"))
    put(f, state, at.LOG_BYTES, field(f, state, at.LOG_BYTES, "i64") + size)
    with f.when((field(f, state, at.MODE) & at.CHECK_INIT).differs(0)):
        mask = field(f, entry, at.ENTRY_MASK, "i64") * _PRIMES[1]
        what = (field(f, entry, at.ENTRY_SIZE, "i64") + (field(f, state, at.START).to("i64") << 16)) * _PRIMES[2]
        key = places ^ mask ^ what
        with f.when(f.load("i64", _memo_place(f, state, key)).differs(key)):
            f.call("triptych_check_seen", "void", [state, entry, key])


def _pass() -> str:
    """`pass_all()`: all warps are behind a barrier of the block; one call stands for all."""
    f = Function(PASS_ALL, "void", [])
    f.call("triptych_check_pass", "void", [f.call(STATE, "ptr", ()), f.number(0, "i32")])
    f.line("ret void")
    return f.text()


def _end() -> str:
    """`end()`: a block has ended, and nobody wrote what the log has."""
    f = Function(END_BLOCK, "void", [])
    state = f.call(STATE, "ptr", ())
    put(f, state, at.LOG_BYTES, f.number(0, "i64"))
    f.call(DROP, "void", [state])
    with f.when((field(f, state, at.MODE) & at.HAS_AGENTS).differs(0)):
        f.call("triptych_check_agents_ended", "void", [state])
    with f.when((field(f, state, at.MODE) & at.COUNT_ARRIVALS).differs(0)):
        f.call(BLOCK_ENDED, "void", [state])
    f.line("ret void")
    return f.text()
