"""Streams, in all forms in which programs have them, as the handle that the driver takes."""

from __future__ import annotations

import sys
from typing import Any

from triptych.targets.nvptx.errors import StreamError

DEFAULT = 0
"""The stream that the driver uses when none is given."""


def stream_handle(stream: Any, device: int | None) -> int:
    """The handle of a stream: an int is one already, objects say theirs by `__cuda_stream__`.

    None is the stream that PyTorch has made current for the device, and the default one where PyTorch is not in use.
    """
    if stream is None:
        return _current(device)
    if isinstance(stream, int) and not isinstance(stream, bool):
        return stream
    protocol = getattr(stream, "__cuda_stream__", None)
    if protocol is not None:
        _, handle = protocol() if callable(protocol) else protocol
        return int(handle)
    raise StreamError(
        "this is not a stream",
        found=f"an object of type {type(stream).__name__}",
        expected="None, an int, or an object with `__cuda_stream__`",
    )


def _current(device: int | None) -> int:
    torch = sys.modules.get("torch")
    if torch is None or not torch.cuda.is_initialized():
        return DEFAULT
    return int(torch.cuda.current_stream(device).cuda_stream)
