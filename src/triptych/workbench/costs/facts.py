"""Costs as plain data, for `--json`."""

from __future__ import annotations

import linecache
from dataclasses import asdict
from typing import Any

from triptych.ptxsim.counting import CountedLaunch
from triptych.workbench.costs.lines import LineCosts, blocks_of, by_kind, by_line, grid_total
from triptych.workbench.costs.remarks import remarks
from triptych.workbench.costs.running import CostRun
from triptych.workbench.costs.table import fits, resources

_TOTALS = (
    "issued", "shared_requests", "wavefronts", "conflicts", "global_requests", "sectors", "bytes_used", "atomics",
)  # fmt: skip


def facts(run: CostRun, ended_by: str) -> dict[str, Any]:
    """Everything that the text says, and the counts of each block that ran."""
    return {
        "architecture": run.architecture,
        "launches": [_launch(launch, run) for launch in run.counting.launches],
        "ended_by": ended_by,
    }


def _launch(launch: CountedLaunch, run: CostRun) -> dict[str, Any]:
    costs, usage = by_line(launch), run.usage()
    return {
        "kernel": launch.kernel.name,
        "grid": launch.grid,
        "block": launch.block,
        "cluster": launch.cluster,
        "blocks_that_ran": [block.index for block in launch.blocks],
        "blocks": blocks_of(launch),
        "launches_alike": launch.alike,
        "seconds_per_block": round(launch.seconds / len(launch.blocks), 4),
        "lines": [_line(each) for each in costs],
        "instructions_by_kind": [dict(each) for each in by_kind(launch)],
        "of_the_grid": {name: grid_total(launch, costs, name) for name in _TOTALS},
        "remarks": remarks(launch, costs),
        "resources": resources(launch, usage),
        "occupancy": [asdict(fit) for fit in fits(launch, usage)],
    }


def _line(costs: LineCosts) -> dict[str, Any]:
    line = costs.line
    return {
        "file": None if line is None else line.file,
        "line": None if line is None else line.number,
        "source": "" if line is None else linecache.getline(line.file, line.number).strip(),
        "is_alike": costs.is_alike,
        "of_a_block": [{**asdict(each), "conflicts": each.conflicts} for each in costs.blocks],
    }
