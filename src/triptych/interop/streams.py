"""CUDA streams, in all forms in which programs have them, as the driver's handle; and calls that a graph records."""

from __future__ import annotations

import sys
from collections.abc import Callable
from typing import Any, Protocol

from triptych.support.errors import TriptychError
from triptych.support.source import Span

DEFAULT = 0
"""The stream that the driver uses when none is given."""

PROTOCOL = "__cuda_stream__"
_OLDER = {"torch.cuda.streams": "cuda_stream", "cupy.cuda.stream": "ptr"}
"""Where libraries keep the handle in versions from before the protocol, by the module of the class."""


class StreamError(TriptychError, TypeError):
    """Something that is no stream was given as the stream of a call or of a launch."""

    code = "TT0515"


def is_stream_class(kind: type) -> bool:
    """Whether objects of a class are streams."""
    return hasattr(kind, PROTOCOL) or hasattr(kind, _OLDER.get(kind.__module__, PROTOCOL))


def stream_handle(stream: object, span: Span | None = None) -> int:
    """The handle of a stream: an int is one already, objects say theirs by `__cuda_stream__`."""
    if isinstance(stream, int) and not isinstance(stream, bool):
        return stream
    protocol = getattr(stream, PROTOCOL, None)
    if protocol is not None:
        _, handle = protocol() if callable(protocol) else protocol
        return int(handle)
    if is_stream_class(type(stream)):
        return int(getattr(stream, _OLDER[type(stream).__module__]))
    raise StreamError(
        "this is not a stream",
        span=span,
        found=f"an object of type {type(stream).__name__}",
        expected="None, an int, or an object with `__cuda_stream__`",
    )


def current_stream(device: int | None) -> int:
    """What PyTorch has made current for a device, and the default stream where PyTorch is not in use."""
    torch = sys.modules.get("torch")
    if torch is None or not torch.cuda.is_initialized():
        return DEFAULT
    return int(torch.cuda.current_stream(device).cuda_stream)


class Recorder(Protocol):
    """Takes the place of calls while it is the last of `RECORDERS`."""

    def put_off(self, call: Callable[..., Any], args: tuple[Any, ...], kwargs: dict[str, Any]) -> None:
        """Make a call later, as often as wanted; it gives nothing."""
        ...

    def record(self, call: Callable[..., Any], args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
        """What a call gives now, without what it changes; it is repeated later."""
        ...


RECORDERS: list[Recorder] = []
"""Those at work: empty is the quick answer of the call path."""
