"""Times of every configuration of a kernel, and how near to the best a search comes on them, by what it draws.

    python -m benchmarks.tuning_tables record FILE.py TABLE.json [--rounds 40]    minutes; a quiet machine
    python -m benchmarks.tuning_tables simulate TABLE.json ... [--seeds 100] [--search auto]

A table has, for each configuration that no rule leaves out, the CPU seconds of compiling it and samples that were taken
in turns with all others: so a machine that was busy for a while was busy for all. `record` on a table that exists adds
samples to it; `measured_tunings` has three. What a search costs is estimated from the table by `Costs`; what it is told
is drawn from the samples.
"""

from __future__ import annotations

import argparse
import json
import os
import random
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

from triptych.cute.tuning.search import Search, search_named
from triptych.driver.compile_many import compile_many
from triptych.workbench.contracts.loading import load_contract
from triptych.workbench.devices import HOST, device
from triptych.workbench.measurement.candidate import Hot
from triptych.workbench.measurement.clocks import HostClock, without_collections

NEAR = 1.03
_START, _FINAL = 2.5, 3 * 0.2
"""Seconds until the first configuration is compiled, and for comparing the finalists."""


@dataclass(frozen=True)
class Measured:
    """A table as it was recorded."""

    configs: dict[int, dict[str, Any]]
    compiling: dict[int, float]
    """CPU seconds."""
    microseconds: dict[int, list[float]]
    """Samples; nothing: it does not run."""

    @classmethod
    def read(cls, file: Path) -> Measured:
        rows = json.loads(file.read_text(encoding="utf-8")) if file.is_file() else []
        return cls(*({row["number"]: row[name] for row in rows} for name in ("config", "compiling", "microseconds")))

    def write(self, file: Path) -> None:
        rows = [
            {"number": n, "config": self.configs[n], "compiling": self.compiling[n], "microseconds": some}
            for n, some in self.microseconds.items()
        ]
        file.write_text("[\n" + ",\n".join(map(json.dumps, rows)) + "\n]\n", encoding="utf-8")

    @property
    def truth(self) -> dict[int, float]:
        """What is compared with what was chosen."""
        return {n: float(np.median(some)) for n, some in self.microseconds.items() if some}


@dataclass(frozen=True)
class Costs:
    """Seconds of a search: compiling on all processors, then its samples; each batch waits for its last compilation."""

    table: Measured
    processors: int
    each: float = 0.2
    """Of a configuration that is sampled to the end, and a quarter of it more for warming up."""

    def exhaustive(self) -> float:
        whole = self.compiled(self.table.configs) + 1.25 * self.each * len(self.table.truth)
        return _START + whole

    def compiled(self, numbers: Any) -> float:
        free = [0.0] * self.processors
        for number in numbers:
            free[free.index(min(free))] += self.table.compiling[number]
        return max(free)


def record(arguments: argparse.Namespace) -> None:
    """Compile everything, then sample in turns."""
    contract = load_contract(arguments.file, arguments.file.stem)
    known, host = Measured.read(arguments.table), device(HOST)
    rule, job, configured = contract.config_problems, contract.job, contract.configured
    assert job is not None
    assert configured is not None
    configs = {
        n: dict(config) for n, config in enumerate(contract.configs) if rule is None or not list(rule(config, host))
    }
    inputs = contract.inputs(0, {})
    compiled = compile_many([job(config, *inputs) for config in configs.values()])
    calls = {
        n: Hot(contract, configured(configs[n]), inputs)
        for n, done in zip(configs, compiled, strict=True)
        if not done.error
    }
    new: dict[int, list[float]] = {n: [] for n in configs}
    clock, order = HostClock(), list(calls)
    for number in order:
        calls[number]()
    with without_collections():
        for _ in range(arguments.rounds):
            random.shuffle(order)
            for number in order:
                calls[number]()  # of many specializations only the last few are called straight
                new[number].append(round(1e6 * clock.seconds(calls[number], 1), 1))
    seconds = {
        n: known.compiling.get(n) or round(done.cpu_seconds, 3) for n, done in zip(configs, compiled, strict=True)
    }
    found = Measured(configs, seconds, {n: known.microseconds.get(n, []) + new[n] for n in configs})
    found.write(arguments.table)
    print(f"{len(calls)} of {len(configs)} run, {sum(seconds.values()):.0f} CPU seconds of compiling", end=", ")
    print(f"load {os.getloadavg()[0]:.1f}")


def simulated(table: Measured, costs: Costs, search: Search, seed: int) -> tuple[float, float, int]:
    """How far from the best the choice is, the time as a part of the exhaustive one, and how many were tried."""
    draw = np.random.default_rng(seed)
    spent, known = _START + _FINAL, dict[int, list[float]]()
    while trials := search.ask():
        spent += costs.compiled(trial.number for trial in trials if trial.number not in known)
        for number, samples in trials:
            some = known.setdefault(number, [])
            measured = table.microseconds[number]
            if measured:
                some += (1e-6 * draw.choice(measured, max(0, samples - len(some)))).tolist()
                spent += sum(some)
            search.tell(number, some if measured else None)
    chosen = min(search.finalists(), key=table.truth.__getitem__)
    return table.truth[chosen] / min(table.truth.values()), spent / costs.exhaustive(), len(known)


def simulate(arguments: argparse.Namespace) -> None:
    """One line for each table and search."""
    for file in arguments.tables:
        table = Measured.read(file)
        costs = Costs(table, arguments.processors)
        for name in arguments.search:
            ran = [
                simulated(table, costs, search_named(name, table.configs, seed, arguments.budget), seed)
                for seed in range(arguments.seeds)
            ]
            ratios, parts, tried = map(np.array, zip(*ran, strict=True))
            near = int((ratios <= NEAR).sum())
            print(f"{file.stem}, {name}: {near} of {len(ran)} within 3 % of the best", end=", ")
            print(
                f"median {np.median(ratios):.3f}, worst {ratios.max():.3f}; {tried.mean():.0f} of {len(table.configs)}",
                end=" ",
            )
            print(f"tried, {parts.mean():.2f} (at most {parts.max():.2f}) of {costs.exhaustive():.0f} s")


def main() -> None:
    parser = argparse.ArgumentParser()
    what = parser.add_subparsers(required=True)
    recording = what.add_parser("record")
    recording.add_argument("file", type=Path)
    recording.add_argument("table", type=Path)
    recording.add_argument("--rounds", type=int, default=40)
    recording.set_defaults(run=record)
    simulating = what.add_parser("simulate")
    simulating.add_argument("tables", type=Path, nargs="+")
    simulating.add_argument("--seeds", type=int, default=100)
    simulating.add_argument("--search", nargs="+", default=["auto"])
    simulating.add_argument("--budget", type=int)
    simulating.add_argument("--processors", type=int, default=2)
    simulating.set_defaults(run=simulate)
    chosen = parser.parse_args()
    chosen.run(chosen)


if __name__ == "__main__":
    main()
