"""A HIP that runs nothing: it reads the metadata of a code object, and lays the arguments of a launch out as AMD's
runtime would.

What does not fit is refused with HIP's own status, and `refused` says why: another chip, a block larger than the kernel
was compiled for, more LDS than the chip has, an argument outside of the segment, over another one or at an address that
is no multiple of its size.
"""

from __future__ import annotations

import ctypes
from collections.abc import Callable, Iterator
from typing import Any

import numpy as np

from tests.unit.targets.nvptx.fake_driver import GpuArray
from triptych.support.dataclass import dataclass
from triptych.targets.amdgpu import ROCM
from triptych.targets.amdgpu.code_object.metadata import Kernel, chip_of, kernels_of
from triptych.targets.amdgpu.description.chips import CHIPS

_GOOD, _INVALID_VALUE, _INVALID_IMAGE, _NO_DEVICE, _NO_BINARY, _NOT_FOUND = 0, 1, 200, 100, 209, 500
_NAMES = {
    _INVALID_VALUE: b"hipErrorInvalidValue",
    _INVALID_IMAGE: b"hipErrorInvalidImage",
    _NO_DEVICE: b"hipErrorNoDevice",
    _NO_BINARY: b"hipErrorNoBinaryForGpu",
    _NOT_FOUND: b"hipErrorNotFound",
}
_NUMBERS = [ctypes.c_uint] * 7
_LAUNCH = ctypes.CFUNCTYPE(ctypes.c_int, ctypes.c_void_p, *_NUMBERS, *[ctypes.c_void_p] * 3)
_COOPERATIVE = ctypes.CFUNCTYPE(ctypes.c_int, ctypes.c_void_p, *_NUMBERS, *[ctypes.c_void_p] * 2)


class RocmArray(GpuArray):
    """A tensor that says it is in the memory of an AMD GPU."""

    def __dlpack_device__(self) -> tuple[int, int]:
        return ROCM, self.number


def on_rocm(count: int | tuple[int, ...], dtype: Any = np.float32, number: int = 0) -> RocmArray:
    return RocmArray(np.zeros(count, dtype), number)


@dataclass(frozen=True, slots=True)
class Launched:
    """One launch as the kernel would have seen it."""

    kernel: Kernel
    grid: tuple[int, ...]
    block: tuple[int, ...]
    shared: int
    stream: int
    segment: bytes
    """Its arguments."""
    cooperative: bool = False

    def values(self) -> list[int]:
        """The arguments, as whole numbers."""
        return [
            int.from_bytes(self.segment[each.offset : each.offset + each.size], "little")
            for each in self.kernel.arguments
        ]


class Answer:
    """A function of the library: `ctypes` lets callers say what it gives."""

    def __init__(self, function: Callable[..., Any]) -> None:
        self._function = function
        self.restype: Any = ctypes.c_int

    def __call__(self, *arguments: Any) -> Any:
        return self._function(*arguments)


class CheckingHip:
    """The library, with as many GPUs of one chip as are asked for."""

    def __init__(self, chip: str, devices: int = 1) -> None:
        self._chip = CHIPS[chip]
        self.shared_bytes = self._chip.shared
        self._devices = devices
        self._current = 0
        self._modules: list[dict[str, Kernel]] = []
        self._functions: list[Kernel] = []
        self.launched: list[Launched] = []
        self.refused: list[str] = []
        self.hipInit = Answer(lambda _: _GOOD if devices else _NO_DEVICE)
        self.hipGetErrorName = Answer(lambda status: _NAMES.get(status, b""))
        self.hipGetErrorString = Answer(lambda _: b"")
        self.hipStreamSynchronize = Answer(lambda _: _GOOD)
        self.hipModuleLaunchKernel = _LAUNCH(lambda f, *rest: self._launch(f, *rest[:10], cooperative=False))
        self.hipModuleLaunchCooperativeKernel = _COOPERATIVE(lambda f, *rest: self._launch(f, *rest, cooperative=True))

    def hipGetDevice(self, place: Any) -> int:
        place._obj.value = self._current
        return _GOOD

    def hipGetDeviceCount(self, place: Any) -> int:
        place._obj.value = self._devices
        return _GOOD

    def hipSetDevice(self, number: int) -> int:
        if number >= self._devices:
            return self._refuse(_NO_DEVICE, f"there is no GPU {number}")
        self._current = number
        return _GOOD

    def hipModuleLoadData(self, place: Any, code: bytes) -> int:
        if chip_of(code) != self._chip.name:
            return self._refuse(_NO_BINARY, f"code for {chip_of(code)} on {self._chip.name}")
        kernels = kernels_of(code)
        for kernel in kernels.values():
            for complaint in complaints(kernel):
                return self._refuse(_INVALID_IMAGE, f"{kernel.name}: {complaint}")
        self._modules.append(kernels)
        place._obj.value = len(self._modules)
        return _GOOD

    def hipModuleGetFunction(self, place: Any, module: Any, name: bytes) -> int:
        found = self._modules[module.value - 1].get(name.decode())
        if found is None:
            return self._refuse(_NOT_FOUND, f"no kernel {name.decode()}")
        self._functions.append(found)
        place._obj.value = len(self._functions)
        return _GOOD

    def _launch(self, function: int, *given: Any, cooperative: bool) -> int:
        *numbers, shared, stream, arguments = given[:9]
        grid, block = tuple(numbers[:3]), tuple(numbers[3:6])
        kernel = self._functions[function - 1]
        threads = block[0] * block[1] * block[2]
        if not 0 < threads <= kernel.threads:
            return self._refuse(_INVALID_VALUE, f"{kernel.name} has blocks of {kernel.threads} threads, not {threads}")
        if kernel.shared + shared > self.shared_bytes:
            return self._refuse(_INVALID_VALUE, f"{kernel.shared + shared} bytes of LDS are too many")
        if min(grid) < 1:
            return self._refuse(_INVALID_VALUE, f"no grid: {grid}")
        segment = bytearray(kernel.argument_bytes)
        addresses = (ctypes.c_void_p * max(len(kernel.arguments), 1)).from_address(arguments)
        for each, address in zip(kernel.arguments, addresses, strict=False):
            segment[each.offset : each.offset + each.size] = ctypes.string_at(address, each.size)
        self.launched.append(Launched(kernel, grid, block, shared, stream or 0, bytes(segment), cooperative))
        return _GOOD

    def _refuse(self, status: int, why: str) -> int:
        self.refused.append(why)
        return status


def complaints(kernel: Kernel) -> Iterator[str]:
    """What the runtime could not lay out."""
    end = 0
    for each in kernel.arguments:
        if each.is_hidden:
            yield f"the argument {each.kind} is not given by a launch"
        if each.offset % min(each.size, 8):
            yield f"an argument of {each.size} bytes at {each.offset}"
        if each.offset < end:
            yield f"arguments overlap at {each.offset}"
        end = each.offset + each.size
    if end > kernel.argument_bytes:
        yield f"arguments end at {end}, the segment at {kernel.argument_bytes}"
