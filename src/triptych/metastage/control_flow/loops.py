"""Loops on run-time conditions: the body is traced once, and the variables it assigns are carried; a loop that turns
out to assign an attribute is traced again with the attribute carried.
"""

from __future__ import annotations

import functools
import sys
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager, suppress
from typing import Any

from triptych.hooks import DEAD, UNDEFINED, Calls, Get, Names, Place, Set, Thunk
from triptych.ir.handles import InsertionPoint, Operation, Value
from triptych.metastage.control_flow.branches import ScfIf, two_sided
from triptych.metastage.control_flow.iteration import Steps
from triptych.metastage.control_flow.join_errors import loop_mismatch
from triptych.metastage.control_flow.join_plans import (
    MismatchError,
    Partial,
    Pending,
    Plan,
    bare,
    carry,
    is_dead,
    missing_path,
)
from triptych.metastage.control_flow.mutation import assigned_by, can_track
from triptych.metastage.control_flow.object_joins import note_carried, note_head, note_left
from triptych.metastage.trace import locations
from triptych.metastage.trace.loop_carried_attributes import Finding, LoopCarriedAttributes, TraceAgain
from triptych.metastage.trace.trace import Region, Trace, place
from triptych.metastage.values.binding_time import truth
from triptych.metastage.values.scalars import Boolean, materialize

TraceLoop = Callable[[Names, Get, Set, LoopCarriedAttributes], None]


def trace_loop(trace: Trace, names: Names, get: Get, set_: Set, calls: Calls, loop: TraceLoop) -> None:
    """Trace a loop with its variables and with all attributes that it assigns, whichever function does it."""
    origin = locations.chain(locations.user_frame(sys._getframe(1)))
    found = _known(trace, origin, calls, names)
    copied: set[int] = set()
    with trace.repetition.output.holding():
        while True:
            every = (*names, *found)
            read, write = _also(get, set_, len(names), found)
            start = read()
            undo = _undo(trace)
            done = trace.repetition.done_once
            attributes = LoopCarriedAttributes(every, start, Finding.TRACED_AGAIN, origin, done, frozenset(copied))
            try:
                loop(every, read, write, attributes)
            except TraceAgain as again:
                if again.loop is not attributes:
                    raise
                trace.repetition.again = None
                write(start)
                undo()
                if isinstance(again.place, int):
                    copied.add(again.place)
                else:
                    found = [*found, again.place]
            else:
                return


@contextmanager
def drafted(trace: Trace, name: str, regions: int) -> Iterator[Operation]:
    """An operation that a loop is traced into; it goes if the loop is traced again."""
    draft = trace.operation(name, regions=regions)
    try:
        yield draft
    except TraceAgain:
        draft.erase()
        raise


def _known(trace: Trace, origin: tuple[tuple[int, int], ...], calls: Calls, names: Names) -> list[Place]:
    """The attributes that methods assign which every iteration calls, and those that a loop at this position was found
    to assign when a loop around it was traced before."""
    given = {(id(name.owner), name.attribute) for name in names if isinstance(name, Place)}
    known = []
    for each in (*assigned_by(trace, calls), *trace.repetition.found.get(origin, ())):
        key = (id(each.owner), each.attribute)
        if key not in given and can_track(trace, each.owner, each.attribute):
            given.add(key)
            known.append(each)
    return known


def _also(get: Get, set_: Set, count: int, found: list[Place]) -> tuple[Get, Set]:
    """The variables, followed by attributes."""
    if not found:
        return get, set_

    def write(values: tuple[object, ...]) -> None:
        set_(values[:count])
        for carried, value in zip(found, values[count:], strict=True):
            carried.value = value

    return lambda: (*get(), *(place.value for place in found)), write


def _undo(trace: Trace) -> Callable[[], None]:
    """What puts a trace back to where it is now."""
    printed, unlaunched, kernel = trace.repetition.output.length, len(trace.unlaunched), trace.kernel
    merged = len(trace.merged)
    shared = None
    if kernel is not None:
        shared = (len(kernel.shared), kernel.shared_end, kernel.reserved_barriers, kernel.divides_itself)

    def undo() -> None:
        trace.repetition.output.forget(printed)
        del trace.unlaunched[unlaunched:]
        while len(trace.merged) > merged:
            trace.merged.popitem()
        if kernel is not None and shared is not None:
            del kernel.shared[shared[0] :]
            kernel.shared_end, kernel.reserved_barriers, kernel.divides_itself = shared[1:]

    return undo


MAY_NOT_RUN = "when the loop does not run"


class Slot:
    """One carried variable: its plan, and its MLIR values entering the loop and at the head of each block."""

    __slots__ = ("heads", "index", "inits", "plan")

    def __init__(self, index: int, plan: Plan, inits: list[Any], heads: list[list[Any]]) -> None:
        self.index = index
        self.plan = plan
        self.inits = inits
        self.heads = heads


class Carried:
    """The variables of one loop, in the order of the block arguments that carry them."""

    def __init__(
        self, trace: Trace, exits: Names, names: Names, get: Get, set_: Set, attributes: LoopCarriedAttributes
    ) -> None:
        self.trace = trace
        self.outside = trace.region, trace.builder.insertion
        self.attributes = attributes
        self.names = names
        self.get = get
        self.set = set_
        self.before = get()
        self.exits = [names.index(flag) for flag in exits]
        self.blocks: list[tuple[Any, Region | None]] = []
        self.slots: list[Slot] = []
        for index, value in enumerate(self.before):
            if index not in self.exits and bare(value) is not UNDEFINED:
                plan = carry(bare(value), keeps=index not in attributes.copied)
                self.slots.append(Slot(index, plan, plan.lower(bare(value), trace), []))
        for slot in self.slots:
            note_carried(trace, slot.plan, self.before[slot.index], attributes)

    def block(self, operation: Operation, region: int, first: Sequence[Any] = ()) -> Any:
        """A block whose arguments are `first` and the carried values."""
        types = [self.trace.builder.type(text) for slot in self.slots for text in slot.plan.types()]
        block = self.trace.builder.append_block(operation, region, [*first, *types], self.trace.location())
        arguments = iter(list(block.arguments)[len(first) :])
        for slot in self.slots:
            slot.heads.append([next(arguments) for _ in slot.plan.types()])
        self.blocks.append((block, None))
        return block

    def enter(self, region: Region) -> tuple[Any, ...]:
        """Give the variables their values at the head of the newest block; returns them."""
        self.blocks[-1] = (self.blocks[-1][0], region)
        values: list[Any] = [False if i in self.exits else v for i, v in enumerate(self.before)]
        for index, value in enumerate(values):
            if bare(value) is UNDEFINED:
                values[index] = Pending(functools.partial(self._materialize, index), is_dead(value))
        for slot in self.slots:
            head = slot.plan.build(iter(slot.heads[-1]), self.trace)
            note_head(self.trace, slot.plan, head)
            missing = missing_path(self.before[slot.index])
            values[slot.index] = Partial(head, missing) if missing is not None else head
        self.set(tuple(values))
        return tuple(values)

    def _materialize(self, index: int, plan: Plan) -> Any:
        """A pending variable has got a type: every block of the loop gets arguments for it."""
        location = self.trace.location()
        heads = [
            [block.add_argument(self.trace.builder.type(text), location) for text in plan.types()]
            for block, _ in self.blocks
        ]
        before, inits = self.before[index], []
        if isinstance(before, Pending):
            with _emitting(self.trace, *self.outside):
                inits = plan.lower(before.shaped(plan), self.trace)
        self.slots.append(Slot(index, plan, inits, heads))
        block, region = self.blocks[-1]
        assert region is not None, "the body is being traced"
        with _emitting(self.trace, region, self.trace.builder.at_start(block)):
            head = plan.build(iter(heads[-1]), self.trace)
        note_head(self.trace, plan, head)
        return head

    def ensure(self, index: int, value: object) -> None:
        """Carry a variable from now on that was unassigned when the loop started."""
        if index not in self.exits and not any(slot.index == index for slot in self.slots):
            self._materialize(index, carry(bare(value)))

    def lowered(self, end: tuple[Any, ...]) -> list[Any]:
        """The carried values at the end of a block, as MLIR values."""
        values: list[Any] = []
        for index, value in enumerate(end):
            if bare(value) is not UNDEFINED:
                self.ensure(index, value)
        for slot in self.slots:
            value = end[slot.index]
            if isinstance(value, Pending) or value is DEAD:
                values += slot.heads[-1]
                continue
            try:
                values += slot.plan.lower(bare(value), self.trace)
            except MismatchError as mismatch:
                self._copy_instead(slot, value)
                raise loop_mismatch(self.names[slot.index], mismatch, self.before[slot.index]) from None
            note_carried(self.trace, slot.plan, value, self.attributes)
        return values

    def _copy_instead(self, slot: Slot, value: object) -> None:
        """Trace the loop again if the variable becomes another object, whose numbers can cross."""
        attributes, repetition = self.attributes, self.trace.repetition
        if slot.index in attributes.copied or attributes.done_once != repetition.done_once:
            return
        with suppress(MismatchError):
            carry(bare(self.before[slot.index])).lower(bare(value), self.trace)
            repetition.again = TraceAgain(attributes, slot.index)
            raise repetition.again

    def initial(self) -> list[Any]:
        """The carried values entering the loop; what was unassigned enters as a placeholder."""
        return [v for slot in self.slots for v in (slot.inits or slot.plan.placeholder(self.trace))]

    def types(self) -> list[Any]:
        return [self.trace.builder.type(text) for slot in self.slots for text in slot.plan.types()]

    def leave(
        self, results: Sequence[Any], heads: tuple[Any, ...], end: tuple[Any, ...], runs: bool, flags: dict[int, Any]
    ) -> None:
        """Give the variables their values after the loop; `runs` says that it runs at least once."""
        after: list[Any] = list(self.before)
        values = iter(results)
        for slot in self.slots:
            value = slot.plan.build(values, self.trace)
            if end[slot.index] is heads[slot.index]:
                continue
            note_left(self.trace, slot.plan, value, self.before[slot.index], end[slot.index])
            missing = missing_path(end[slot.index])
            if missing is None and not runs:
                missing = self._missing_before(slot.index)
            after[slot.index] = Partial(value, missing) if missing is not None else value
        for index, flag in flags.items():
            after[index] = flag
        self.set(tuple(after))

    def _missing_before(self, index: int) -> tuple[str, Any] | None:
        before = self.before[index]
        if is_dead(before):
            return None
        if bare(before) is UNDEFINED:
            return (MAY_NOT_RUN, place())
        return missing_path(before)


@contextmanager
def _emitting(trace: Trace, region: Region, insertion: InsertionPoint | None) -> Iterator[None]:
    """Emit what belongs to `region` there, although a deeper region is being traced: objects may store and load."""
    deeper, trace.region = trace.region, region
    following, trace.builder.insertion = trace.builder.insertion, insertion
    try:
        yield
    finally:
        trace.region, trace.builder.insertion = deeper, following


def for_loop(
    trace: Trace,
    steps: Steps,
    body: Callable[[Any], None],
    exits: Names,
    names: Names,
    get: Get,
    set_: Set,
    calls: Calls = (),
) -> None:
    """A loop over run-time `steps`."""

    def loop(every: Names, read: Get, write: Set, attributes: LoopCarriedAttributes) -> None:
        _for_loop(trace, steps, body, Carried(trace, exits, every, read, write, attributes))

    trace_loop(trace, names, get, set_, calls, loop)


def _for_loop(trace: Trace, steps: Steps, body: Callable[[Any], None], carried: Carried) -> None:
    counter = trace.builder.type(steps.counter.mlir)
    with drafted(trace, "scf.execute_region", 1) as draft:
        block = carried.block(draft, 0, [counter])
        with trace.inside(block, "loop", carried.attributes) as region:
            heads = carried.enter(region)
            body(steps.item(block.arguments[0], trace))
            end = carried.get()
            lowered = carried.lowered(end)
            flags = {i: materialize(end[i], Boolean.info, trace) for i in carried.exits if end[i] is not False}
            if flags:
                step = materialize(steps.step, steps.counter, trace)
                following = trace.value("arith.addi", (block.arguments[0], step), steps.counter.mlir)
                trace.operation("scf.yield", [following, *lowered, *flags.values()])
            else:
                trace.operation("scf.yield", lowered)
    first, last, step = (materialize(v, steps.counter, trace) for v in (steps.start, steps.stop, steps.step))
    initial = carried.initial()
    if not flags:
        attributes = steps.attributes(trace)
        final = trace.operation("scf.for", [first, last, step, *initial], carried.types(), attributes, regions=1)
        trace.builder.move_blocks(draft, final)
        carried.leave(list(final.results), heads, end, steps.runs, dict.fromkeys(carried.exits, False))
        return
    results = _leave_early(trace, draft, (first, last, steps), initial, carried.types(), len(flags))
    after: dict[int, Any] = dict.fromkeys(carried.exits, False)
    count = len(results) - len(flags)
    after |= {i: Boolean.of(v, trace.region) for i, v in zip(flags, results[count:], strict=True)}
    carried.leave(results[1:count], heads, end, steps.runs, after)


def _leave_early(
    trace: Trace, draft: Operation, bounds: tuple[Any, Any, Steps], initial: list[Any], types: list[Any], flags: int
) -> list[Any]:
    """`scf.while` over (counter, carried, exit flags) with the drafted body as its second block."""
    first, last, steps = bounds
    builder = trace.builder
    bit = builder.type("i1")
    every = [builder.type(steps.counter.mlir), *types, *([bit] * flags)]
    lowered = [materialize(False, Boolean.info, trace) for _ in range(flags)]
    final = trace.operation("scf.while", [first, *initial, *lowered], every, regions=2)
    location = trace.location()
    head = builder.append_block(final, 0, every, location)
    with trace.inside(head, "loop"):
        arguments = list(head.arguments)
        more = trace.value("arith.cmpi", (arguments[0], last), "i1", {"predicate": builder.integer("i64", 2)})
        goes_on = _unless(trace, arguments[len(arguments) - flags :], more)
        trace.operation("scf.condition", [goes_on, *arguments])
    block = draft.regions[0].blocks[0]
    for _ in range(flags):
        block.add_argument(bit, location)
    block.append_to(final.regions[1])
    draft.erase()
    return list(final.results)


def _unless(trace: Trace, flags: Sequence[Value], more: Value) -> Value:
    """`more and not any(flags)`."""
    for flag in flags:
        true = materialize(True, Boolean.info, trace)
        more = trace.value("arith.andi", (more, trace.value("arith.xori", (flag, true), "i1")), "i1")
    return more


def while_loop(
    trace: Trace,
    test: Thunk | None,
    body: Thunk,
    exits: Names,
    names: Names,
    get: Get,
    set_: Set,
    calls: Calls = (),
) -> None:
    """A loop while a run-time test holds; `test` None means always, until an exit is taken."""

    def loop(every: Names, read: Get, write: Set, attributes: LoopCarriedAttributes) -> None:
        carried = Carried(trace, exits, every, read, write, attributes)
        with drafted(trace, "scf.while", 2) as draft:
            _while_loop(trace, test, body, exits, carried, draft)

    trace_loop(trace, names, get, set_, calls, loop)


def _while_loop(
    trace: Trace, test: Thunk | None, body: Thunk, exits: Names, carried: Carried, draft: Operation
) -> None:
    names, get, set_ = carried.names, carried.get, carried.set
    bits = [trace.builder.type("i1")] * len(exits)
    head = carried.block(draft, 0, bits)
    with trace.inside(head, "loop", carried.attributes) as head_region:
        entering = carried.enter(head_region)
        raised = [Boolean.of(v, head_region) for v in list(head.arguments)[: len(exits)]]
        goes_on = _test(trace, test, raised, names, get, set_)
        tested = get()
        for index, value in enumerate(tested):
            if bare(value) is not UNDEFINED:
                carried.ensure(index, value)
        carried.before = tuple(map(_before_body, carried.before, tested))
        tested_slots = len(carried.slots)
        passed = carried.lowered(tested)
    block = carried.block(draft, 1, bits)
    with trace.inside(block, "loop", carried.attributes) as body_region:
        heads = carried.enter(body_region)
        body()
        end = get()
        lowered = carried.lowered(end)
        flags = [materialize(end[i], Boolean.info, trace) for i in carried.exits]
        trace.operation("scf.yield", [*flags, *lowered])
    with trace.resumed(head_region):
        later = [v for slot in carried.slots[tested_slots:] for v in slot.heads[0]]
        trace.operation("scf.condition", [goes_on.ir_value(), *list(head.arguments)[: len(exits)], *passed, *later])
    down = [materialize(False, Boolean.info, trace) for _ in exits]
    final = trace.operation("scf.while", [*down, *carried.initial()], [*bits, *carried.types()], regions=2)
    trace.builder.move_blocks(draft, final)
    results = list(final.results)
    after = {
        i: False if end[i] is False else Boolean.of(v, trace.region)
        for i, v in zip(carried.exits, results, strict=False)
    }
    untouched = tuple(heads[i] if value is entering[i] else UNDEFINED for i, value in enumerate(tested))
    carried.leave(results[len(exits) :], untouched, end, False, after)


def _before_body(before: object, tested: object) -> Any:
    """A variable where the body starts: what only the test has assigned is missing when the test is not evaluated."""
    if bare(tested) is UNDEFINED or bare(before) is not UNDEFINED:
        return before
    return tested if is_dead(before) else Partial(tested, (MAY_NOT_RUN, place()))


def _test(trace: Trace, test: Thunk | None, raised: list[Boolean], names: Names, get: Get, set_: Set) -> Boolean:
    """Whether another iteration follows: no exit was taken, and then the test holds (evaluated only then)."""
    if not raised:
        assert test is not None, "a loop without a test ends by an exit"
        return truth(test())
    left: Any = raised[0]
    for flag in raised[1:]:
        left = left | flag
    if test is None:
        return left ^ True  # type: ignore[no-any-return]
    start = get()
    sides = (lambda: False, lambda: truth(test()))
    outcome = two_sided(trace, left, sides, (start, start), names, get, set_, ScfIf())
    return truth(outcome)
