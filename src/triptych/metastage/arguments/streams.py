"""Streams and events of CUDA in host code: the 64-bit handle of one, which is an argument of the host function or known
while tracing.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from triptych.interop.streams import StreamError, stream_handle
from triptych.ir.handles import Value
from triptych.metastage.arguments.argument_kinds import Received
from triptych.metastage.trace.trace import Trace, place
from triptych.metastage.values.aggregates import describe
from triptych.metastage.values.scalars import Int64, Numeric, materialize
from triptych.stages import Leaf
from triptych.support.dataclass import dataclass
from triptych.support.source import Span


@dataclass(frozen=True, slots=True)
class StreamKind:
    """The kind of all stream arguments: the handle crosses as a number."""

    @property
    def is_direct(self) -> bool:
        return False

    def key(self, names: dict[str, int]) -> str:
        return "stream"

    def leaf(self, path: str, seen: set[str]) -> Leaf:
        return Leaf(path, "Int64")

    def passed(self, value: object) -> int:
        return stream_handle(value)

    def build(self, path: str, values: Received, trace: Trace) -> Int64:
        return Int64.of(next(values), trace.region)


STREAM = StreamKind()


def kind_of_stream(value: object, path: str, caller: Span | None) -> StreamKind:
    """The claim on objects with `__cuda_stream__`."""
    return STREAM


def launch_stream(stream: object, trace: Trace) -> list[Any]:
    """The handle of the stream that a launch names, as an MLIR value; nothing where it names none."""
    if stream is None:
        return []
    if not isinstance(stream, Numeric):
        return [materialize(stream_handle(stream, place()), Int64.info, trace)]
    if not stream.info.is_integer:
        raise StreamError("this is not a stream", span=place(), found=describe(stream), expected="an integer")
    return [stream.to(Int64).ir_value()]


_CLASSES = frozenset(
    (package, name)
    for packages, names in ((("cuda", "triptych"), ("CUevent", "cudaEvent_t")), (("torch", "triptych"), ("Event",)))
    for package in packages
    for name in names
)
"""Classes of events, by package and name: libraries are not imported for the question. Ours stand in for theirs."""
_HANDLE = "cuda_event"
"""Where torch's events have their handle."""


@dataclass(frozen=True, slots=True)
class EventKind:
    """The kind of all event arguments: the handle crosses as a number."""

    @property
    def is_direct(self) -> bool:
        return False

    def key(self, names: dict[str, int]) -> str:
        return "event"

    def leaf(self, path: str, seen: set[str]) -> Leaf:
        return Leaf(path, "Int64")

    # Any: an event of one of several libraries.
    def passed(self, value: Any) -> int:
        return int(getattr(value, _HANDLE, value))

    # Any: one MLIR value for each leaf.
    def build(self, path: str, values: Any, trace: Trace) -> Int64:
        return Int64.of(next(values), trace.region)


EVENT = EventKind()


def is_event_class(kind: type) -> bool:
    """Whether objects of a class are events: of CUDA's bindings, or of torch."""
    return any((str(cls.__module__).partition(".")[0], cls.__name__) in _CLASSES for cls in kind.__mro__)


def is_event(value: object) -> bool:
    """Whether it can be the event of a launch: an event, or the handle of one."""
    if isinstance(value, Numeric):
        return value.info.is_integer
    return type(value) is int or is_event_class(type(value))


# Any: an event of one of several libraries, or its handle.
def event_numbers(event: tuple[Any, ...], trace: Trace) -> list[Value]:
    """The handle of an event and its options as MLIR values."""
    handle, *options = event
    known = handle if isinstance(handle, Numeric) else EVENT.passed(handle)
    return [materialize(number, Int64.info, trace) for number in (known, *options)]


def together(numbers: Sequence[Value], trace: Trace) -> Value:
    """Numbers of 64 bits as one value: a launch has one operand for what it is queued in."""
    kind = f"!llvm.struct<({', '.join(['i64'] * len(numbers))})>"
    struct = trace.value("llvm.mlir.undef", (), kind)
    for index, number in enumerate(numbers):
        position = {"position": trace.builder.attribute(f"array<i64: {index}>")}
        struct = trace.value("llvm.insertvalue", (struct, number), kind, position)
    return struct
