"""Registers, shared memory, spills and occupancy of a kernel, against the limits of each architecture."""

from __future__ import annotations

import math
from collections.abc import Mapping
from typing import Any

from triptych.ptxsim.counting import CountedLaunch
from triptych.support.dataclass import dataclass
from triptych.targets.nvptx.description.architectures import ARCHITECTURES, WARP
from triptych.targets.nvptx.report.resources import Need, limits, next_step
from triptych.targets.nvptx.report.usage import Usage

_HEADS = ("architecture", "blocks per SM", "warps", "limited by", "next step")
_UNKNOWN = "no assembler is installed: registers and spills are not known (pip install 'triptych[cuda]')"


@dataclass(frozen=True, slots=True)
class Fit:
    """A kernel on one architecture."""

    architecture: str
    blocks: int
    warps: int
    most_warps: int
    limited_by: tuple[str, ...]
    next_step: str


def fits(launch: CountedLaunch, usage: Mapping[str, Usage]) -> list[Fit]:
    """How many blocks each architecture holds; registers are those of the architecture that it is compiled for."""
    need = _need(launch, usage)
    found = []
    for name, architecture in ARCHITECTURES.items():
        here = limits(need, architecture)
        most = architecture.threads // WARP
        step = next_step(need, architecture)
        found.append(Fit(name, here.blocks, here.blocks * need.warps, most, here.first, step))
    return found


def resources(launch: CountedLaunch, usage: Mapping[str, Usage]) -> dict[str, Any]:
    """What the kernel takes; None is what only an assembler knows."""
    used = usage[launch.kernel.name].resources if launch.kernel.name in usage else None
    need = _need(launch, usage)
    return {
        "threads": need.threads,
        "registers": need.registers,
        "shared_bytes": need.shared,
        "stack_bytes": None if used is None else used.stack,
        "spilled_bytes": None if used is None else used.spill_stores + used.spill_loads,
        "assembled_for": None if used is None else used.architecture,
    }


def occupancy_table(launch: CountedLaunch, usage: Mapping[str, Usage]) -> str:
    """For people."""
    facts = resources(launch, usage)
    words = [f"{facts['threads']} threads", f"{facts['shared_bytes']:,} bytes of shared memory"]
    if facts["registers"] is None:
        words.append(_UNKNOWN)
    else:
        words.insert(1, f"{facts['registers']} registers of a thread ({facts['assembled_for']})")
        words += [f"{facts['stack_bytes']} bytes of stack", f"{facts['spilled_bytes']} bytes spilled"]
    rows = [_HEADS, *map(_row, fits(launch, usage))]
    widths = [max(map(len, column)) for column in zip(*rows, strict=True)]
    lines = ["  ".join(map(str.ljust, row, widths)).rstrip() for row in rows]
    return "\n".join([f"a block takes {', '.join(words)}", *lines])


def _row(fit: Fit) -> tuple[str, ...]:
    warps = f"{fit.warps} of {fit.most_warps}"
    return fit.architecture, str(fit.blocks), warps, " and ".join(fit.limited_by), fit.next_step


def _need(launch: CountedLaunch, usage: Mapping[str, Usage]) -> Need:
    used = usage.get(launch.kernel.name)
    registers = None if used is None else used.resources.registers
    return Need(math.prod(launch.block), registers, launch.shared_bytes)
