"""CUDA driver functions that Triptych calls, for the PTX simulator."""

from __future__ import annotations

import ctypes
from collections.abc import Callable, Sequence
from typing import Any, Protocol

from triptych.ptxsim.clusters import Order
from triptych.ptxsim.counting import Counting
from triptych.ptxsim.machine import Gpu, LoadedModule
from triptych.ptxsim.tensor_maps import MapError, TensorMap

_INVALID, _NO_BINARY, _UNKNOWN = 1, 209, 999
_NAMES = {
    _INVALID: b"CUDA_ERROR_INVALID_VALUE",
    _NO_BINARY: b"CUDA_ERROR_NO_BINARY_FOR_GPU",
    _UNKNOWN: b"CUDA_ERROR_UNKNOWN",
}
_ATTRIBUTES = {97: 163 << 10, 75: 8, 76: 0}
"""Of the device: shared memory of a block, compute capability."""
NAME = b"PTX simulator"
"""Of the device: whoever reports what ran on it says so."""
_FAMILY = ("sm_80", "sm_86", "sm_89")
"""The architectures of which such a device runs code, if it is strict about it."""


class LaunchConfig(ctypes.Structure):
    """`CUlaunchConfig`."""

    _fields_ = [
        *((name, ctypes.c_uint32) for name in ("gx", "gy", "gz", "bx", "by", "bz", "shared")),
        ("stream", ctypes.c_void_p),
        ("attributes", ctypes.c_void_p),
        ("count", ctypes.c_uint32),
    ]


_LAUNCH = ctypes.CFUNCTYPE(
    ctypes.c_int, ctypes.POINTER(LaunchConfig), ctypes.c_void_p, ctypes.POINTER(ctypes.c_void_p), ctypes.c_void_p
)
_ENCODE = ctypes.CFUNCTYPE(
    ctypes.c_int,
    ctypes.c_void_p,
    ctypes.c_int,
    ctypes.c_uint32,
    ctypes.c_void_p,
    *[ctypes.POINTER(ctypes.c_uint64)] * 2,
    *[ctypes.POINTER(ctypes.c_uint32)] * 2,
    *[ctypes.c_int] * 4,
)
_CLUSTER_DIMENSION = 4


class LaunchAttribute(ctypes.Structure):
    """`CUlaunchAttribute`."""

    _fields_ = [("id", ctypes.c_uint32), ("before", ctypes.c_uint32), ("value", ctypes.c_uint32 * 16)]


class ByReference(Protocol):
    """What `ctypes.byref` gives."""

    _obj: Any


class PassedNumber(Protocol):
    """A handle, an address or a size, as a `ctypes` object."""

    value: int


class NumpyDriver:
    """A library as `ctypes` loads it. It is told the PTX of each cubin: it cannot read cubins."""

    def __init__(self, *, is_strict: bool = False, order: Order = "late", counting: Counting | None = None) -> None:
        self._is_strict = is_strict
        self.gpu = Gpu(order, counting)
        self.error: Exception | None = None
        self._texts: dict[bytes, str] = {}
        self._modules: list[LoadedModule] = []
        self._kernels: list[tuple[LoadedModule, str]] = []
        self.cuLaunchKernelEx = _LAUNCH(self._launch)
        self.cuTensorMapEncodeTiled = _ENCODE(self._encode)

    def knows(self, cubin: bytes, ptx: str) -> None:
        """Say what a cubin was made from."""
        self._texts[bytes(cubin)] = ptx

    def __getattr__(self, name: str) -> Callable[..., int]:
        """Functions of which nothing is wanted but success."""
        if name.startswith("cu"):
            return lambda *arguments: 0
        raise AttributeError(name)

    def cuGetErrorName(self, status: int, name: ByReference) -> int:
        return _give(name, _NAMES[status])

    def cuDriverGetVersion(self, number: ByReference) -> int:
        return _give(number, 13000)

    def cuCtxGetCurrent(self, context: ByReference) -> int:
        return _give(context, 1)

    def cuDeviceGetCount(self, count: ByReference) -> int:
        return _give(count, 1)

    def cuDeviceGetName(self, name: ctypes.Array[ctypes.c_char], size: int, device: object) -> int:
        name.value = NAME
        return 0

    def cuDevicePrimaryCtxRetain(self, context: ByReference, device: object) -> int:
        return _give(context, 1)

    def cuDeviceGetAttribute(self, value: ByReference, attribute: int, device: object) -> int:
        return _give(value, _ATTRIBUTES[attribute])

    def cuModuleLoadData(self, module: ByReference, cubin: bytes) -> int:
        text = self._texts[bytes(cubin)]
        if self._is_strict and not any(f".target {name}\n" in text for name in _FAMILY):
            return _NO_BINARY
        self._modules.append(self.gpu.load(text))
        return _give(module, len(self._modules))

    def cuModuleGetFunction(self, function: ByReference, module: PassedNumber, name: bytes) -> int:
        self._kernels.append((self._modules[module.value - 1], name.decode()))
        return _give(function, len(self._kernels))

    def cuMemAlloc_v2(self, place: ByReference, size: PassedNumber) -> int:
        return _give(place, self.gpu.memory.allocate(size.value).base)

    def cuMemFree_v2(self, place: PassedNumber) -> int:
        self.gpu.memory.free(place.value)
        return 0

    def cuMemcpyHtoD_v2(self, place: PassedNumber, source: PassedNumber, size: PassedNumber) -> int:
        room = self.gpu.memory.room_at(place.value)
        ctypes.memmove(room.bytes.ctypes.data, source.value, size.value)
        return 0

    def cuMemcpyDtoH_v2(self, target: PassedNumber, place: PassedNumber, size: PassedNumber) -> int:
        room = self.gpu.memory.room_at(place.value)
        ctypes.memmove(target.value, room.bytes.ctypes.data, size.value)
        return 0

    def _launch(
        self, config: ctypes._Pointer[LaunchConfig], function: int, arguments: Sequence[int], extra: object
    ) -> int:
        """An exception cannot cross the compiled host function: it is kept."""
        asked = config.contents
        loaded, name = self._kernels[function - 1]
        parameters = loaded.module.kernels[name].parameters
        given = [ctypes.string_at(arguments[i], parameter.size or 0) for i, parameter in enumerate(parameters)]
        grid, block = (asked.gx, asked.gy, asked.gz), (asked.bx, asked.by, asked.bz)
        attributes = (LaunchAttribute * asked.count).from_address(asked.attributes) if asked.count else ()
        cluster = [each.value[:3] for each in attributes if each.id == _CLUSTER_DIMENSION]
        try:
            loaded.launch(name, grid, block, asked.shared, given, *cluster)
        except Exception as error:
            self.error = error
            return _UNKNOWN
        return 0

    def _encode(
        self, place: int, kind: int, rank: int, base: int | None, dims: Sequence[int],
        strides: Sequence[int], box: Sequence[int], steps: Sequence[int],
        interleave: int, swizzle: int, promotion: int, fill: int,
    ) -> int:  # fmt: skip
        """A tensor map, if it is one that NVIDIA's driver would accept."""
        if place % 64 or not 1 <= rank <= 5:
            return _INVALID
        lists = (
            tuple(dims[:rank]),
            tuple(strides[: rank - 1]) if rank > 1 else (),
            tuple(box[:rank]),
            tuple(steps[:rank]),
        )
        asked = TensorMap(kind, rank, base or 0, *lists, interleave, swizzle, promotion, fill)
        try:
            data = asked.checked().pack()
        except MapError:
            return _INVALID
        ctypes.memmove(place, data, len(data))
        return 0


def _give(pointer: ByReference, value: int | bytes) -> int:
    """Write through `byref(...)`."""
    pointer._obj.value = value
    return 0
