"""The functions of NVIDIA's driver that Triptych calls, for the GPU made of NumPy."""

from __future__ import annotations

import ctypes
from collections.abc import Callable
from typing import Any

from tests.support.ptx.machine import Gpu, LoadedModule

_NO_BINARY, _UNKNOWN = 209, 999
_NAMES = {_NO_BINARY: b"CUDA_ERROR_NO_BINARY_FOR_GPU", _UNKNOWN: b"CUDA_ERROR_UNKNOWN"}
_ATTRIBUTES = {97: 163 << 10, 75: 8, 76: 0}
"""Of the device: shared memory of a block, compute capability."""
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


class NumpyDriver:
    """A library as `ctypes` loads it. It is told the PTX of each cubin: it cannot read cubins."""

    def __init__(self, *, is_strict: bool = False) -> None:
        self._is_strict = is_strict
        self.gpu = Gpu()
        self.error: Exception | None = None
        self._texts: dict[bytes, str] = {}
        self._modules: list[LoadedModule] = []
        self._kernels: list[tuple[LoadedModule, str]] = []
        self.cuLaunchKernelEx = _LAUNCH(self._launch)

    def knows(self, cubin: bytes, ptx: str) -> None:
        """Say what a cubin was made from."""
        self._texts[bytes(cubin)] = ptx

    def __getattr__(self, name: str) -> Callable[..., int]:
        """Functions of which nothing is wanted but success."""
        if name.startswith("cu"):
            return lambda *arguments: 0
        raise AttributeError(name)

    def cuGetErrorName(self, status: int, name: Any) -> int:
        return _give(name, _NAMES[status])

    def cuDriverGetVersion(self, number: Any) -> int:
        return _give(number, 13000)

    def cuCtxGetCurrent(self, context: Any) -> int:
        return _give(context, 1)

    def cuDevicePrimaryCtxRetain(self, context: Any, device: Any) -> int:
        return _give(context, 1)

    def cuDeviceGetAttribute(self, value: Any, attribute: int, device: Any) -> int:
        return _give(value, _ATTRIBUTES[attribute])

    def cuModuleLoadData(self, module: Any, cubin: bytes) -> int:
        text = self._texts[bytes(cubin)]
        if self._is_strict and not any(f".target {name}\n" in text for name in _FAMILY):
            return _NO_BINARY
        self._modules.append(self.gpu.load(text))
        return _give(module, len(self._modules))

    def cuModuleGetFunction(self, function: Any, module: Any, name: bytes) -> int:
        self._kernels.append((self._modules[module.value - 1], name.decode()))
        return _give(function, len(self._kernels))

    def cuMemAlloc_v2(self, place: Any, size: Any) -> int:
        return _give(place, self.gpu.memory.allocate(size.value).base)

    def cuMemFree_v2(self, place: Any) -> int:
        self.gpu.memory.free(place.value)
        return 0

    def cuMemcpyHtoD_v2(self, place: Any, source: Any, size: Any) -> int:
        room = self.gpu.memory.room_at(place.value)
        ctypes.memmove(room.bytes.ctypes.data, source.value, size.value)
        return 0

    def cuMemcpyDtoH_v2(self, target: Any, place: Any, size: Any) -> int:
        room = self.gpu.memory.room_at(place.value)
        ctypes.memmove(target.value, room.bytes.ctypes.data, size.value)
        return 0

    def _launch(self, config: Any, function: int, arguments: Any, extra: Any) -> int:
        """An exception cannot cross the compiled host function: it is kept."""
        asked = config.contents
        loaded, name = self._kernels[function - 1]
        parameters = loaded.module.kernels[name].parameters
        given = [ctypes.string_at(arguments[i], parameter.size or 0) for i, parameter in enumerate(parameters)]
        grid, block = (asked.gx, asked.gy, asked.gz), (asked.bx, asked.by, asked.bz)
        try:
            loaded.launch(name, grid, block, asked.shared, given)
        except Exception as error:
            self.error = error
            return _UNKNOWN
        return 0


def _give(pointer: Any, value: int | bytes) -> int:
    """Write through `byref(...)`."""
    pointer._obj.value = value
    return 0
