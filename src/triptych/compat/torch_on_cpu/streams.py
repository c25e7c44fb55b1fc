"""CUDA streams, events and graphs without a queue: a call has ended when it returns, so all work asked for is done.

A graph is recorded calls: what is called during a capture does nothing then, and everything at each replay. Calls of
compiled functions are put off whole. Calls of torch have to give tensors at once: they are made, what they changed is
put back, and a replay repeats them and writes into the same tensors.
"""

from __future__ import annotations

import itertools
import time
from collections.abc import Callable
from contextlib import ExitStack
from typing import Any, Self

import torch

from triptych.compat.errors import CudaCallError
from triptych.compat.torch_on_cpu.placement import gpu, gpu_number, tensors_in
from triptych.driver.compiling import CompiledFunction
from triptych.interop.streams import DEFAULT, RECORDERS
from triptych.support.config import override
from triptych.support.dataclass import dataclass

_HANDLES = itertools.count(0x1000, 16)
"""Different from each other and from the default stream's, as programs use them as keys."""


class Stream:
    """A stream of CUDA by its handle; what runs on it has run."""

    def __init__(self, device: object = None, priority: int = 0, **given: Any) -> None:
        self.cuda_stream: int = given["stream_ptr"] if "stream_ptr" in given else next(_HANDLES)
        self.priority = priority
        self.device = gpu()
        self.device_index = gpu_number()

    def __cuda_stream__(self) -> tuple[int, int]:
        return 0, self.cuda_stream

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Stream) and other.cuda_stream == self.cuda_stream

    def __hash__(self) -> int:
        return hash(self.cuda_stream)

    def __repr__(self) -> str:
        return f"<torch.cuda.Stream device={self.device} cuda_stream={self.cuda_stream:#x}>"

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
        self.device = gpu()
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


@dataclass(frozen=True, slots=True)
class _Call:
    """A call and the tensors that it gave when it was recorded."""

    function: Callable[..., Any]
    args: tuple[Any, ...]
    kwargs: dict[str, Any]
    results: tuple[Any, ...] = ()

    def repeat(self) -> None:
        again = tensors_in(self.function(*self.args, **self.kwargs))
        for before, now in zip(self.results, again, strict=False):
            if before.data_ptr() != now.data_ptr():
                before.copy_(now)


class CUDAGraph:
    """Calls in their order."""

    def __init__(self, keep_graph: bool = False) -> None:
        self._calls: list[_Call] = []
        self._during = ExitStack()
        """What holds while calls are recorded."""

    def put_off(self, call: Callable[..., Any], args: tuple[Any, ...], kwargs: dict[str, Any]) -> None:
        """Take in a call of a compiled function, or one that copies memory."""
        compiled = getattr(call, "__self__", None)
        if isinstance(compiled, CompiledFunction) and compiled.has_results:
            raise CudaCallError(
                "a graph cannot contain a call that returns something",
                found=repr(compiled),
                expected="a function that writes its results into tensors",
            )
        self._calls.append(_Call(call, args, kwargs))

    def record(self, call: Callable[..., Any], args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
        """Take in a call of torch. It is made for the tensors it gives, and what it changed is put back."""
        given = list(tensors_in((args, kwargs)))
        before = [tensor.detach().clone() for tensor in given]
        result = call(*args, **kwargs)
        for tensor, content in zip(given, before, strict=True):
            tensor.detach().copy_(content)
        self._calls.append(_Call(call, args, kwargs, tuple(tensors_in(result))))
        return result

    def capture_begin(self, pool: object = None, capture_error_mode: str = "global") -> None:
        """From here on calls are recorded."""
        self.reset()
        RECORDERS.append(self)
        self._during.callback(RECORDERS.remove, self)
        self._during.enter_context(override())  # no call is a warm one then
        # Functions over numbers and tensors are called natively, past everything that could record them.
        for own in CompiledFunction.__subclasses__():
            if "__call__" in vars(own):
                self._during.callback(setattr, own, "__call__", vars(own)["__call__"])
                del own.__call__

    def capture_end(self) -> None:
        """Until here."""
        self._during.close()

    def replay(self) -> None:
        """Make all calls."""
        with torch.no_grad():
            for call in self._calls:
                call.repeat()

    def reset(self) -> None:
        """Forget all calls."""
        self._calls.clear()

    def instantiate(self) -> None:
        """Nothing is left to prepare."""

    def pool(self) -> tuple[int, int]:
        """A name of the memory that a graph's tensors are in."""
        return 0, id(self)


class graph:
    """`with torch.cuda.graph(g):` records what is called inside."""

    def __init__(
        self,
        cuda_graph: CUDAGraph,
        pool: object = None,
        stream: Stream | None = None,
        capture_error_mode: str = "global",
        **_: object,
    ) -> None:
        self.cuda_graph = cuda_graph
        self._stream = StreamContext(stream or Stream())

    def __enter__(self) -> Self:
        self._stream.__enter__()
        self.cuda_graph.capture_begin()
        return self

    def __exit__(self, *_: object) -> None:
        self.cuda_graph.capture_end()
        self._stream.__exit__()


def is_current_stream_capturing() -> bool:
    """Whether calls are being recorded."""
    return bool(RECORDERS)
