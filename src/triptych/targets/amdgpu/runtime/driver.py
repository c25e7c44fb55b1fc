"""AMD's runtime HIP, through `ctypes`: devices, code objects that are loaded, and the address that launches.

Input: the runtime's library, found when it is installed. Output: handles, or an error with HIP's own name and words for
it. Each device has one context, which all libraries of a process share: the current device is all that there is to set.
"""

from __future__ import annotations

import ctypes
from collections.abc import Sequence
from functools import cache
from typing import Any

from triptych.objectstage.device_errors import DriverError, NoGpuError
from triptych.targets.amdgpu.runtime.launcher import COOPERATIVE, LAUNCH, launcher

LIBRARIES = ("libamdhip64.so", "libamdhip64.so.7", "libamdhip64.so.6")
_INVALID_VALUE, _NO_DEVICE, _NO_BINARY, _INVALID_IMAGE = 1, 100, 209, 200
_ADVICE = {
    _NO_BINARY: "the chip of this GPU after `amdgpu:`, as in `amdgpu:gfx942`",
    _INVALID_IMAGE: "the chip of this GPU after `amdgpu:`, as in `amdgpu:gfx942`",
    _INVALID_VALUE: "blocks of as many threads as the kernel was compiled for, and no more LDS than the chip has",
}
"""What to do about an error, by its number."""


class Hip:
    """The library, initialised."""

    def __init__(self, library: Any) -> None:  # a `ctypes` library, whose functions have no types
        self._library = library
        status = library.hipInit(0)
        if status == _NO_DEVICE:
            raise NoGpuError("AMD's runtime finds no GPU", found=self._words(status), instead="target='cpu'")
        self.check("hipInit", status)

    def launch_address(self) -> int:
        """Where the function is that launches a kernel, in the form in which host code calls it."""
        return launcher(*(self._address(name) for name in (LAUNCH, COOPERATIVE)))

    def _address(self, name: str) -> int:
        return ctypes.cast(getattr(self._library, name), ctypes.c_void_p).value or 0

    def enter(self, device: int | None) -> int:
        """Make a device this thread's current one; the one that is current already where none is given."""
        current = ctypes.c_int()
        self._call("hipGetDevice", ctypes.byref(current))
        if device is not None and device != current.value:
            self._call("hipSetDevice", device)
        return current.value if device is None else device

    def devices(self) -> int:
        """How many GPUs there are."""
        count = ctypes.c_int()
        self._call("hipGetDeviceCount", ctypes.byref(count))
        return count.value

    def load(self, code: bytes, kernels: Sequence[str]) -> list[int]:
        """Load a code object on the current device: its kernels."""
        module = self._handle("hipModuleLoadData", code)
        return [self._handle("hipModuleGetFunction", ctypes.c_void_p(module), kernel.encode()) for kernel in kernels]

    def synchronize(self, stream: int) -> None:
        """Wait for all work in a stream."""
        self._call("hipStreamSynchronize", ctypes.c_void_p(stream))

    # errors -----------------------------------------------------------------------------------------------------
    def check(self, function: str, status: int) -> None:
        """Raise for a status that is not success."""
        if status:
            raise self.error(f"{function} failed", status)

    def error(self, title: str, status: int) -> DriverError:
        """The error of a status, with what the runtime says about it."""
        return DriverError(title, found=self._words(status), expected=_ADVICE.get(status, ""))

    def _words(self, status: int) -> str:
        parts = []
        for name in ("hipGetErrorName", "hipGetErrorString"):
            question = getattr(self._library, name)
            question.restype = ctypes.c_char_p
            parts.append((question(status) or b"").decode(errors="replace"))
        return ": ".join(filter(None, parts)) or f"error {status}, which the runtime does not know"

    def _call(self, function: str, *arguments: Any) -> None:
        self.check(function, getattr(self._library, function)(*arguments))

    def _handle(self, function: str, *arguments: Any) -> int:
        """What a function gives through its first parameter; 0 for nothing."""
        handle = ctypes.c_void_p()
        self._call(function, ctypes.byref(handle), *arguments)
        return handle.value or 0


@cache
def find_hip() -> Hip | None:
    """The runtime of this machine; None where it is not installed."""
    for name in LIBRARIES:
        try:
            library = ctypes.CDLL(name)
        except OSError:
            continue
        return Hip(library)
    return None
