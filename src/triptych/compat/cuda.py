"""CUDA driver API, the part that host programs name: streams, and a context that is ready.

Without a driver and a GPU kernels run on the CPU, each call to its end: there is nothing to prepare or to wait for.
"""

from __future__ import annotations

from enum import IntEnum

from triptych.cute.tracing.eager import eager
from triptych.interop.streams import DEFAULT, stream_handle
from triptych.objectstage.device_errors import NoGpuError
from triptych.support.dataclass import dataclass
from triptych.targets.nvptx.runtime.driver import Driver, find_driver

__all__ = ["CUstream", "CUstream_flags", "default_stream", "initialize_cuda_context", "stream_sync"]


def __dir__() -> list[str]:
    return __all__


class CUstream_flags(IntEnum):
    """How streams are made; programs also name the default stream by the first."""

    CU_STREAM_DEFAULT = DEFAULT
    CU_STREAM_NON_BLOCKING = 1


@dataclass(frozen=True, slots=True)
class CUstream:
    """A stream by its handle, for annotations and calls of programs that import no other package for it."""

    handle: int = DEFAULT

    def __cuda_stream__(self) -> tuple[int, int]:
        return 0, self.handle

    def __int__(self) -> int:
        return self.handle


def default_stream() -> CUstream:
    """The stream of work that names none."""
    return CUstream(DEFAULT)


@eager
def initialize_cuda_context(device_id: int = 0) -> None:
    """Make the context of a GPU current, which the first call would do otherwise."""
    driver = _driver()
    if driver is not None:
        driver.enter(device_id)


@eager
def stream_sync(stream: object) -> None:
    """Wait until all work in a stream is done."""
    handle, driver = stream_handle(stream), _driver()
    if driver is not None:
        driver.synchronize(handle)


def _driver() -> Driver | None:
    try:
        return find_driver()
    except NoGpuError:
        return None
