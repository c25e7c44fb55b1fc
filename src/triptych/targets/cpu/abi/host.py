"""Host machine that code for the CPU is generated for and run on."""

from __future__ import annotations

import platform
import sys
from collections.abc import Mapping
from functools import cache
from pathlib import Path

from triptych.ir import bindings


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
