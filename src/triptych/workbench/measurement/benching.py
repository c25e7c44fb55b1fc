"""One contract measured case by case, and two contracts in turns. Runs in the process that loaded them."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import asdict, dataclass
from typing import Any

from triptych.workbench.arrays import arrays_in, clone, digest, dtype_name, mapped, size_in_bytes
from triptych.workbench.contracts.contract import BENCH, Contract, Tolerance, bench_cases
from triptych.workbench.errors import ContractError
from triptych.workbench.measurement.calls import Cold, Hot, cold_sets
from triptych.workbench.measurement.clocks import Clock, HostClock
from triptych.workbench.measurement.floors import SLACK, check_time, floor_of
from triptych.workbench.measurement.machine import last_cache
from triptych.workbench.measurement.roofs import roofs
from triptych.workbench.measurement.sampling import as_plain, figure, in_turns, warm_up
from triptych.workbench.verification.verifying import check_again

Case = Mapping[str, Any]
_LOOKS_AT_ROOFS = 3
_FOR_NOISE = 0.15
"""The part of the time that is spent on the kernel against itself."""


@dataclass(frozen=True, slots=True)
class BenchOptions:
    """As the command line says it."""

    seconds: float = 2.0
    seed: int = 0
    cold: bool = True
    tolerance: Tolerance | None = None
    with_roofs: bool = True


def chosen_cases(contract: Contract, names: list[str], sweep: Case | None) -> dict[str, Case]:
    """Those that are asked for by name, the points of a sweep, or all that are for measuring."""
    if sweep:
        ((name, values),) = sweep.items()
        return {f"{name}={value}": {name: value} for value in values}
    unknown = [name for name in names if name not in contract.cases]
    if unknown:
        raise ContractError(
            f"there is no case {unknown[0]!r}", expected=f"one of {', '.join(map(repr, contract.cases))}"
        )
    return {name: contract.cases[name] for name in names} if names else bench_cases(contract)


def bench(
    contract: Contract, name: str, case: Case, options: BenchOptions, clock: Clock | None = None
) -> dict[str, Any]:
    """One case: hot and cold figures, noise, rates, the baseline, and whether the last result is right."""
    inputs = contract.inputs(options.seed, case)
    kept = mapped(inputs, clone)
    clock = clock or HostClock()
    hot = Hot(contract, contract.kernel, inputs)
    warm_up(hot)
    found = figure(hot, clock, options.seconds / 2, between=hot.restore if contract.mutates else None)
    outputs = [clone(output) for output in hot.outputs()]
    answer: dict[str, Any] = {"case": name, "parameters": _plain(case), "hot": asdict(found)}
    if contract.mutates:
        hot.restore()
        hot()
        outputs = [clone(output) for output in hot.outputs()]
    elif options.cold:
        answer["cold"] = _cold(contract, kept, options.seconds / 2)
    answer["noise"] = in_turns(hot, hot, clock, _FOR_NOISE * options.seconds).noise if not contract.mutates else None
    answer["verified"] = check_again(contract, kept, outputs, options.tolerance)
    size = sum(size_in_bytes(array) for array in (*arrays_in(kept), *outputs))
    answer["bytes_touched"] = size
    if contract.work is not None:
        answer["work"] = _rates(contract, kept, answer, size, dtype_name(outputs[0]), options)
    if contract.baseline is not None and not contract.mutates:
        base = Hot(contract, contract.baseline, kept)
        warm_up(base)
        answer["baseline"] = as_plain(in_turns(base, hot, clock, options.seconds / 2))
    return answer


def bench_pair(first: Contract, second: Contract, name: str, case: Case, options: BenchOptions) -> dict[str, Any]:
    """Two kernels in turns, on the same memory where their inputs are the same."""
    inputs = first.inputs(options.seed, case)
    others = second.inputs(options.seed, case)
    same = [digest(one) for one in arrays_in(inputs)] == [digest(one) for one in arrays_in(others)]
    kept = mapped(inputs, clone)
    sides = [Hot(first, first.kernel, inputs), Hot(second, second.kernel, inputs if same else others)]
    for side in sides:
        warm_up(side)
    comparison = in_turns(sides[0], sides[1], HostClock(), options.seconds, options.seed)
    verified = []
    for contract, side, given in zip((first, second), sides, (kept, kept if same else others), strict=True):
        verified += check_again(contract, given, side.outputs(), options.tolerance) if not contract.mutates else []
    return {"case": name, "parameters": _plain(case), "comparison": as_plain(comparison), "verified": verified}


def _cold(contract: Contract, inputs: list[Any], seconds: float) -> dict[str, Any]:
    sets = cold_sets(inputs)
    cold = Cold(contract.kernel, sets)
    evicting = HostClock(2 * last_cache() if len(sets) == 1 else 0)
    found = figure(cold, evicting, seconds, between=evicting.evict if len(sets) == 1 else None)
    how = f"{len(sets)} sets of arguments in turn" if len(sets) > 1 else "evicted between calls"
    return {**asdict(found), "how": how}


def _rates(
    contract: Contract, inputs: list[Any], answer: dict[str, Any], size: int, dtype: str, options: BenchOptions
) -> dict[str, Any]:
    assert contract.work is not None
    flops, moved = map(float, contract.work(*inputs))
    median = answer["hot"]["median"]
    found = {"flops": flops, "bytes": moved, "gflops": flops / median / 1e9, "gbytes": moved / median / 1e9}
    if options.with_roofs:
        measured = roofs()
        floor, why = floor_of((flops, moved), measured, size, dtype)
        for _ in range(_LOOKS_AT_ROOFS if median < SLACK * floor else 0):
            measured = roofs(refresh=True)  # they were measured while the machine did something else
            floor, why = floor_of((flops, moved), measured, size, dtype)
            if median >= SLACK * floor:
                break
        check_time(median, floor, why)
        found |= {"floor": floor, "of_roof": floor / median, "limit": why, "roofs": measured}
    return found


def _plain(case: Case) -> dict[str, Any]:
    return {name: value for name, value in case.items() if name != BENCH}
