"""The function that host code calls to launch: of the form of `cuLaunchKernelEx`, it calls HIP's with eleven arguments.

Input: the addresses of HIP's two functions that launch. Output: the address of machine code. It runs for every launch,
with no Python in it, and stays for as long as the process.
"""

from __future__ import annotations

from functools import cache

from triptych.ir.llvm.loader import LoadedObject, load_object
from triptych.ir.llvm.worker import Request, shared_pool

LAUNCH, COOPERATIVE = "hipModuleLaunchKernel", "hipModuleLaunchCooperativeKernel"
_NAME = "triptych_launch_hip"
_NUMBERS = 7
"""Dimensions of the grid and of a block, then bytes of LDS."""
_STREAM, _ATTRIBUTE_COUNT = 32, 48
"""Bytes from the beginning of a launch's description (`CUlaunchConfig`) to its stream and the number of attributes."""


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
