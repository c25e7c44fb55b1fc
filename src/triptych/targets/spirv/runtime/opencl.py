"""OpenCL through `ctypes`: a device that takes SPIR-V and reaches the memory of the process, programs, launches.

Input: the runtime's library. Output: handles, or an error with OpenCL's number for it. A runtime that pip installs lies
among the libraries of the Python environment; its own note of where it is holds no path, so it is loaded directly.
"""

from __future__ import annotations

import ctypes
import sys
from collections.abc import Iterator, Mapping, Sequence
from functools import cache
from pathlib import Path
from typing import Any

from triptych.objectstage.device_errors import DriverError
from triptych.targets.spirv.module_file import WORKGROUP, Parameter, kernel_parameters

LIBRARIES = ("libintelocl.so", "libOpenCL.so.1", "OpenCL.dll")
"""A runtime by itself, and what finds the runtimes of a system."""
BUILD_OPTIONS = b"-cl-fp32-correctly-rounded-divide-sqrt"
_ALL_DEVICES = 0xFFFFFFFF
_SVM_CAPABILITIES, _IL_VERSION, _DEVICE_NAME, _DRIVER_VERSION = 0x1053, 0x105B, 0x102B, 0x102D
_SYSTEM_MEMORY = 8
"""The device reaches all memory of the process."""
_BUILD_LOG = 0x1183
_MOST = 8
_POINTER = ctypes.c_void_p

_SIGNATURES: Mapping[str, tuple[Any, ...]] = {
    "clGetPlatformIDs": (ctypes.c_uint, _POINTER, _POINTER),
    "clGetDeviceIDs": (_POINTER, ctypes.c_uint64, ctypes.c_uint, _POINTER, _POINTER),
    "clGetDeviceInfo": (_POINTER, ctypes.c_uint, ctypes.c_size_t, _POINTER, _POINTER),
    "clBuildProgram": (_POINTER, ctypes.c_uint, _POINTER, ctypes.c_char_p, _POINTER, _POINTER),
    "clGetProgramBuildInfo": (_POINTER, _POINTER, ctypes.c_uint, ctypes.c_size_t, _POINTER, _POINTER),
    "clSetKernelArg": (_POINTER, ctypes.c_uint, ctypes.c_size_t, _POINTER),
    "clSetKernelArgSVMPointer": (_POINTER, ctypes.c_uint, _POINTER),
    "clEnqueueNDRangeKernel": (_POINTER, _POINTER, ctypes.c_uint, *[_POINTER] * 3, ctypes.c_uint, _POINTER, _POINTER),
    "clFinish": (_POINTER,),
}
"""Parameters of the functions whose result is a status."""
_MAKERS: Mapping[str, tuple[Any, ...]] = {
    "clCreateContext": (_POINTER, ctypes.c_uint, _POINTER, _POINTER, _POINTER, _POINTER),
    "clCreateCommandQueueWithProperties": (_POINTER, _POINTER, _POINTER, _POINTER),
    "clCreateProgramWithIL": (_POINTER, ctypes.c_char_p, ctypes.c_size_t, _POINTER),
    "clCreateKernel": (_POINTER, ctypes.c_char_p, _POINTER),
}
"""Parameters of the functions whose result is a handle; the last is where the status goes."""


class OpenCl:
    """One device, with a context and a queue."""

    def __init__(self, library: ctypes.CDLL, device: int) -> None:
        self._library, self.device = library, device
        devices = (_POINTER * 1)(device)
        self._context = self._make("clCreateContext", None, 1, devices, None, None)
        self._queue = self._make("clCreateCommandQueueWithProperties", self._context, device, None)

    @property
    def name(self) -> str:
        """What the maker calls the device, and its driver."""
        parts = (_info(self._library, self.device, which) for which in (_DEVICE_NAME, _DRIVER_VERSION))
        return ", ".join(part.split(b"\0")[0].decode(errors="replace") for part in parts)

    def load(self, module: bytes) -> dict[str, LoadedKernel]:
        """The kernels of a SPIR-V module, by name."""
        program = self._make("clCreateProgramWithIL", self._context, module, len(module))
        devices = (_POINTER * 1)(self.device)
        status = self._library.clBuildProgram(program, 1, devices, BUILD_OPTIONS, None, None)
        if status:
            raise DriverError("OpenCL refused a SPIR-V module", found=self._log(program) or f"error {status}")
        parameters = kernel_parameters(module)
        return {
            name: LoadedKernel(self, self._make("clCreateKernel", program, name.encode()), signature)
            for name, signature in parameters.items()
        }

    def launch(self, kernel: LoadedKernel, grid: Sequence[int], block: Sequence[int]) -> int:
        """Run it, to the end; the status."""
        local = (ctypes.c_size_t * 3)(*block)
        whole = (ctypes.c_size_t * 3)(*(count * threads for count, threads in zip(grid, block, strict=True)))
        status = self._library.clEnqueueNDRangeKernel(
            self._queue, kernel.handle, 3, None, whole, local, 0, None, None
        ) or self._library.clFinish(self._queue)
        return int(status)

    def set_argument(self, kernel: int, number: int, parameter: Parameter, place: int) -> int:
        """Give the argument that lies at an address; the status."""
        if parameter.storage is None:
            return int(self._library.clSetKernelArg(kernel, number, parameter.bytes, place))
        pointer = ctypes.c_void_p.from_address(place).value
        return int(self._library.clSetKernelArgSVMPointer(kernel, number, pointer))

    def set_shared(self, kernel: int, number: int, size: int) -> int:
        """Give a parameter so many bytes of shared memory; the status."""
        return int(self._library.clSetKernelArg(kernel, number, size, None))

    def _make(self, function: str, *arguments: object) -> int:
        status = ctypes.c_int()
        handle = getattr(self._library, function)(*arguments, ctypes.byref(status))
        if status.value:
            raise DriverError(f"{function} failed", found=f"error {status.value} of OpenCL")
        return int(handle)

    def _log(self, program: int) -> str:
        text = ctypes.create_string_buffer(4000)
        self._library.clGetProgramBuildInfo(program, self.device, _BUILD_LOG, len(text), text, None)
        return text.value.decode(errors="replace").strip()


class LoadedKernel:
    """A kernel that can be launched."""

    def __init__(self, opencl: OpenCl, handle: int, parameters: Sequence[Parameter]) -> None:
        self._opencl, self.handle, self.parameters = opencl, handle, parameters

    def set_arguments(self, places: Sequence[int], shared: int) -> int:
        """The arguments that lie at these addresses, then shared memory, the last one; the first bad status, or 0."""
        for number, (parameter, place) in enumerate(zip(self.parameters, places, strict=False)):
            status = self._opencl.set_argument(self.handle, number, parameter, place)
            if status:
                return status
        assert self.parameters[-1].storage == WORKGROUP, "the last parameter is shared memory"
        return self._opencl.set_shared(self.handle, len(self.parameters) - 1, shared)


@cache
def find_opencl() -> OpenCl | None:
    """The first device that takes SPIR-V and reaches the memory of the process; None where there is none."""
    for library in _libraries():
        for device in _devices(library):
            takes_spirv = b"SPIR-V" in _info(library, device, _IL_VERSION)
            memory = int.from_bytes(_info(library, device, _SVM_CAPABILITIES), "little")
            if takes_spirv and memory & _SYSTEM_MEMORY:
                return OpenCl(library, device)
    return None


def _libraries() -> Iterator[ctypes.CDLL]:
    """Those of the environment, then those of the system."""
    folder = Path(sys.prefix, "lib")
    for name in (*(str(folder / name) for name in LIBRARIES if (folder / name).exists()), *LIBRARIES):
        try:
            library = ctypes.CDLL(name)
        except OSError:
            continue
        for function, parameters in (*_SIGNATURES.items(), *_MAKERS.items()):
            entry = getattr(library, function)
            entry.argtypes = parameters
            entry.restype = ctypes.c_int if function in _SIGNATURES else _POINTER
        yield library


def _devices(library: ctypes.CDLL) -> Iterator[int]:
    platforms, count = (_POINTER * _MOST)(), ctypes.c_uint()
    if library.clGetPlatformIDs(_MOST, platforms, ctypes.byref(count)):
        return
    for platform in platforms[: count.value]:
        devices = (_POINTER * _MOST)()
        if not library.clGetDeviceIDs(platform, _ALL_DEVICES, _MOST, devices, ctypes.byref(count)):
            yield from (int(device) for device in devices[: count.value] if device)


def _info(library: ctypes.CDLL, device: int, which: int) -> bytes:
    answer = ctypes.create_string_buffer(256)
    return b"" if library.clGetDeviceInfo(device, which, len(answer), answer, None) else answer.raw
