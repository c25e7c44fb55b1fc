"""Benchmark of one contract case by case, and of two contracts in turns. Runs in the process that loaded them."""

from __future__ import annotations

import inspect
from collections.abc import Callable, Mapping, Sequence
from dataclasses import asdict
from pathlib import Path
from typing import Any

from triptych.support.dataclass import dataclass
from triptych.support.wording import did_you_mean
from triptych.workbench.arrays import arrays_in, clone, dtype_name, mapped, overwrite, size_in_bytes
from triptych.workbench.contracts.contract import BENCH, Contract, Tolerance, bench_cases, refuse_unknown_cases, takes
from triptych.workbench.errors import ContractError, ImpossibleTimeError
from triptych.workbench.measurement.candidate import UNKNOWN_CACHE, Cold, Hot, cold_sets, problems_of_both
from triptych.workbench.measurement.clocks import HOST, UNTRIED, Clock, HostClock, clock_for
from triptych.workbench.measurement.isolated_process import (
    PROCESSES,
    IsolatedCandidate,
    IsolatedClocks,
    compare_in_processes,
    turns,
)
from triptych.workbench.measurement.machine import last_cache
from triptych.workbench.measurement.roofs import roofs
from triptych.workbench.measurement.sampling import (
    Comparison,
    as_plain,
    combined,
    figure,
    in_turns,
    plain_figure,
    warm_up,
)
from triptych.workbench.units import time_text
from triptych.workbench.verification.verifying import check_again

# The least time that work can take on this machine: what is faster has not been done.

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


Case = Mapping[str, Any]
_LOOKS_AT_ROOFS = 3
_HOPELESS = 0.02
"""Of the floor: no machine is so busy that its roofs are as much too low."""
_FOR_NOISE = 0.15
"""The part of the time that is spent on the kernel against itself."""
_OTHER_SEED = 3_000_017


@dataclass(frozen=True, slots=True)
class BenchOptions:
    """As the command line says it."""

    seconds: float = 2.0
    seed: int = 0
    cold: bool = True
    tolerance: Tolerance | None = None
    with_roofs: bool = True
    processes: int = PROCESSES
    """In which two kernels are compared, one after the other."""
    graph: bool = False
    """On a GPU: replay captured calls, which hides what launching costs."""


def chosen_cases(contract: Contract, names: list[str], sweep: Case | None) -> dict[str, Case]:
    """Those that are asked for by name, the points of a sweep, or all that are for measuring."""
    if sweep:
        ((name, values),) = sweep.items()
        if not takes(contract.get_inputs, name):
            sizes = list(inspect.signature(contract.get_inputs).parameters)
            raise ContractError(
                f"get_inputs has no parameter {name!r} to sweep over",
                expected=f"one of {', '.join(sizes)}" if sizes else "a parameter, as get_inputs(n=1024, seed=0)",
                instead=did_you_mean(name, sizes),
            )
        return {f"{name}={value}": {name: value} for value in values}
    refuse_unknown_cases(contract, names)
    return {name: contract.cases[name] for name in names} if names else bench_cases(contract)


def bench(
    contract: Contract, name: str, case: Case, options: BenchOptions, clock: Clock | None = None
) -> dict[str, Any]:
    """One case: hot and cold figures, noise, rates, the baseline, and whether the last result is right."""
    inputs = contract.inputs(options.seed, case)
    kept = mapped(inputs, clone)
    clock = clock or clock_for(arrays_in(inputs), options.graph)
    hot = Hot(contract, contract.kernel, inputs)
    restore = hot.restore if contract.restores else None
    warm_up(hot, between=restore)
    found = figure(hot, clock, options.seconds / 2, between=restore)
    answer: dict[str, Any] = {"case": name, "parameters": _plain(case), "hot": plain_figure(found)}
    if clock.name != HOST:
        answer |= {"clock": clock.name, "note": UNTRIED}
    if contract.restores:
        hot.restore()
        hot()
    outputs = [clone(output) for output in hot.outputs()]
    if options.cold:
        answer["cold"] = _cold(contract, kept, options.seconds / 2, clock)
    both = (hot.restore, hot.restore) if contract.restores else None
    answer["noise"] = in_turns(hot, hot, clock, _FOR_NOISE * options.seconds, before=both).noise
    answer["verified"] = check_again(contract, kept, outputs, options.tolerance)
    returned = outputs if hot.last is not None else []
    size = sum(size_in_bytes(array) for array in (*arrays_in(kept), *returned))
    answer["bytes_touched"] = size
    if contract.work is not None:
        answer["work"] = _rates(contract, kept, answer, size, dtype_name(outputs[0]), options)
    if contract.baseline is not None:
        base = Hot(contract, contract.baseline, kept)
        warm_up(base, between=base.restore if contract.restores else None)
        before = (base.restore, hot.restore) if contract.restores else None
        answer["baseline"] = as_plain(in_turns(base, hot, clock, options.seconds / 2, before=before))
    answer["verified"] += _with_new_values(contract, hot, case, options)
    return answer


def _with_new_values(contract: Contract, hot: Hot, case: Case, options: BenchOptions) -> list[str]:
    """One more call on the same memory with other values: what was remembered and not computed shows."""
    other = contract.inputs(options.seed + _OTHER_SEED, case)
    for target, source in zip(arrays_in(hot.inputs), arrays_in(other), strict=True):
        overwrite(target, source)
    hot()
    problems = check_again(contract, other, hot.outputs(), options.tolerance)
    return [f"with new values in the same memory, {text}" for text in problems]


def bench_pair(
    files: Sequence[Path], name: str, case: Case, options: BenchOptions, doing: Callable[[str], None]
) -> dict[str, Any]:
    """Two kernels in turns that share a process, in several processes one after the other."""
    bounds = asdict(options.tolerance) if options.tolerance is not None else {}
    request = {
        "case": dict(case),
        "seed": options.seed,
        "seconds": options.seconds,
        "processes": options.processes,
        **bounds,
    }
    return _compared(name, case, *compare_in_processes(files, request, name, doing))


def bench_apart(
    files: Sequence[Path], path: list[str], name: str, case: Case, options: BenchOptions, doing: Callable[[str], None]
) -> dict[str, Any]:
    """Two kernels in turns, each in its own process, several times in new ones: no two processes are alike."""
    parts, verified = [], []
    for turn in range(options.processes):
        doing(f"measuring {name} in two processes, {turn + 1} of {options.processes}")
        with IsolatedCandidate(files[0], path) as first, IsolatedCandidate(files[1], path) as second:
            for side in (first, second):
                side.wait()
            for side in (first, second):
                side.prepare(case, options.seed)
            seconds = options.seconds / options.processes
            parts.append(turns(first, second, IsolatedClocks(), seconds, options.seed + turn))
            verified = problems_of_both(first, second, options.tolerance)
    return _compared(name, case, combined(parts), verified)


def _compared(name: str, case: Case, comparison: Comparison, verified: list[str]) -> dict[str, Any]:
    return {"case": name, "parameters": _plain(case), "comparison": as_plain(comparison), "verified": verified}


def _cold(contract: Contract, inputs: list[Any], seconds: float, clock: Clock) -> dict[str, Any]:
    """Arguments in turn that no cache has; or one set, restored if it was changed, and then evicted."""
    sets = cold_sets(inputs) if not contract.restores and clock.name == HOST else []
    if len(sets) > 1:
        return {
            **plain_figure(figure(Cold(contract.kernel, sets), HostClock(), seconds)),
            "how": f"{len(sets)} sets of arguments in turn",
        }
    evicting = HostClock(2 * (last_cache() or UNKNOWN_CACHE)) if clock.name == HOST else clock
    hot = Hot(contract, contract.kernel, mapped(inputs, clone))

    def between() -> None:
        hot.restore()
        evicting.evict()

    return {**plain_figure(figure(hot, evicting, seconds, between=between)), "how": "evicted between calls"}


def _rates(
    contract: Contract, inputs: list[Any], answer: dict[str, Any], size: int, dtype: str, options: BenchOptions
) -> dict[str, Any]:
    assert contract.work is not None, "rates are asked for where the work is known"
    flops, moved = map(float, contract.work(*inputs))
    median = answer["hot"]["median"]
    found = {"flops": flops, "bytes": moved, "gflops": flops / median / 1e9, "gbytes": moved / median / 1e9}
    if options.with_roofs and "clock" not in answer:  # they are of the host
        measured = roofs()
        floor, why = floor_of((flops, moved), measured, size, dtype)
        for _ in range(_LOOKS_AT_ROOFS if _HOPELESS * floor < median < SLACK * floor else 0):
            measured = roofs(refresh=True)  # they were measured while the machine did something else
            floor, why = floor_of((flops, moved), measured, size, dtype)
            if median >= SLACK * floor:
                break
        check_time(median, floor, why)
        found |= {"floor": floor, "of_roof": floor / median, "limit": why, "roofs": measured}
    return found


def _plain(case: Case) -> dict[str, Any]:
    return {name: value for name, value in case.items() if name != BENCH}
