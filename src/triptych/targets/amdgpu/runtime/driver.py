"""AMD's runtime HIP, through `ctypes`: devices, code objects that are loaded, and the address that launches.

Input: the runtime's library, found when it is installed. Output: handles, or an error with HIP's own name and words for
it. Each device has one context, which all libraries of a process share: the current device is all that there is to set.
"""

from __future__ import annotations

import ctypes
from collections.abc import Sequence
from functools import cache

from triptych.ir.llvm.loader import LoadedObject, load_object
from triptych.ir.llvm.worker import Request, shared_pool
from triptych.objectstage.device_errors import DriverError, NoGpuError

LAUNCH, COOPERATIVE = "hipModuleLaunchKernel", "hipModuleLaunchCooperativeKernel"
_NAME = "triptych_launch_hip"
_NUMBERS = 7
"""Dimensions of the grid and of a block, then bytes of LDS."""
_STREAM, _ATTRIBUTE_COUNT = 32, 48
"""Bytes from the beginning of a launch's description (`CUlaunchConfig`) to its stream and the number of attributes."""

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

    def __init__(self, library: ctypes.CDLL) -> None:
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

    def load(self, code: bytes, kernels: Sequence[str]) -> list[int]:
        """Load a code object on the current device: its kernels."""
        module = self._handle("hipModuleLoadData", code)
        return [self._handle("hipModuleGetFunction", ctypes.c_void_p(module), kernel.encode()) for kernel in kernels]

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

    def _call(self, function: str, *arguments: object) -> None:
        self.check(function, getattr(self._library, function)(*arguments))

    def _handle(self, function: str, *arguments: object) -> int:
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


# The function that host code calls to launch: of the form of `cuLaunchKernelEx`, it calls HIP's with eleven arguments.
#
# It runs for every launch, with no Python in it, and stays for as long as the process.


@cache
def launcher(launch: int, cooperative: int) -> int:
    """Machine code for two functions at these addresses."""
    return _loaded(launch, cooperative).address


@cache
def _loaded(launch: int, cooperative: int) -> LoadedObject:
    """Kept, for as long as compiled host code may call it."""
    made = shared_pool().compile(Request(opt_level=1, vectorize=False, emit=("object",)), _text())
    return load_object(made.object, _NAME, {LAUNCH: launch, COOPERATIVE: cooperative})


def _text() -> str:
    """LLVM IR. The one attribute that a launch for AMD may have is that it is cooperative; others were refused."""
    numbers = ", ".join(["i32"] * _NUMBERS)
    given = ", ".join([f"i32 %n{i}" for i in range(_NUMBERS)])
    lines = [
        f"declare i32 @{LAUNCH}(ptr, {numbers}, ptr, ptr, ptr)",
        f"declare i32 @{COOPERATIVE}(ptr, {numbers}, ptr, ptr)",
        f"define i32 @{_NAME}(ptr %config, ptr %kernel, ptr %arguments, ptr %extra) {{",
    ]
    for i in range(_NUMBERS):
        lines += [f"  %p{i} = getelementptr i8, ptr %config, i64 {4 * i}", f"  %n{i} = load i32, ptr %p{i}"]
    lines += [
        f"  %stream_place = getelementptr i8, ptr %config, i64 {_STREAM}",
        "  %stream = load ptr, ptr %stream_place",
        f"  %count_place = getelementptr i8, ptr %config, i64 {_ATTRIBUTE_COUNT}",
        "  %count = load i32, ptr %count_place",
        "  %plain = icmp eq i32 %count, 0",
        "  br i1 %plain, label %launch, label %together",
        "launch:",
        f"  %r0 = call i32 @{LAUNCH}(ptr %kernel, {given}, ptr %stream, ptr %arguments, ptr %extra)",
        "  ret i32 %r0",
        "together:",
        f"  %r1 = call i32 @{COOPERATIVE}(ptr %kernel, {given}, ptr %stream, ptr %arguments)",
        "  ret i32 %r1",
        "}",
    ]
    return "\n".join(lines)
