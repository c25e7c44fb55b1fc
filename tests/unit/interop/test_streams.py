"""Streams in all forms in which programs have them."""

from __future__ import annotations

from typing import Any

import pytest

from triptych.interop.streams import StreamError, is_stream_class, stream_handle


class OfTheProtocol:
    def __cuda_stream__(self) -> tuple[int, int]:
        return 0, 0xBEEF


class OfAnAttribute:
    __cuda_stream__ = (0, 0xBEEF)


OLD_TORCH = type("Stream", (), {"__module__": "torch.cuda.streams", "cuda_stream": 0xBEEF})
OLD_CUPY = type("Stream", (), {"__module__": "cupy.cuda.stream", "ptr": 0xBEEF})
STREAMS = (OfTheProtocol, OfAnAttribute, OLD_TORCH, OLD_CUPY)


@pytest.mark.parametrize("kind", STREAMS)
def test_objects_say_their_handle(kind: Any) -> None:
    assert is_stream_class(kind)
    assert stream_handle(kind()) == 0xBEEF


@pytest.mark.parametrize("handle", [0, 1, 2**47])
def test_an_int_is_a_handle(handle: int) -> None:
    assert stream_handle(handle) == handle


@pytest.mark.parametrize("other", ["first", 1.5, True, object(), type("Other", (), {"ptr": 5})()])
def test_what_is_no_stream(other: Any) -> None:
    assert not is_stream_class(type(other))
    with pytest.raises(StreamError) as raised:
        stream_handle(other)
    assert type(other).__name__ in raised.value.found
