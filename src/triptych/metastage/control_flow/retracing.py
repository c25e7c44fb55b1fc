"""Loop retracing: a loop that turns out to assign an attribute is traced again with the attribute carried.

What the trace before has emitted, allocated and printed is taken back.
"""

from __future__ import annotations

import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager

from triptych.hooks import Get, Names, Place, Set
from triptych.ir.handles import Operation
from triptych.metastage.control_flow.mutation import can_track
from triptych.metastage.trace import locations
from triptych.metastage.trace.loop_carried_attributes import Finding, LoopCarriedAttributes, TraceAgain
from triptych.metastage.trace.trace import Trace

TraceLoop = Callable[[Names, Get, Set, LoopCarriedAttributes], None]


def trace_loop(trace: Trace, names: Names, get: Get, set_: Set, loop: TraceLoop) -> None:
    """Trace a loop with its variables and with all attributes that it assigns, whichever function does it."""
    origin = locations.chain(locations.user_frame(sys._getframe(1)))
    found = _known(trace, origin, names)
    with trace.repetition.output.holding():
        while True:
            every = (*names, *found)
            read, write = _also(get, set_, len(names), found)
            start = read()
            undo = _undo(trace)
            attributes = LoopCarriedAttributes(every, start, Finding.TRACED_AGAIN, origin, trace.repetition.done_once)
            try:
                loop(every, read, write, attributes)
            except TraceAgain as again:
                if again.loop is not attributes:
                    raise
                trace.repetition.again = None
                write(start)
                undo()
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


def _known(trace: Trace, origin: tuple[tuple[int, int], ...], names: Names) -> list[Place]:
    """The attributes that a loop at this position was found to assign when a loop around it was traced before."""
    given = {(id(name.owner), name.attribute) for name in names if isinstance(name, Place)}
    known = trace.repetition.found.get(origin, ())
    return [p for p in known if (id(p.owner), p.attribute) not in given and can_track(trace, p.owner, p.attribute)]


def _also(get: Get, set_: Set, count: int, found: list[Place]) -> tuple[Get, Set]:
    """The variables, followed by attributes."""
    if not found:
        return get, set_

    def write(values: tuple[object, ...]) -> None:
        set_(values[:count])
        for place, value in zip(found, values[count:], strict=True):
            place.value = value

    return lambda: (*get(), *(place.value for place in found)), write


def _undo(trace: Trace) -> Callable[[], None]:
    """What puts a trace back to where it is now."""
    printed, unlaunched, kernel = trace.repetition.output.length, len(trace.unlaunched), trace.kernel
    merged = len(trace.merged)
    shared = (len(kernel.shared), kernel.reserved_barriers, kernel.divides_itself) if kernel is not None else None

    def undo() -> None:
        trace.repetition.output.forget(printed)
        del trace.unlaunched[unlaunched:]
        while len(trace.merged) > merged:
            trace.merged.popitem()
        if kernel is not None and shared is not None:
            del kernel.shared[shared[0] :]
            kernel.reserved_barriers, kernel.divides_itself = shared[1:]

    return undo
