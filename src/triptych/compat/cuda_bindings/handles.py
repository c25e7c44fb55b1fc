"""Handles and memory of CUDA: events, contexts, devices by number, and memory of the modelled GPU, the CPU's."""

from __future__ import annotations

import ctypes
import itertools
import re
import time
from collections.abc import Callable
from types import ModuleType
from typing import Any, NoReturn

from triptych.compat.errors import CudaCallError
from triptych.compat.modelled_gpu import ModelledGpu, modelled_gpu
from triptych.cute.tracing.eager import eager
from triptych.interop.streams import RECORDERS
from triptych.support.dataclass import dataclass

_NUMBERS = itertools.count(0x2000, 16)
_MOMENTS: dict[int, float] = {}


@dataclass(frozen=True, slots=True)
class Handle:
    """A number that stands for something of CUDA's."""

    value: int = 0

    def __int__(self) -> int:
        return self.value

    def getPtr(self) -> int:
        """The number, as the bindings call it."""
        return self.value


class CUevent(Handle):
    """A moment that is recorded, by its handle."""

    __slots__ = ()


class CUcontext(Handle):
    """The state of a GPU in this process."""

    __slots__ = ()


class CUdevice(Handle):
    """A GPU by its number."""

    __slots__ = ()


class CUdeviceptr(Handle):
    """An address in the GPU's memory."""

    __slots__ = ()


def new_number() -> int:
    """A handle that nothing else has."""
    return next(_NUMBERS)


def record(event: Any) -> None:
    """Remember this moment for an event."""
    _MOMENTS[int(event)] = time.perf_counter()


def elapsed(start: Any, end: Any) -> float | None:
    """Milliseconds between two events; None if one was not recorded."""
    if int(start) not in _MOMENTS or int(end) not in _MOMENTS:
        return None
    return (_MOMENTS[int(end)] - _MOMENTS[int(start)]) * 1e3


_ATTRIBUTES: dict[str, Callable[[ModelledGpu], int]] = {
    "MULTIPROCESSOR_COUNT": lambda gpu: gpu.multiprocessors,
    "COMPUTE_CAPABILITY_MAJOR": lambda gpu: gpu.capability[0],
    "COMPUTE_CAPABILITY_MINOR": lambda gpu: gpu.capability[1],
    "MAX_THREADS_PER_BLOCK": lambda gpu: 1024,
    "MAX_THREADS_PER_MULTIPROCESSOR": lambda gpu: gpu.threads,
    "MAX_SHARED_MEMORY_PER_BLOCK": lambda gpu: 48 << 10,
    "MAX_SHARED_MEMORY_PER_BLOCK_OPTIN": lambda gpu: gpu.shared - 1024,
    "MAX_SHARED_MEMORY_PER_MULTIPROCESSOR": lambda gpu: gpu.shared,
    "L2_CACHE_SIZE": lambda gpu: gpu.cache,
    "WARP_SIZE": lambda gpu: 32,
    "COOPERATIVE_LAUNCH": lambda gpu: 1,
    "CLUSTER_LAUNCH": lambda gpu: int(gpu.has_clusters),
}
ATTRIBUTES = tuple(_ATTRIBUTES)
"""Those that the modelled GPU has an answer to, without the words that CUDA puts before them."""


def attribute(name: str) -> int:
    """An attribute of the modelled GPU."""
    return _ATTRIBUTES[name](modelled_gpu())


REAL: dict[str, ModuleType] = {}
"""The modules that the stand-ins stand for, where the package is installed: its types need no driver."""


def refusing(module: str, name: str) -> Any:
    """The stand-in for a function of CUDA's that has none here: it refuses its call, not its import."""
    real = getattr(REAL.get(module), name, None)
    if isinstance(real, type):
        return real
    if not re.match(r"(cu|cuda|nvrtc)[A-Z]", name):
        raise AttributeError(f"module {module!r} has no attribute {name!r}")

    @eager
    def call(*_: object, **__: object) -> NoReturn:
        raise CudaCallError(
            f"`{name}` has no meaning where kernels run on the CPU",
            found=f"a call of {module}.{name}",
            expected="calls about memory, streams, events and the device",
            instead="a machine with a GPU for this program, or the call left out",
        )

    return call


_ALLOCATED: dict[int, Any] = {}
_ALIGNMENT = 256
"""Bytes; what CUDA's allocations begin at."""


def allocate(size: int) -> int:
    """The address of new memory."""
    buffer = ctypes.create_string_buffer(size + _ALIGNMENT)
    address = -(-ctypes.addressof(buffer) // _ALIGNMENT) * _ALIGNMENT
    _ALLOCATED[address] = buffer
    return address


def free(address: object) -> bool:
    """Give memory back; False if it was never given out. Address 0 is nothing."""
    number = address_of(address)
    return number == 0 or _ALLOCATED.pop(number, None) is not None


def address_of(pointer: Any) -> int:
    """The address in whatever programs pass: a number, a handle, a NumPy array."""
    if hasattr(pointer, "ctypes"):
        return int(pointer.ctypes.data)
    return int(getattr(pointer, "value", pointer) or 0)


def copy(target: object, source: object, size: int) -> None:
    """Copy bytes."""
    _do(ctypes.memmove, address_of(target), address_of(source), size)


def fill(target: object, value: int, size: int) -> None:
    """Set bytes."""
    _do(ctypes.memset, address_of(target), value & 0xFF, size)


def fill_words(target: object, value: int, count: int) -> None:
    """Set words of 32 bits."""
    _do(_fill_words, address_of(target), value & 0xFFFFFFFF, count)


def _fill_words(address: int, value: int, count: int) -> None:
    (ctypes.c_uint32 * count).from_address(address)[:] = [value] * count


def _do(work: Callable[..., Any], *args: int) -> None:
    if RECORDERS:
        RECORDERS[-1].put_off(work, args, {})
    else:
        work(*args)
