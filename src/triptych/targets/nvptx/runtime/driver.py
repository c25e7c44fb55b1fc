"""NVIDIA's driver, through `ctypes`: contexts, cubins that are loaded into them, and the address that launches.

Input: the driver's library. Output: handles, or an error with the driver's own name and words for it. Only the library
itself is used: the Python packages around it hang in a process that has no driver.
"""

from __future__ import annotations

import ctypes
from collections.abc import Sequence
from functools import cache
from typing import Any

from triptych.objectstage.device_errors import DriverError, NoGpuError

LIBRARIES: tuple[str, ...] = ("libcuda.so.1", "nvcuda.dll")
LAUNCH, ENCODE = "cuLaunchKernelEx", "cuTensorMapEncodeTiled"
LAUNCHES_SINCE = 12000
"""The driver's version, 1000 times the major one of CUDA, from which it has all functions that are used here."""

_MOST_SHARED_OF_A_BLOCK = 97
"""Attribute of a device: bytes that a kernel may have when it asks for them beforehand; otherwise it is 48 KiB."""
_MAJOR, _MINOR = 75, 76
"""Attributes of a device: its compute capability."""
_LONGEST_NAME = 256
_STATIC_SHARED, _MOST_DYNAMIC_SHARED = 1, 8
"""Attributes of a function."""
_INVALID_VALUE, _NO_DEVICE, _NO_BINARY = 1, 100, 209
_ADVICE = {
    _NO_BINARY: "the architecture of this GPU after `nvptx:`, as in `nvptx:sm_80`",
    _INVALID_VALUE: "a grid of at most 65535 blocks in y and z, whose dimensions are multiples of the cluster's",
}
"""What to do about an error, by its number."""


class Driver:
    """The library, initialised."""

    def __init__(self, library: Any) -> None:  # a `ctypes` library, whose functions have no types
        self._library = library
        self._primary_contexts: dict[int, int] = {}
        status = library.cuInit(0)
        if status == _NO_DEVICE:
            raise NoGpuError("the NVIDIA driver finds no GPU", found=self._words(status), instead="target='cpu'")
        self.check("cuInit", status)
        if self.version() < LAUNCHES_SINCE:
            found, wanted = (f"{v // 1000}.{v % 1000 // 10}" for v in (self.version(), LAUNCHES_SINCE))
            raise NoGpuError(
                "the NVIDIA driver is too old",
                found=f"a driver for CUDA {found}",
                expected=f"one for CUDA {wanted} or newer",
            )

    def version(self) -> int:
        """1000 times the major and 10 times the minor version of the newest CUDA that the driver supports."""
        number = ctypes.c_int()
        self._call("cuDriverGetVersion", ctypes.byref(number))
        return number.value

    def launch_address(self) -> int:
        """Where the function is that launches a kernel."""
        return ctypes.cast(getattr(self._library, LAUNCH), ctypes.c_void_p).value or 0

    def encode_address(self) -> int:
        """Where the function is that makes tensor maps; 0 in a driver that has none."""
        found = getattr(self._library, ENCODE, None)
        return 0 if found is None else ctypes.cast(found, ctypes.c_void_p).value or 0

    # contexts ---------------------------------------------------------------------------------------------------
    def enter(self, device: int | None) -> int:
        """Make a device's primary context, the one that all libraries share, this thread's current one, and give it.

        Without a device it is the context that is current already, or that of the first device.
        """
        current = self._handle("cuCtxGetCurrent")
        if device is None and current:
            return current
        wanted = self._primary_context(device or 0)
        if wanted != current:
            self._call("cuCtxSetCurrent", ctypes.c_void_p(wanted))
        return wanted

    def _primary_context(self, number: int) -> int:
        """Retained once in a process, and never given back: other libraries use it too."""
        if number not in self._primary_contexts:
            device = ctypes.c_int()
            self._call("cuDeviceGet", ctypes.byref(device), number)
            self._primary_contexts[number] = self._handle("cuDevicePrimaryCtxRetain", device)
        return self._primary_contexts[number]

    def synchronize(self, stream: int) -> None:
        """Wait for all work in a stream, of the current context if it is the default one."""
        self.enter(None)
        self._call("cuStreamSynchronize", ctypes.c_void_p(stream))

    # devices and their memory -----------------------------------------------------------------------------------
    def devices(self) -> int:
        """How many GPUs there are."""
        count = ctypes.c_int()
        self._call("cuDeviceGetCount", ctypes.byref(count))
        return count.value

    def name_of(self, device: int) -> str:
        """What the maker calls it."""
        text = ctypes.create_string_buffer(_LONGEST_NAME)
        self._call("cuDeviceGetName", text, _LONGEST_NAME, device)
        return text.value.decode(errors="replace")

    def capability_of(self, device: int) -> tuple[int, int]:
        """(9, 0) of sm_90."""
        return self._attribute(_MAJOR, device), self._attribute(_MINOR, device)

    def allocate(self, size: int) -> int:
        """Memory of the current device; its address."""
        return self._handle("cuMemAlloc_v2", ctypes.c_size_t(max(size, 1)))

    def free(self, address: int) -> None:
        """Give it back. After a fault of a kernel this fails as every other call does, and the fault has been told."""
        self._library.cuMemFree_v2(ctypes.c_uint64(address))

    def write(self, address: int, source: int, size: int) -> None:
        """Copy from an address of the host."""
        self._call("cuMemcpyHtoD_v2", ctypes.c_uint64(address), ctypes.c_void_p(source), ctypes.c_size_t(size))

    def read(self, address: int, target: int, size: int) -> None:
        """Copy to an address of the host, when all launches have ended."""
        self._call("cuCtxSynchronize")
        self._call("cuMemcpyDtoH_v2", ctypes.c_void_p(target), ctypes.c_uint64(address), ctypes.c_size_t(size))

    # code -------------------------------------------------------------------------------------------------------
    def load(self, cubin: bytes, kernels: Sequence[str]) -> list[int]:
        """Load a cubin into the current context: its kernels, each allowed all the shared memory that a block has."""
        module = self._handle("cuModuleLoadData", cubin)
        most = self._most_shared()
        functions = []
        for kernel in kernels:
            function = self._handle("cuModuleGetFunction", ctypes.c_void_p(module), kernel.encode())
            self._allow_shared(function, most)
            functions.append(function)
        return functions

    def _most_shared(self) -> int:
        device = ctypes.c_int()
        self._call("cuCtxGetDevice", ctypes.byref(device))
        return self._attribute(_MOST_SHARED_OF_A_BLOCK, device)

    def _attribute(self, attribute: int, device: int | ctypes.c_int) -> int:
        value = ctypes.c_int()
        self._call("cuDeviceGetAttribute", ctypes.byref(value), attribute, device)
        return value.value

    def _allow_shared(self, function: int, most: int) -> None:
        static = ctypes.c_int()
        self._call("cuFuncGetAttribute", ctypes.byref(static), _STATIC_SHARED, ctypes.c_void_p(function))
        self._call("cuFuncSetAttribute", ctypes.c_void_p(function), _MOST_DYNAMIC_SHARED, most - static.value)

    # errors -----------------------------------------------------------------------------------------------------
    def check(self, function: str, status: int) -> None:
        """Raise for a status that is not success."""
        if status:
            raise self.error(f"{function} failed", status)

    def error(self, title: str, status: int) -> DriverError:
        """The error of a status, with what the driver says about it."""
        return DriverError(title, found=self._words(status), expected=_ADVICE.get(status, ""))

    def map_error(self, status: int) -> DriverError:
        """The error of a tensor map that could not be made."""
        return DriverError(
            "the driver made no tensor map for a TMA copy",
            found=self._words(status),
            expected="a tensor that begins at a multiple of 16 bytes, with strides of multiples of 16 bytes and no "
            "extent of 0",
        )

    def _words(self, status: int) -> str:
        parts = []
        for question in ("cuGetErrorName", "cuGetErrorString"):
            answer = ctypes.c_char_p()
            if not getattr(self._library, question)(status, ctypes.byref(answer)) and answer.value:
                parts.append(answer.value.decode(errors="replace"))
        return ": ".join(parts) or f"error {status}, which the driver does not know"

    def _call(self, function: str, *arguments: Any) -> None:
        self.check(function, getattr(self._library, function)(*arguments))

    def _handle(self, function: str, *arguments: Any) -> int:
        """What a function gives through its first parameter; 0 for nothing."""
        handle = ctypes.c_void_p()
        self._call(function, ctypes.byref(handle), *arguments)
        return handle.value or 0


@cache
def find_driver() -> Driver | None:
    """The driver of this machine; None where it is not installed, which is the one question that is safe to ask."""
    for name in LIBRARIES:
        try:
            library = ctypes.CDLL(name)
        except OSError:
            continue
        return Driver(library)
    return None
