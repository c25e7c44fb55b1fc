"""`triptych tune` inside the child process: rules, compilations, measurements, and the winner verified.

Every step ends in the table's file, so the child may be killed at any time; the next one goes on.
"""

from __future__ import annotations

import fcntl
import time
from collections.abc import Callable, Iterator
from concurrent.futures import Executor, ThreadPoolExecutor
from contextlib import contextmanager
from dataclasses import asdict, replace
from pathlib import Path
from typing import Any

from triptych.many_compilations import Compilation, compile_many
from triptych.support.config import override
from triptych.support.forking import import_late
from triptych.support.processors import processors
from triptych.workbench.arrays import clone, mapped
from triptych.workbench.contracts.contract import Contract
from triptych.workbench.contracts.loading import load_contract
from triptych.workbench.devices.device import HOST, Device, device
from triptych.workbench.errors import PlanError
from triptych.workbench.kept_files import kept_folder
from triptych.workbench.measurement.calls import Hot
from triptych.workbench.measurement.clocks import HostClock
from triptych.workbench.measurement.sampling import figure, in_turns, warm_up
from triptych.workbench.tuning.search import Halving
from triptych.workbench.tuning.static_facts import facts_of, static_problems
from triptych.workbench.tuning.table import Row, Table
from triptych.workbench.verification.verifying import check_again

Doing = Callable[[str], None]
MEASURING = "measuring #"
_PATIENCE = 0.2


def serve(request: dict[str, Any], doing: Doing) -> dict[str, Any]:
    """The table and the winner, as plain data."""
    file = Path(request["file"])
    doing(f"loading {file}")
    contract = load_contract(file, file.stem)
    if not contract.configs:
        raise PlanError(
            f"{file.name} has nothing to choose from",
            expected='TUNE = {"tile": [32, 64]}, with kernel_fn(*inputs, tile), or a PLAN with _autotune_configs()',
        )
    with override(target=request["target"]) if request["target"] else override():
        search = _Search(contract, request, doing)
        return search.run()


class _Search:
    """One problem on one device."""

    def __init__(self, contract: Contract, request: dict[str, Any], doing: Doing) -> None:
        self.contract, self.request, self.doing = contract, request, doing
        self.device: Device = device(request["target"] or HOST)
        self.table = Table(Path(request["journal"]), request["key"], contract.configs)
        self.inputs = contract.inputs(0, contract.cases.get(request["case"], {}))
        self._calls: dict[int, Hot] = {}
        self._clock = HostClock()

    def run(self) -> dict[str, Any]:
        started = time.perf_counter()
        self._rules()
        if self.contract.job is not None:
            self._compile()
        winner: int | None = None
        if self.device.architecture == HOST:
            with _alone(self.device.architecture, self.doing):
                winner = self._exhaustive() if self.request["search"] == "exhaustive" else self._halving()
                winner = self._verified(winner)
        rows = [self.table.rows[number] for number in sorted(self.table.rows)]
        return {
            "target": self.request["target"] or HOST,
            "winner": winner,
            "config": dict(self.table.configs[winner]) if winner is not None else None,
            "seconds": self.table.rows[winner].best if winner is not None else None,
            "took": time.perf_counter() - started,
            "counts": self.table.counts(),
            "rows": [asdict(row) for row in rows],
        }

    def _rules(self) -> None:
        """What needs no compilation comes first."""
        rule = self.contract.config_problems
        for number in self.table.left() if rule is not None else ():
            config = self.table.configs[number]
            found = list(rule(config, self.device)) if rule is not None else []
            if found:
                self.table.put(Row(number, config, "pruned", "; ".join(found), foreseen=True))

    def _compile(self) -> None:
        left = self.table.left()
        job = self.contract.job
        assert job is not None
        jobs = {}
        for number in left:
            try:
                jobs[number] = job(self.table.configs[number], *self.inputs)
            except Exception as error:  # of one configuration
                self.table.put(Row(number, self.table.configs[number], "failed", _short(error)))
        numbers = {id(one): number for number, one in jobs.items()}

        def told(done: Compilation, so_far: int, of_all: int) -> None:
            self.doing(f"compiling: {so_far} of {of_all}")
            self._compiled(numbers[id(done.job)], done)

        if jobs:
            self.doing(f"compiling {len(jobs)} configurations")
            with _executor(self.request["executor"], self.request["workers"]) as executor:
                compile_many(list(jobs.values()), executor, workers=self.request["workers"], progress=told)
        self._find_equal_code()

    def _compiled(self, number: int, done: Compilation) -> None:
        config = self.table.configs[number]
        if done.error is not None:
            self.table.put(Row(number, config, "failed", _short(done.error), cpu_seconds=done.seconds))
            return
        facts = facts_of(done.result(), self.device)
        found = list(static_problems(facts, self.device))
        self.table.put(
            Row(
                number,
                config,
                "pruned" if found else "compiled",
                "; ".join(found) or "compiled",
                cpu_seconds=done.seconds,
                facts=facts,
            )
        )

    def _find_equal_code(self) -> None:
        seen: dict[str, int] = {}
        for number in sorted(self.table.rows):
            row = self.table.rows[number]
            code = row.facts.get("digest", "")
            if row.state not in ("compiled", "measured") or not code:
                continue
            if code in seen and row.state == "compiled":
                self.table.put(replace(row, state="equal", reason=f"the same code as #{seen[code]}"))
            seen.setdefault(code, number)

    def _candidates(self) -> list[int]:
        measurable = [n for n, row in self.table.rows.items() if row.state in ("compiled", "measured")]
        return sorted([*measurable, *self.table.left()])

    def _call(self, number: int) -> Hot:
        if number not in self._calls:
            configured = self.contract.configured
            assert configured is not None
            self._calls[number] = Hot(self.contract, configured(self.table.configs[number]), self.inputs)
            self._calls[number]()
        return self._calls[number]

    def _first_look(self, numbers: list[int], sample: Callable[[Hot], list[float]]) -> Iterator[int]:
        """Measure each that was not, and give those that run."""
        for number in numbers:
            row = self.table.rows.get(number) or Row(number, self.table.configs[number], "compiled", "")
            if not row.seconds:
                self.doing(f"{MEASURING}{number}")
                try:
                    row = replace(row, state="measured", reason="measured", seconds=sample(self._call(number)))
                except Exception as error:  # of one configuration
                    row = replace(row, state="failed", reason=_short(error))
                self.table.put(row)
            if row.state == "measured":
                yield number

    def _halving(self) -> int | None:
        halving = Halving([])
        halving.alive = list(self._first_look(self._candidates(), lambda call: self._samples(call, halving.samples)))
        for number in halving.alive:
            for seconds in self.table.rows[number].seconds:
                halving.tell(number, seconds)
        while not halving.is_over:
            halving.halve()
            taken: dict[int, list[float]] = {}
            for number in halving.ask():
                self.doing(f"{MEASURING}{number}")
                once = self._clock.seconds(self._call(number), 1)
                taken.setdefault(number, []).append(once)
                halving.tell(number, once)
            for number, samples in taken.items():
                self.table.add_samples(number, samples)
        return self._final(halving.alive)

    def _exhaustive(self) -> int | None:
        each = self.request["seconds"]

        def sample(call: Hot) -> list[float]:
            warm_up(call, each / 4)
            return figure(call, self._clock, each).samples

        measured = list(self._first_look(self._candidates(), sample))
        return min(measured, key=lambda number: self.table.rows[number].best, default=None)

    def _final(self, finalists: list[int]) -> int | None:
        """In turns, the best so far against each other."""
        ranked = sorted(finalists, key=lambda number: min(self.table.rows[number].seconds))
        if not ranked:
            return None
        best = ranked[0]
        for number in ranked[1:]:
            self.doing(f"{MEASURING}{number}")
            if in_turns(self._call(best), self._call(number), self._clock, self.request["seconds"]).ratio.estimate < 0:
                best = number
        return best

    def _verified(self, winner: int | None) -> int | None:
        """A winner whose result is right; a wrong one is a failure, and the next is asked."""
        while winner is not None:
            call = self._call(winner)
            kept = mapped(self.inputs, clone)
            call()
            wrong = check_again(self.contract, kept, call.outputs(), None)
            if not wrong:
                return winner
            self.table.put(replace(self.table.rows[winner], state="failed", reason=f"wrong result: {wrong[0]}"))
            measured = [n for n, row in self.table.rows.items() if row.state == "measured"]
            winner = min(measured, key=lambda number: self.table.rows[number].best, default=None)
        return None

    def _samples(self, call: Hot, count: int) -> list[float]:
        return [self._clock.seconds(call, 1) for _ in range(count)]


@contextmanager
def _alone(name: str, doing: Doing) -> Iterator[None]:
    """One measurement at a time on a device, whoever asks. Waiting is told: it does not count as endless."""
    with (kept_folder() / f"device-{name}.lock").open("w") as lock:
        while True:
            try:
                fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
                break
            except BlockingIOError:
                doing("waiting for another search on this device")
                time.sleep(_PATIENCE)
        yield


@contextmanager
def _executor(name: str, workers: int | None) -> Iterator[Executor | None]:
    """Processes of our own, threads, or a cluster of Ray."""
    if name == "processes":
        yield None
        return
    made: Executor
    if name == "ray":
        ray: Any = import_late("ray")
        ray.init(ignore_reinit_error=True, log_to_driver=False)
        made = import_late("triptych.ray").RayExecutor()
    else:
        made = ThreadPoolExecutor(workers or processors())
    try:
        yield made
    finally:
        made.shutdown(cancel_futures=True)


def _short(error: Exception) -> str:
    text = str(error).strip().splitlines()
    return f"{type(error).__name__}: {text[0] if text else ''}"
