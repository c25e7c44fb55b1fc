"""`triptych.compat.cuda` under its shorter name."""

from __future__ import annotations

from triptych.compat.cuda import CUstream, CUstream_flags, default_stream, initialize_cuda_context, stream_sync

__all__ = ["CUstream", "CUstream_flags", "default_stream", "initialize_cuda_context", "stream_sync"]


def __dir__() -> list[str]:
    return __all__
