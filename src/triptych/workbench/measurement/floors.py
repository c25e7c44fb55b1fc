"""The least time that work can take on this machine: what is faster has not been done."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from triptych.workbench.errors import ImpossibleTimeError
from triptych.workbench.units import time_text

SLACK = 0.5
"""Roofs are measured on machines that do other things too, and then are too low."""


def floor_of(work: tuple[float, float], roofs: Mapping[str, Any], size: int, dtype: str) -> tuple[float, str]:
    """Seconds, and why: the peak of multiply-adds, or the bandwidth of the smallest level that holds `size` bytes."""
    flops, moved = work
    level = next((one for one in roofs["levels"] if one["bytes"] >= size), roofs["levels"][-1])
    peak = roofs["flops"].get(dtype) or max(roofs["flops"].values())
    by_flops, by_bytes = flops / peak, moved / level["bandwidth"]
    if by_flops >= by_bytes:
        return by_flops, f"{flops / 1e9:.4g} GFLOP at {peak / 1e9:.0f} GFLOP/s"
    return by_bytes, f"{moved / 1e6:.4g} MB at {level['bandwidth'] / 1e9:.0f} GB/s ({level['name']})"


def check_time(seconds: float, floor: float, why: str) -> None:
    """Refuse a time that the machine cannot reach."""
    if seconds < SLACK * floor:
        raise ImpossibleTimeError(
            "the kernel took less time than its work needs on this machine",
            found=time_text(seconds),
            expected=f"at least {time_text(floor)}: {why}",
            instead="a kernel that does all of it, or algorithmic_flops_bytes that says what it does",
        )
