"""Contiguous runs of lane addresses: lanes one after the other in memory, or all at one address."""

from __future__ import annotations

from triptych.kernel_ir.analysis.lanes import Lanes
from triptych.support.runs import Run, runs

_MOST_RUNS = 8
"""Runs that are read one by one; more are gathered."""


def lane_runs(known: Lanes, size: int) -> list[Run]:
    """Stretches of lanes: one after the other in memory, or all at one address."""
    return list(runs(range(len(known.offsets or ())), known.distance, (0, size)))


def in_runs(known: Lanes, size: int) -> bool:
    """Whether elements of the lanes lie in a few runs, so that rows of lanes are read and written."""
    return known.known and len(lane_runs(known, size)) <= _MOST_RUNS


def is_packed(known: Lanes, size: int) -> bool:
    """Whether the lanes' parts of so many bytes lie one after the other."""
    return known.has_stride(size)
