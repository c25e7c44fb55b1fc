"""Streams and events without a queue: a call has ended when it returns, so all work that was asked for is done."""

from __future__ import annotations

import itertools
import time
from typing import Any, Self

from triptych.compat.torch_cpu.placement import GPU
from triptych.interop.streams import DEFAULT

_HANDLES = itertools.count(0x1000, 16)
"""Different from each other and from the default stream's, as programs use them as keys."""


class Stream:
    """A stream of CUDA by its handle; what runs on it has run."""

    def __init__(self, device: object = None, priority: int = 0, **given: Any) -> None:
        self.cuda_stream: int = given["stream_ptr"] if "stream_ptr" in given else next(_HANDLES)
        self.priority = priority
        self.device = GPU
        self.device_index = 0

    def __cuda_stream__(self) -> tuple[int, int]:
        return 0, self.cuda_stream

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Stream) and other.cuda_stream == self.cuda_stream

    def __hash__(self) -> int:
        return hash(self.cuda_stream)

    def __repr__(self) -> str:
        return f"<torch.cuda.Stream device=cuda:0 cuda_stream={self.cuda_stream:#x}>"

    def __enter__(self) -> Self:
        _ENTERED.append(self)
        return self

    def __exit__(self, *_: object) -> None:
        _ENTERED.remove(self)

    def query(self) -> bool:
        """Whether all its work is done."""
        return True

    def synchronize(self) -> None:
        """Wait for its work."""

    def wait_event(self, event: CudaEvent) -> None:
        """Let its work wait for an event."""

    def wait_stream(self, stream: Stream) -> None:
        """Let its work wait for another stream's."""

    def record_event(self, event: CudaEvent | None = None) -> CudaEvent:
        """An event that comes when the work asked for so far is done."""
        event = event or CudaEvent()
        event.record(self)
        return event


class ExternalStream(Stream):
    """A stream that another library made, by its handle."""

    def __init__(self, stream_ptr: int, device: object = None, **_: object) -> None:
        super().__init__(device, stream_ptr=stream_ptr)


class StreamContext:
    """`with torch.cuda.stream(s):`; None changes nothing."""

    def __init__(self, stream: Stream | None) -> None:
        self.stream = stream

    def __enter__(self) -> None:
        if self.stream is not None:
            _ENTERED.append(self.stream)

    def __exit__(self, *_: object) -> None:
        if self.stream is not None:
            _ENTERED.remove(self.stream)


class CudaEvent:
    """A moment, by the clock of the CPU: launches have ended when their call returns."""

    def __init__(
        self, enable_timing: bool = False, blocking: bool = False, interprocess: bool = False, external: bool = False
    ) -> None:
        self.enable_timing = enable_timing
        self.cuda_event: int = next(_HANDLES)
        self.device = GPU
        self._moment: float | None = None

    def __repr__(self) -> str:
        return f"<torch.cuda.Event {self.cuda_event:#x}>"

    def record(self, stream: Stream | None = None) -> None:
        """Remember this moment."""
        self._moment = time.perf_counter()

    def elapsed_time(self, end_event: CudaEvent) -> float:
        """Milliseconds between two moments."""
        if not (self.enable_timing and end_event.enable_timing):
            raise ValueError("both events need `enable_timing=True` to be compared")
        if self._moment is None or end_event._moment is None:
            raise ValueError("both events must be recorded before they are compared")
        return (end_event._moment - self._moment) * 1e3

    def query(self) -> bool:
        """Whether the work before it is done."""
        return True

    def synchronize(self) -> None:
        """Wait for the work before it."""

    def wait(self, stream: Stream | None = None) -> None:
        """Let a stream's work wait for it."""


_DEFAULT = Stream(stream_ptr=DEFAULT)
_ENTERED: list[Stream] = []
_SET: list[Stream] = [_DEFAULT]


def current_stream(device: object = None) -> Stream:
    """The innermost that a `with` names, else the one that was set."""
    return _ENTERED[-1] if _ENTERED else _SET[0]


def default_stream(device: object = None) -> Stream:
    """The stream of work that names none."""
    return _DEFAULT


def set_stream(stream: Stream | None) -> None:
    """Make a stream current outside of any `with`."""
    if stream is not None:
        _SET[0] = stream


def stream(stream: Stream | None) -> StreamContext:
    """`with torch.cuda.stream(s):`"""
    return StreamContext(stream)


def forget() -> None:
    """The default stream is current again."""
    _ENTERED.clear()
    _SET[0] = _DEFAULT
