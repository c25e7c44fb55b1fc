"""Streams in host code: the 64-bit handle of one, which is an argument of the host function or known while tracing.

A launch on the CPU has ended when its call returns, so a stream changes nothing there; the traced program keeps it for
targets that queue launches.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from triptych.interop.streams import StreamError, stream_handle
from triptych.metastage.arguments.argument_kinds import Received
from triptych.metastage.trace.trace import Trace, place
from triptych.metastage.values.describing import describe
from triptych.metastage.values.scalars import Int64, Numeric, materialize
from triptych.stages import Leaf
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
