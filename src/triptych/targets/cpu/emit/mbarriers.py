"""Mbarriers on a CPU: eight bytes of shared memory that count arrivals, and bytes under way, phase after phase.

All warps that can reach one run on one thread, so nothing is atomic. The word, from the lowest bit: arrivals missing in
this phase (20), arrivals of a phase (20), bytes under way (21, signed), a mark of barriers that were initialised (2),
the phase's parity (1). A warp that waits gives way to the others until the phase of its parity is over.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import partial

from triptych.diagnostics.kernel_errors import MbarrierError
from triptych.ir.handles import Operation, Value
from triptych.kernel_ir.dialects import simt
from triptych.targets.cpu.emit.barrier_state import KNOWN, MOST_KNOWN, PROGRESS, State, loop, when
from triptych.targets.cpu.emit.collectives import no_op, require_of
from triptych.targets.cpu.emit.lane_builder import LaneBuilder
from triptych.targets.cpu.emit.memory import gather
from triptych.targets.cpu.emit.serialized_lanes import each_active
from triptych.targets.cpu.emit.values import Scalar, Vector, plain_pointer
from triptych.targets.cpu.emit.warp import Warp

COUNT_BITS, TX_BITS = 20, 21
EXPECTED, TX, MARK, PHASE = COUNT_BITS, 2 * COUNT_BITS, 2 * COUNT_BITS + TX_BITS, 63
"""The lowest bit of each field; `pending` begins at bit 0."""
COUNTS = (1 << COUNT_BITS) - 1
INITIALISED = 0b01
"""Fresh shared memory has other bits there: zeros, ones, or bytes of 0xCD."""
_UNSETTLED = COUNTS | ((1 << TX_BITS) - 1) << TX
"""Arrivals or bytes of this phase are missing."""

Act = Callable[[Value, list[Value]], None]
"""What is done with one barrier: its address, and the other operands."""


class Word:
    """The state of a barrier, as an i64, while code that changes it is written."""

    def __init__(self, code: LaneBuilder, pointer: Value) -> None:
        self._code, self._pointer = code, pointer
        self._word = code.load(pointer, "i64", 8)

    def pending(self) -> Value:
        """Arrivals that this phase misses (i64)."""
        return self._code.value("arith.andi", (self._word, self._number(COUNTS)), "i64")

    def expected(self) -> Value:
        """Arrivals of every phase (i64)."""
        upper = self._code.value("arith.shrui", (self._word, self._number(EXPECTED)), "i64")
        return self._code.value("arith.andi", (upper, self._number(COUNTS)), "i64")

    def tx(self) -> Value:
        """Bytes that this phase misses (i64, signed)."""
        top = self._code.value("arith.shli", (self._word, self._number(64 - TX - TX_BITS)), "i64")
        return self._code.value("arith.shrsi", (top, self._number(64 - TX_BITS)), "i64")

    def initialised(self) -> Value:
        """Whether anybody has made a barrier of these bytes."""
        mark = self._code.value("arith.andi", (self._word, self._number(0b11 << MARK)), "i64")
        return self._code.compare("eq", mark, self._number(INITIALISED << MARK))

    def is_over(self, parity: Value) -> Value:
        """Whether the phase of a parity (i32) is over."""
        wanted = self._code.value("arith.extui", (low_bit(self._code, parity),), "i64")
        return self._code.compare("ne", self._parity(), wanted)

    def _parity(self) -> Value:
        return self._code.value("arith.shrui", (self._word, self._number(PHASE)), "i64")

    def arrive(self, arrivals: Value) -> None:
        """Count arrivals (i64); no more than are missing."""
        self._word = self._code.value("arith.subi", (self._word, arrivals), "i64")

    def add_tx(self, amount: Value) -> None:
        """Expect bytes (i64), or with a negative number count bytes that have come."""
        code = self._code
        field = self._number(((1 << TX_BITS) - 1) << TX)
        shifted = code.value("arith.shli", (amount, self._number(TX)), "i64")
        total = code.value("arith.andi", (code.value("arith.addi", (self._word, shifted), "i64"), field), "i64")
        others = code.value("arith.andi", (self._word, self._number(~(((1 << TX_BITS) - 1) << TX))), "i64")
        self._word = code.value("arith.ori", (others, total), "i64")

    def store(self) -> None:
        self._code.store(self._word, self._pointer, 8)

    def settle(self, state: State | None) -> None:
        """Store it; a phase that misses nothing is over, and the next one misses all its arrivals."""
        code = self._code
        missing = code.value("arith.andi", (self._word, self._number(_UNSETTLED)), "i64")
        over = code.compare("eq", missing, self._number(0))
        turned = code.value("arith.xori", (self._word, self._number(-1 << PHASE)), "i64")
        following = code.value("arith.ori", (turned, self.expected()), "i64")
        self._word = code.select(over, following, self._word, "i64")
        self.store()
        if state is not None:
            when(code, over, partial(state.add, PROGRESS, 1))

    def _number(self, value: int) -> Value:
        return self._code.constant((value + (1 << 63)) % (1 << 64) - (1 << 63), "i64")


def complete(code: LaneBuilder, state: State | None, pointer: Value, amount: Value) -> None:
    """Bytes (i32 or i64) have come: for whatever copies in the background. `state` is that of the waiting warps."""
    word = Word(code, pointer)
    zero = code.constant(0, "i64")
    word.add_tx(code.value("arith.subi", (zero, code.resized(amount, "i64")), "i64"))
    word.settle(state)


def _note(code: LaneBuilder, state: State, pointer: Value) -> None:
    """Remember a barrier of the block."""
    number = state.get(KNOWN)
    fits = code.compare("ult", number, code.constant(MOST_KNOWN, "i32"))

    def keep() -> None:
        code.store(pointer, state.address(number), 8)
        state.add(KNOWN, 1)

    when(code, fits, keep)


def forget(code: LaneBuilder, state: State) -> None:
    """The block has ended: the next one in this memory finds no barriers that it has not initialised itself."""
    bounds = (code.constant(0, "i32"), state.get(KNOWN), code.constant(1, "i32"))
    no_op = code.constant(0, "i64")
    loop(code, *bounds, lambda number: code.store(no_op, code.load(state.address(number), "!llvm.ptr", 8), 8))


# each operation -----------------------------------------------------------------------------------------------------
def init(warp: Warp, operation: Operation) -> None:
    def act(lane: Value | None) -> None:
        code = warp.code
        pointer, rest = _operands(warp, operation, lane)
        warp.arrays.observer.phase(warp, operation, pointer, lane)
        arrivals = code.resized(rest[0], "i64")
        upper = code.value("arith.shli", (arrivals, code.constant(EXPECTED, "i64")), "i64")
        counts = code.value("arith.ori", (arrivals, upper), "i64")
        code.store(code.value("arith.ori", (counts, code.constant(INITIALISED << MARK, "i64")), "i64"), pointer, 8)
        if warp.arrays.state is not None:
            _note(code, warp.arrays.state, pointer)

    if _alike(warp, operation):
        act(None)
    else:
        each_active(warp, act)


def arrive(warp: Warp, operation: Operation) -> None:
    _update(warp, operation, _arrive)


def expect(warp: Warp, operation: Operation) -> None:
    _update(warp, operation, _expect)


def arrive_expect(warp: Warp, operation: Operation) -> None:
    _update(warp, operation, _arrive_expect)


def complete_bytes(warp: Warp, operation: Operation) -> None:
    _update(warp, operation, _complete)


Change = Callable[[Warp, Operation, Word, "list[Value]", Value], None]
"""How an operation of as many threads (i64) changes a barrier; the other operands are theirs."""


def _update(warp: Warp, operation: Operation, change: Change) -> None:
    """Once for all active lanes that do the same to one barrier, otherwise lane after lane."""
    code = warp.code
    if operation.name == simt.ASYNC_ARRIVE:
        warp.arrays.observer.sync(warp, operation)
    if _alike(warp, operation):
        pointer, rest = _operands(warp, operation, None)
        warp.arrays.observer.phase(warp, operation, pointer)
        many = code.constant(code.width, "i32") if warp.mask is None else code.many(warp.mask)
        lane = code.constant(0, "i32") if warp.mask is None else code.first(warp.mask)
        _change(warp, operation, change, pointer, rest, code.resized(many, "i64"), lane)
        return

    def once(lane: Value) -> None:
        pointer, rest = _operands(warp, operation, lane)
        number = code.value("arith.index_castui", (lane,), "i32")
        warp.arrays.observer.phase(warp, operation, pointer, lane)
        _change(warp, operation, change, pointer, rest, code.constant(1, "i64"), number)

    each_active(warp, once)


def _change(
    warp: Warp, operation: Operation, change: Change, pointer: Value, rest: list[Value], many: Value, lane: Value
) -> None:
    word = Word(warp.code, pointer)
    _require_initialised(warp, operation, word, lane)
    change(warp, operation, word, [*rest, lane], many)


def _arrive(warp: Warp, operation: Operation, word: Word, rest: list[Value], many: Value) -> None:
    count = rest[0] if operation.name == simt.MBARRIER_ARRIVE else warp.code.constant(1, "i32")
    arrivals = warp.code.value("arith.muli", (many, warp.code.resized(count, "i64")), "i64")
    enough = warp.code.compare("ule", arrivals, word.pending())
    _require(
        warp,
        operation,
        enough,
        rest[-1],
        "more threads arrive at an mbarrier than a phase of it counts",
        found="arrivals that this phase does not miss any more",
        expected="as many arrivals in a phase as `mbarrier_init` says",
        instead="`with cute.arch.elect_one():` around an arrival of one thread, or the number of all that arrive",
    )
    word.arrive(arrivals)
    word.settle(warp.arrays.state)


def _expect(warp: Warp, operation: Operation, word: Word, rest: list[Value], many: Value) -> None:
    _add(warp, operation, word, rest, many)
    word.store()


def _arrive_expect(warp: Warp, operation: Operation, word: Word, rest: list[Value], many: Value) -> None:
    _add(warp, operation, word, rest, many)
    _arrive(warp, operation, word, rest, many)


def _complete(warp: Warp, operation: Operation, word: Word, rest: list[Value], many: Value) -> None:
    zero = warp.code.constant(0, "i32")
    _add(warp, operation, word, [warp.code.value("arith.subi", (zero, rest[0]), "i32"), *rest[1:]], many)
    word.settle(warp.arrays.state)


def _add(warp: Warp, operation: Operation, word: Word, rest: list[Value], many: Value) -> None:
    """Bytes of each of the threads."""
    code = warp.code
    amount = code.value("arith.muli", (many, code.value("arith.extsi", (rest[0],), "i64")), "i64")
    total = code.value("arith.addi", (word.tx(), amount), "i64")
    shifted = code.value("arith.addi", (total, code.constant(COUNTS, "i64")), "i64")
    holds = code.compare("ule", shifted, code.constant(2 * COUNTS, "i64"))
    _require(
        warp,
        operation,
        holds,
        rest[-1],
        "more bytes under way than an mbarrier can count",
        expected=f"at most {COUNTS} bytes that are expected in one phase and have not come",
        instead="fewer bytes in a stage, or `with cute.arch.elect_one():` around what one thread expects",
    )
    word.add_tx(amount)


# waiting ------------------------------------------------------------------------------------------------------------
def wait(warp: Warp, operation: Operation) -> None:
    """Give way until the phase is over, for every lane that waits."""
    if _alike(warp, operation):
        pointer, (parity,) = _operands(warp, operation, None)
        lane = warp.code.constant(0, "i32") if warp.mask is None else warp.code.first(warp.mask)
        warp.arrays.observer.phase(warp, operation, pointer)
        _require_initialised(warp, operation, Word(warp.code, pointer), lane)
        over = partial(_is_over, warp.code, pointer, parity)
        warp.arrays.wait_until(warp, operation, over, (pointer, low_bit(warp.code, parity)))
        warp.arrays.observer.phase(warp, operation, pointer, over=True)
        return
    _tell_each(warp, operation)
    _wait_each(warp, operation)
    _tell_each(warp, operation, over=True)


def _tell_each(warp: Warp, operation: Operation, *, over: Value | bool = False) -> None:
    """Lanes use mbarriers of their own; or they, or those of them with a truth value, have seen their phases end."""
    if not warp.arrays.observer.observes(operation):
        return
    before = warp.mask
    if not isinstance(over, bool):
        warp.mask = over if before is None else warp.code.both(before, over)

    def once(lane: Value) -> None:
        pointer, _ = _operands(warp, operation, lane)
        warp.arrays.observer.phase(warp, operation, pointer, lane, over=over is not False)

    each_active(warp, once)
    warp.mask = before


def low_bit(code: LaneBuilder, phase: Value) -> Value:
    """The parity of a phase: programs also number phases on, of which the machine reads one bit."""
    return code.both(phase, code.constant(1, "i32"), "i32")


def _is_over(code: LaneBuilder, pointer: Value, parity: Value) -> Value:
    return Word(code, pointer).is_over(parity)


def _wait_each(warp: Warp, operation: Operation) -> None:
    """Lanes wait for different barriers or phases: one that has seen the end of its phase does not look again."""
    code, kind = warp.code, f"i{warp.code.width}"
    left = warp.arrays.scratch(code.type(kind), "lanes that wait")
    every = code.constant(-1, kind) if warp.mask is None else code.bits(warp.mask)
    code.store(every, left, 4)
    pointers, parities = (warp.vector(operand) for operand in operation.operands)

    def holds() -> Value:
        bits = code.value("vector.broadcast", (code.load(left, kind, 4),), f"vector<1x{kind}>")
        before, warp.mask = warp.mask, code.value("vector.bitcast", (bits,), code.wide("i1"))
        missing = code.both(warp.mask, code.invert(_over(warp, pointers, parities)))
        warp.mask = before
        code.store(code.bits(missing), left, 4)
        return code.negated(code.any(missing))

    lane = code.constant(0, "i32") if warp.mask is None else code.first(warp.mask)
    pointer, (parity,) = _operands(warp, operation, code.value("arith.index_castui", (lane,), "index"))
    warp.arrays.wait_until(warp, operation, holds, (pointer, low_bit(code, parity)))


def _over(warp: Warp, pointers: Value, parities: Value) -> Value:
    """In which active lanes the phase is over."""
    code = warp.code
    words = gather(warp, pointers, code.type("i64"), 8)
    shift = code.constants([PHASE] * code.width, "i64")
    phases = code.value("arith.shrui", (words, shift), code.wide("i64"))
    wanted = code.both(parities, code.constants([1] * code.width, "i32"), code.wide("i32"))
    return code.compare_lanes("ne", phases, code.value("arith.extui", (wanted,), code.wide("i64")))


def fence(warp: Warp, operation: Operation) -> None:
    """A CPU's copies see what its threads wrote; only checking builds count fences."""
    warp.arrays.observer.sync(warp, operation)


def test(warp: Warp, operation: Operation) -> None:
    result = operation.results[0]
    if _alike(warp, operation):
        pointer, (parity,) = _operands(warp, operation, None)
        over = Word(warp.code, pointer).is_over(parity)
        observer = warp.arrays.observer
        if observer.observes(operation):
            observer.phase(warp, operation, pointer)
            when(warp.code, over, partial(observer.phase, warp, operation, pointer, over=True))
        warp.set(result, Scalar(over))
        return
    pointers, parities = (warp.vector(operand) for operand in operation.operands)
    _tell_each(warp, operation)
    over = _over(warp, pointers, parities)
    _tell_each(warp, operation, over=over)
    warp.set(result, Vector(over))


# operands and checks ------------------------------------------------------------------------------------------------
def _alike(warp: Warp, operation: Operation) -> bool:
    return all(warp.analysis.at(operand).uniform for operand in operation.operands)


def _operands(warp: Warp, operation: Operation, lane: Value | None) -> tuple[Value, list[Value]]:
    """The barrier, in the block of the rank if there is one, and the other operands: of a lane, or of all."""
    kinds = [plain_pointer(operand.type) for operand in operation.operands]
    pairs = zip(operation.operands, kinds, strict=True)
    values = [warp.scalar(o) if lane is None else warp.lane(o, lane, kind) for o, kind in pairs]
    pointer, *rest = values
    if len(rest) == 2:
        pointer = warp.arrays.of_rank(warp, operation, pointer, rest.pop())
    return pointer, rest


def _require_initialised(warp: Warp, operation: Operation, word: Word, lane: Value) -> None:
    _require(
        warp,
        operation,
        word.initialised(),
        lane,
        "an mbarrier that nobody has initialised",
        expected="`mbarrier_init` by one thread, a fence and a barrier of the block before the first use",
        instead="`mbarrier_init(...)`, `mbarrier_init_fence()` and `sync_threads()` first",
    )


_require = partial(require_of, MbarrierError)


HANDLERS: dict[str, Callable[[Warp, Operation], None]] = {
    simt.MBARRIER_INIT: init,
    simt.MBARRIER_ARRIVE: arrive,
    simt.MBARRIER_EXPECT: expect,
    simt.MBARRIER_ARRIVE_EXPECT: arrive_expect,
    simt.MBARRIER_COMPLETE: complete_bytes,
    simt.ASYNC_ARRIVE: arrive,  # copies of the block have landed when they are issued
    simt.MBARRIER_WAIT: wait,
    simt.MBARRIER_TEST: test,
    simt.MBARRIER_FENCE: no_op,
    simt.ASYNC_FENCE: fence,
}
