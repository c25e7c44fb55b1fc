"""Trace in progress: the module being built, the regions that are open, and where the next operation goes."""

from __future__ import annotations

import os
import sys
import threading
from collections import defaultdict
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import field
from types import FrameType, FunctionType
from typing import Any

from triptych.hooks import Hooks, Place
from triptych.ir.builder import Builder
from triptych.ir.handles import Attribute, Block, InsertionPoint, Location, Operation, Type, Value
from triptych.ir.location import Locations
from triptych.ir.modules import DeviceModule
from triptych.kernel_ir.dialects.kernel_attributes import EARLY
from triptych.metastage.trace import locations
from triptych.metastage.trace.contraction import Contraction
from triptych.metastage.trace.errors import LeakedValueError
from triptych.metastage.trace.interposed import is_interposed
from triptych.metastage.trace.loop_carried_attributes import LoopCarriedAttributes, TraceAgain
from triptych.metastage.trace.progress import DeferredPrints, Progress
from triptych.stages import Found, Rewritten
from triptych.support.dataclass import dataclass
from triptych.support.device_model import COMMON, DeviceModel
from triptych.support.source import Span
from triptych.support.source_texts import TooDeepError
from triptych.support.tracebacks import caller

# What one trace knows of loops that it traces again: why, with what, and what must not happen twice.


class Repetition:
    """The state of one trace."""

    def __init__(self) -> None:
        self.again: TraceAgain | None = None
        """Why the loop that is being traced starts again, until it does."""
        self.found: dict[tuple[tuple[int, int], ...], list[Place]] = {}
        """Attributes that loops were found to assign when they were traced before, by the positions of the loops."""
        self.output = DeferredPrints()
        self.done_once = 0
        """How often tracing has done what cannot be taken back."""
        self._made_before: frozenset[int] | None = None
        """While something is traced that Python calls again: the objects that were there before."""

    @contextmanager
    def called_again(self, made: Iterable[int]) -> Iterator[None]:
        """What is traced meanwhile Python calls again: it may change only what it makes itself (all others: `made`)."""
        outer, self._made_before = self._made_before, frozenset(made)
        try:
            yield
        finally:
            self._made_before = outer

    def would_change_twice(self, owner: object, is_made: bool) -> bool:
        """Whether a change of an object is one that Python would repeat."""
        return self._made_before is not None and (not is_made or id(owner) in self._made_before)

    def do_once(self) -> None:
        """What follows cannot be taken back: what was printed before it is printed before it."""
        self.done_once += 1
        self.output.say()

    def check(self) -> None:
        """Start again, if somebody has caught what ended the trace of a loop."""
        if self.again is not None:
            raise self.again


Rewrite = Callable[[FunctionType], Rewritten]


DEEPEST_REGION = 500
"""Regions inside each other. MLIR follows them by recursion, and its stack ends between 1,000 and 3,000 of them."""


WHOLE = "*"
"""In the place of a name in `attributes_read`: any attribute may have been read."""


class Region:
    """A stretch of program that is being traced; its values may be used only while it is open."""

    __slots__ = ("attributes", "begun", "depth", "dynamic", "insertion", "open", "parent", "span", "trace", "what")

    def __init__(
        self,
        trace: Trace,
        parent: Region | None,
        what: str,
        insertion: InsertionPoint | None,
        attributes: LoopCarriedAttributes,
    ) -> None:
        self.trace = trace
        self.parent = parent
        self.depth: int = 0 if parent is None else parent.depth + 1
        self.what = what
        """`branch`, `loop`, `function` …: how an error names it."""
        self.span = locations.current_span()
        self.insertion = insertion
        self.open = True
        self.dynamic = parent is not None
        """Whether it depends on run-time values if, or how often, the region runs."""
        self.attributes = attributes
        """The attributes of objects that the construct hands on as it does its variables."""
        self.begun: list[tuple[Any, str, Span | None]] = []
        """Attributes that objects from outside got in the region, and where: they end with it."""

    @property
    def is_readable(self) -> bool:
        """Whether its values may be used where the thread is tracing."""
        return (self.open or self.trace.looks_back) and self.trace is in_progress()

    def encloses(self, other: Region | None) -> bool:
        """Whether `other` lies in this region, or is it."""
        while other is not None and other is not self:
            other = other.parent
        return other is self


@dataclass(frozen=True, slots=True)
class SharedPart:
    """A stretch of a block's shared memory, in bytes, and the line that asked for it."""

    what: str
    offset: int
    size: int
    span: Span | None
    members: tuple[tuple[str, int, int], ...] = ()
    """What it is divided into: names, offsets within it and sizes."""

    @property
    def end(self) -> int:
        return self.offset + self.size

    def overlaps(self, other: SharedPart) -> bool:
        """Whether another part has bytes of this one."""
        return other is not self and self.offset < other.end and other.offset < self.end

    def name_of(self, offset: int, size: int) -> str:
        """What a program calls an object of `size` bytes at an offset of shared memory."""
        for name, start, length in self.members:
            within = offset - self.offset - start
            if 0 <= within < length:
                return name if length == size else f"{name}[{within // size}]"
        line = f" of line {self.span.line}" if self.span is not None else ""
        return f"number {(offset - self.offset) // size} in {self.what}{line}"


@dataclass(frozen=True, slots=True)
class HostValue:
    """What the body of a kernel asks of the host while it is traced: a further argument."""

    argument: Any
    """Where the kernel receives it."""
    compute: Callable[[Any], Any]
    """Called in front of each launch, with the bytes of shared memory that it provides (i32)."""
    mark: str = ""
    """An attribute of the argument."""


@dataclass(slots=True)
class KernelBody:
    """A kernel while its body is traced. Its shared memory is laid out in the order in which the body asks."""

    name: str
    function: Any
    block: tuple[Any, Any, Any]
    """Threads of a block, in three dimensions: ints where they are known while tracing."""
    cluster: tuple[int, int, int]
    """Blocks of a cluster."""
    merges_branches: bool = False
    """Whether the two sides of a branch, of which a block takes one, may have the same shared memory."""
    region: Region | None = None
    shared: list[SharedPart] = field(default_factory=list)
    shared_end: int = 0
    """Where the next part of shared memory may begin."""
    divides_itself: bool = False
    """Whether the body takes all shared memory that the launch provides, and divides it."""
    reserved_barriers: int = 0
    """Barriers of the block that the language keeps for itself, counted from the last."""
    pipelines: int = 0
    """Pipelines that the body has made."""
    host_values: dict[object, HostValue] = field(default_factory=dict)
    """What the body asks of the host, by what it is, in the order of the arguments."""

    @property
    def shared_bytes(self) -> int:
        """What a launch has to provide."""
        return max((part.end for part in self.shared), default=0)

    def share(
        self,
        what: str,
        size: int,
        alignment: int,
        span: Span | None,
        members: tuple[tuple[str, int, int], ...] = (),
    ) -> int:
        """The offset of a further part of shared memory."""
        offset = -(-self.shared_end // alignment) * alignment
        self.shared.append(SharedPart(what, offset, size, span, members))
        self.shared_end = offset + size
        return offset

    def apart(self) -> list[SharedPart]:
        """The parts that an address tells: all, unless branches are merged."""
        return [part for part in self.shared if not any(part.overlaps(other) for other in self.shared)]

    def shared_name(self, offset: int, size: int) -> str | None:
        """What the program calls an object of `size` bytes at an offset of shared memory, if it knows: the newest."""
        found = (part for part in reversed(self.shared) if part.offset <= offset < part.end)
        return next((part.name_of(offset, size) for part in found), None)


@dataclass(frozen=True, slots=True)
class Instrumentation:
    """What debugging adds to a program while it is traced; a release build has none of it."""

    stops: bool | None = False
    """Whether statements of kernels can stop for a debugger; None where that is asked for and cannot be."""
    records_pipelines: bool = False
    """Whether kernels report the calls of their pipelines to the sanitizer."""


@dataclass(frozen=True, slots=True)
class TraceOptions:
    """What a compilation asks of the meta-stage beside the program itself."""

    contract_everywhere: bool | None = None
    """What holds of contraction for all that the function calls."""
    contract: bool | None = None
    """What the function itself says of it."""
    async_order: str = EARLY
    """When kernels do what goes on asynchronously."""
    device_model: DeviceModel = COMMON
    """The machine that kernels are for."""
    instrumentation: Instrumentation = Instrumentation()


class Trace:
    """One run of the meta-stage."""

    unrepeatable: str = ""
    """What Python did while tracing that another process might do otherwise, as a clause."""
    found: list[Found]
    """What it has read by ways that names in the source do not show."""

    def __init__(self, rewrite: Rewrite, options: TraceOptions) -> None:
        self.rewrite = rewrite
        """The pre-stage, for plain Python functions that the program calls."""
        self.hooks: Hooks
        self.decorated: set[FunctionType] = set()  # by @jit or @kernel: rewritten, whoever wrote them
        self.device_model, self.async_order = options.device_model, options.async_order
        self.instrumentation = options.instrumentation
        self.builder = Builder()
        self.contraction = Contraction(self.builder, options.contract_everywhere, options.contract)
        self.locations = Locations(self.builder.context)
        self.progress = Progress()
        self.region: Region = Region(self, None, "function", None, LoopCarriedAttributes())
        self.prints = self.loops = False
        self.found = []
        self.module: Any = None
        self.device: DeviceModule | None = None
        """Where kernels go, once there is one."""
        self.entry: Any = None
        """The first block of the function being traced (the host's or a kernel's): what it allocates goes there."""
        self.kernel: KernelBody | None = None
        """The kernel whose body is being traced; None in host code."""
        self.looks_back = False
        """Whether values of regions that have been left may be looked at."""
        self.unlaunched: list[tuple[str, Span | None]] = []
        """Kernel calls that wait for their `.launch(...)`: the kernel's name and the place of the call."""
        self.tables: defaultdict[str, dict[Any, Any]] = defaultdict(dict)
        """What a language remembers of this trace, by the names of its tables; it goes when the trace goes."""
        self.fresh: dict[int, tuple[Any, Region]] = {}
        """Containers and objects made while tracing, by id (and kept alive, so that ids stay theirs)."""
        self.borrowed: dict[int, Any] = {}
        """Objects that stand for those of the caller, by id: what changes in them would not change there."""
        self.abandoned: dict[int, tuple[Any, Span | None]] = {}
        """Iterators that a loop leaves at run time, by id, with the loop: only the run knows where they stand."""
        self.attributes_read: set[tuple[int, str]] = set()
        """Attributes of objects from outside that the program has read, by owner and name."""
        self.assigned: dict[tuple[int, str], tuple[Any, str, bool]] = {}
        """Attributes of objects from outside that it has assigned: owner, name, and whether it had not read them."""
        self.assigned_in: dict[tuple[int, str], Region] = {}
        """Those that it has assigned where nothing at run time decides whether it does, and the region of that."""
        self.left_behind: dict[tuple[int, str], Span | None] = {}
        """Attributes that objects got in a branch or loop that has ended, by owner and name, and where."""
        self.with_left_behind: dict[int, Any] = {}
        """Objects with such attributes, by id."""
        self.merged: dict[int, Any] = {}
        """Objects that have copies, because a variable is one or another, and the copies (`merged_objects.Merged`)."""
        self.interchangeable: dict[int, Any] = {}
        """Constants that stand for equal ones which a variable is on other paths, by id."""
        self.repetition = Repetition()
        self.call_local: dict[tuple[int, str], tuple[Any, str, Span | None]] = {}
        """Those among them that held run-time values, with the place of the assignment."""
        self.stored: dict[int, Span | None] = {}
        """Objects from outside that run-time values were stored in, and where."""
        self._frame: FrameType | None = None
        self._frame_locations: dict[int, Any] = {}
        """Locations in the frame of the latest operation, by instruction."""
        self.call_location: list[Location] | None = None
        """Where the program called the library function that is running: all that it emits has this location, which is
        found for the first operation. None while code of the program runs, which moves on."""
        self._locations_by_callers: dict[tuple[Any, ...], dict[int, Any]] = {}

    # operations -------------------------------------------------------------------------------------------------
    def location(self) -> Location:
        """The MLIR location of the user's current position with its chain of inlined calls."""
        if is_interposed(sys._getframe(1)):
            raise _used_in_between()
        of_call = self.call_location
        if of_call is None:
            return self._current_location()
        if not of_call:
            of_call.append(self._current_location())
        return of_call[0]

    def _current_location(self) -> Location:
        frame = locations.user_frame(sys._getframe(1))
        if frame is None:
            return self.builder.unknown
        if frame is not self._frame:
            self._enter(frame)
        known = self._frame_locations.get(frame.f_lasti)
        if known is None:
            spans = locations.spans(locations.chain(frame))
            known = self._frame_locations[frame.f_lasti] = self.locations.of(spans)
        return known

    def _enter(self, frame: FrameType) -> None:
        """Operations now come from another frame; how it was called cannot change while it runs."""
        callers = (id(frame.f_code), *locations.chain(frame)[1:])
        self._frame = frame
        self._frame_locations = self._locations_by_callers.setdefault(callers, {})

    def value(
        self, name: str, operands: Sequence[Value], result: str, attributes: Mapping[str, Attribute] | None = None
    ) -> Value:
        """Emit one operation with one result of the MLIR type written `result`."""
        progress = self.progress
        progress.emitted += 1
        if progress.emitted >= progress.look_at:
            progress.look()
        return self.builder.value(name, operands, result, attributes, self.location())

    def operation(
        self,
        name: str,
        operands: Sequence[Value] = (),
        results: Sequence[Type] = (),
        attributes: Mapping[str, Attribute] | None = None,
        regions: int = 0,
    ) -> Operation:
        """Emit one operation of any shape; `results` are MLIR types."""
        self.progress.emitted += 1
        return self.builder.operation(name, operands, results, attributes, regions, location=self.location())

    # regions ----------------------------------------------------------------------------------------------------
    @contextmanager
    def inside(self, block: Block, what: str, attributes: LoopCarriedAttributes | None = None) -> Iterator[Region]:
        """Trace into `block` of a construct that hands on `attributes`; then the values made there are closed."""
        outer, insertion = self.region, self.builder.insertion
        handed = attributes or LoopCarriedAttributes()
        region = Region(self, outer, what, self.builder.at_end(block), handed)
        if region.depth > DEEPEST_REGION:
            nested = "branches and loops one inside the other"
            raise too_deep(region.span, f"{region.depth} {nested}", f"at most {DEEPEST_REGION} of them")
        self.region = region
        self.builder.insertion = region.insertion
        try:
            yield region
            self.repetition.check()
        except BaseException:
            handed.restore()
            raise
        finally:
            region.open = False
            self.region = outer
            self.builder.insertion = insertion
            self._leave_behind(region)

    def _leave_behind(self, region: Region) -> None:
        """Take from objects the attributes that they got in a region: only the run knows whether they have them."""
        for owner, name, span in region.begun:
            vars(owner).pop(name, None)
            self.assigned_in.pop((id(owner), name), None)
            self.left_behind[id(owner), name] = span
            self.with_left_behind[id(owner)] = owner

    @contextmanager
    def looking_back(self) -> Iterator[None]:
        """Look at the values of regions that have been left, to see how they meet, or what they are made of."""
        outer, self.looks_back = self.looks_back, True
        try:
            yield
        finally:
            self.looks_back = outer

    @contextmanager
    def resumed(self, region: Region) -> Iterator[Region]:
        """Go on at the end of a region that has been left, to close it with its terminator."""
        outer, insertion = self.region, self.builder.insertion
        self.region, self.builder.insertion, region.open = region, region.insertion, True
        try:
            yield region
        finally:
            region.open = False
            self.region, self.builder.insertion = outer, insertion


class _Active(threading.local):
    trace: Trace | None = None


_ACTIVE = _Active()
TRACING: list[Trace] = []
"""The traces in progress in all threads: empty is the quick answer of the call path."""


def _forget_other_threads() -> None:
    """After a fork: the threads whose traces these are do not exist here."""
    TRACING[:] = [trace for trace in TRACING if trace is in_progress()]


if hasattr(os, "register_at_fork"):
    os.register_at_fork(after_in_child=_forget_other_threads)


def active() -> Trace | None:
    """The trace that the caller's caller belongs to, if any: what Python runs in between belongs to none."""
    trace = _ACTIVE.trace
    return None if trace is None or is_interposed(sys._getframe(1)) else trace


def in_progress() -> Trace | None:
    """The trace that this thread is running, if any, whoever asks."""
    return _ACTIVE.trace


@contextmanager
def suspended() -> Iterator[None]:
    """Let nothing be traced: the thread's trace goes on afterwards."""
    trace, _ACTIVE.trace = _ACTIVE.trace, None
    try:
        yield
    finally:
        _ACTIVE.trace = trace


@contextmanager
def activated(trace: Trace) -> Iterator[Trace]:
    """Make `trace` the thread's current one; the previous one continues afterwards."""
    previous = in_progress()
    _ACTIVE.trace = trace
    TRACING.append(trace)
    try:
        yield trace
    finally:
        _ACTIVE.trace = previous
        TRACING.remove(trace)
        trace.progress.finish()
        trace.region.open = False
        trace._frame = None


def _used_in_between() -> LeakedValueError:
    return LeakedValueError(
        "a run-time value is used by code that the program has not called",
        span=caller(),
        found="an operation on a value of the program that is being compiled, in code that Python runs in between",
        expected="run-time values only in the program itself: handlers, `__del__` and hooks see none",
        instead="the type, the name or the line of the value, which are known",
    )


def too_deep(span: Span | None, found: str, expected: str) -> TooDeepError:
    """The error for a program that is nested too deep, at the place that was being traced."""
    return TooDeepError(
        "the program is nested too deep to be compiled",
        span=span,
        found=found,
        expected=expected,
        instead="a loop in the place of a recursion, or a call from less deep in the program that calls",
    )


def place() -> Span | None:
    """Where an error found now should point."""
    return locations.current_span()
