"""CUDA graphs as recorded calls: what is called during a capture does nothing then, and everything at each replay.

Calls of compiled functions are put off whole. Calls of torch have to give tensors at once: they are made, what they
changed is put back, and a replay repeats them and writes into the same tensors.
"""

from __future__ import annotations

from collections.abc import Callable
from contextlib import ExitStack
from dataclasses import dataclass
from typing import Any, Self

import torch

from triptych.compat.cuda_errors import CudaCallError
from triptych.compat.torch_cpu.placement import tensors_in
from triptych.compat.torch_cpu.streams import Stream, StreamContext
from triptych.driver.compiling import CompiledFunction
from triptych.interop.recorded_calls import RECORDERS
from triptych.support.config import override


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
