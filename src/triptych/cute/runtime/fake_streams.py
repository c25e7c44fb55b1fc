"""Stand-ins for streams: a function is compiled for one, and called with real ones."""

from __future__ import annotations

from triptych.metastage.arguments.streams import STREAM, StreamKind


class FakeStream:
    """What stands for every stream while a function is compiled."""

    __slots__ = ()

    @property
    def __argument_kind__(self) -> StreamKind:
        return STREAM

    def __repr__(self) -> str:
        return "FakeStream()"


def make_fake_stream(*, use_tvm_ffi_env_stream: bool = False) -> FakeStream | None:
    """A stand-in for a stream argument.

    With `use_tvm_ffi_env_stream` it is None: calls then need not give the argument, and launches go to the stream that
    PyTorch has made current.
    """
    return None if use_tvm_ffi_env_stream else FakeStream()
