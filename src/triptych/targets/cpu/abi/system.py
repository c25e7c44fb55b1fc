"""System and machine below the CPU target, beside LLVM and Python: a port begins with a row of this table.

Blocks of kernels run on POSIX threads and in memory of `aligned_alloc`; loops read the time of `clock_gettime`. Systems
have these under the same names, with numbers and sizes of their own. Only Linux is tested.
"""

from __future__ import annotations

import platform
import sys
from collections.abc import Mapping
from functools import cache
from pathlib import Path

from triptych.ir import bindings
from triptych.support.dataclass import dataclass
from triptych.support.errors import TriptychError

ALLOCATE = "aligned_alloc"
"""Of the C library: an alignment and a multiple of it in bytes to memory, which `free` takes back."""
CLOCK = "clock_gettime"
"""Of the C library: the number of a clock and a place for seconds and nanoseconds of 64 bits each."""


@dataclass(frozen=True, slots=True)
class System:
    """Numbers and sizes of one operating system."""

    monotonic_clock: int
    thread_key: str
    """The LLVM type of `pthread_key_t`."""
    exports: bool = False
    """Whether objects for a linker can be made, which are ELF files and call this system's C library."""
    tells_faults: bool = False
    """Whether `pool_fault_code` knows the structures that signal handlers see."""


SYSTEMS = {
    "linux": System(monotonic_clock=1, thread_key="i32", exports=True, tells_faults=True),
    "darwin": System(monotonic_clock=6, thread_key="i64"),
}
"""By `sys.platform`."""


class UnsupportedSystemError(TriptychError, NotImplementedError):
    """The CPU target runs kernels on POSIX threads, and has not been ported to this operating system."""

    code = "TT0516"


def is_supported() -> bool:
    """Whether the table has the system that this process runs on."""
    return sys.platform in SYSTEMS


def system() -> System:
    """The one that this process runs on."""
    if not is_supported():
        raise UnsupportedSystemError(
            "the CPU target cannot run kernels on this operating system",
            found=sys.platform,
            expected=f"one of {', '.join(SYSTEMS)}",
            instead="run the program on Linux, or in the Windows Subsystem for Linux",
        )
    return SYSTEMS[sys.platform]


# Host machine that code for the CPU is generated for and run on.


def host_info() -> Mapping[str, str]:
    """The machine and the tools, as far as they are known without asking LLVM."""
    return {**kind_of_machine(), "processor": _processor()}


def kind_of_machine() -> Mapping[str, str]:
    """What decides code that any such machine runs."""
    return {"machine": platform.machine(), "system": sys.platform, **bindings.versions()}


_FACTS = ("vendor_id", "cpu family", "model", "model name", "flags", "CPU implementer", "CPU part", "Features")
"""Lines of the system's description that say which instructions there are, of x86 and of ARM processors."""


@cache
def _processor() -> str:
    """What LLVM generates code for: the model and the instructions that this machine has, as the system tells them."""
    try:
        first, _, _ = Path("/proc/cpuinfo").read_text().partition("\n\n")
    except OSError:
        return platform.processor()
    facts = [[part.strip() for part in line.split(":", 1)] for line in first.splitlines()]
    return "; ".join(": ".join(fact) for fact in facts if fact[0] in _FACTS)


def has_wide_registers() -> bool:
    """Whether there are 32 registers of 64 bytes, which hold many more sums than others do."""
    return "avx512f" in _processor().split()
