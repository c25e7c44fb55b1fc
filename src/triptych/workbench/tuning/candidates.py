"""Candidates of a search: each configuration prepared, that is compiled and judged by its numbers, and then measured.

Only what a search asks for is compiled. The assembler's numbers against the device, and equal code, say what cannot
run or cannot be good; they never say which is fastest. Samples are taken in turns, finalists against each other, and
the winner is verified. Each step, and every sample before the next is taken, ends in the table: what was measured is
never measured again.
"""

from __future__ import annotations

import hashlib
import random
from collections.abc import Callable, Iterable, Iterator, Sequence
from concurrent.futures import Executor
from dataclasses import replace
from typing import Any

from triptych.cute.tuning.rows import Row, failure
from triptych.cute.tuning.search import Search, Trial
from triptych.driver.compile_many import Compilation, compile_many
from triptych.driver.compiling import CompiledFunction
from triptych.support.errors import TriptychError
from triptych.targets.nvptx.description.architectures import WARP
from triptych.workbench.arrays import clone, mapped
from triptych.workbench.contracts.contract import Contract
from triptych.workbench.devices import Device
from triptych.workbench.measurement.candidate import Hot
from triptych.workbench.measurement.clocks import HostClock
from triptych.workbench.measurement.sampling import figure, in_turns, warm_up
from triptych.workbench.tuning.table import Table, facts_text
from triptych.workbench.verification.verifying import check_again

SCHEDULERS = 4
"""Of a multiprocessor, since sm_70; each issues an instruction of one of its own warps in a cycle."""


def facts_of(compiled: CompiledFunction, device: Device) -> dict[str, Any]:
    """Registers, shared memory, spills and blocks at once of the kernel that needs most, and the digest of the code."""
    if not device.shared:
        return {"digest": hashlib.sha256(compiled.artifact).hexdigest()}  # readable assembly costs as much as compiling
    facts: dict[str, Any] = {"digest": _digest(compiled.__ptx__)}
    for usage in compiled.usage.values():
        used = usage.resources
        facts["registers"] = max(facts.get("registers", 0), used.registers)
        facts["shared"] = max(facts.get("shared", 0), usage.shared or 0)
        facts["spilled"] = facts.get("spilled", 0) + used.spill_stores + used.spill_loads
        facts["threads"] = max(facts.get("threads", 0), usage.threads or 0)
        held = usage.occupancy.get(used.architecture)
        if held is not None:
            facts["blocks_at_once"] = min(facts.get("blocks_at_once", held), held)
    return facts


def static_problems(facts: dict[str, Any], device: Device) -> Iterator[str]:
    """Why it cannot run, or cannot be good, each with the number that proves it."""
    shared, registers, threads = (facts.get(name, 0) for name in ("shared", "registers", "threads"))
    if device.shared_of_a_block and shared > device.shared_of_a_block:
        yield f"shared memory: {shared} bytes, a block of {device.name} has {device.shared_of_a_block}"
    if registers > device.registers_of_a_thread:
        yield f"registers: {registers} of {device.registers_of_a_thread}"
    if device.registers and registers * threads > device.registers:
        yield f"registers: {threads} threads of {registers} are {threads * registers} of {device.registers}"
    held = facts.get("blocks_at_once")
    if held is not None and threads:
        warps = held * -(-threads // WARP)
        if not held:
            yield f"occupancy: no block fits ({registers} registers, {threads} threads, {shared} bytes)"
        elif warps < SCHEDULERS:
            blocks = f"{held} block{'s' if held > 1 else ''} of {threads} threads"
            idle = f"{SCHEDULERS - warps} of {SCHEDULERS} schedulers idle"
            yield f"occupancy: {warps} warps per SM ({blocks}): {idle}"
    if facts.get("spilled"):
        yield f"spills: {facts['spilled']} bytes of registers moved to memory and back, with {registers} registers"


def _digest(code: str) -> str:
    """Of PTX without its comments and names of files, which differ where nothing else does."""
    lines = (line.split("//")[0].strip() for line in code.splitlines())
    kept = (line for line in lines if line and not line.startswith((".file", ".loc", "#", ".ident")))
    return hashlib.sha256("\n".join(kept).encode()).hexdigest()


Doing = Callable[[str], None]
TWIN = "same as"
_LIMITS = ("TT0511", "TT0620")
"""Codes of what the compiler itself refuses because no block of the device could have it."""


class Preparation:
    """Of the configurations of one table for one device."""

    def __init__(self, contract: Contract, inputs: list[Any], device: Device, table: Table, doing: Doing) -> None:
        self.contract, self.inputs, self.device, self.table, self.doing = contract, inputs, device, table, doing
        self.executor: Executor | None = None

    def rules(self) -> None:
        """What needs no compilation comes first, for all of them."""
        rule = self.contract.config_problems
        for number in self.table.left() if rule is not None else ():
            config = self.table.configs[number]
            found = list(rule(config, self.device)) if rule is not None else []
            if found:
                self.table.put(Row(number, config, "pruned", "; ".join(found), foreseen=True))

    def candidates(self) -> list[int]:
        """Those that no rule leaves out: the same whenever they are asked for."""
        rows = self.table.rows
        return [n for n in range(len(self.table.configs)) if n not in rows or not rows[n].foreseen]

    def foreseen_without_proof(self) -> list[int]:
        """Those that a rule leaves out, and of which the assembler was not asked."""
        return [n for n, row in sorted(self.table.rows.items()) if row.foreseen and "proof" not in row.facts]

    def compile(self, numbers: Iterable[int]) -> None:
        """Compile those at the same time, and look for equal code."""
        if self.contract.job is None:
            return
        jobs = {}
        for number in numbers:
            try:
                jobs[number] = self.contract.job(self.table.configs[number], *self.inputs)
            except Exception as error:  # of one configuration
                self._refused(number, error, 0.0)
        order = {id(job): number for number, job in jobs.items()}

        def told(done: Compilation, so_far: int, of_all: int) -> None:
            self.doing(f"compiling: {so_far} of {of_all}")
            self._compiled(order[id(done.job)], done)

        if jobs:
            self.doing(f"compiling {len(jobs)} configurations")
            compile_many(list(jobs.values()), self.executor, progress=told)
            self._find_twins()

    def twin(self, number: int) -> int:
        """The configuration that is measured for it: itself, or the one that has the same code."""
        return int(self.table.rows[number].facts.get(TWIN, number)) if number in self.table.rows else number

    def _compiled(self, number: int, done: Compilation) -> None:
        try:
            facts = facts_of(done.result(), self.device)
        except Exception as error:  # of one configuration
            self._refused(number, error, done.cpu_seconds)
            return
        found = list(static_problems(facts, self.device))
        row = Row(number, self.table.configs[number], "compiled", "compiled", cpu_seconds=done.cpu_seconds, facts=facts)
        self._keep(replace(row, state="pruned", reason="; ".join(found)) if found else row)

    def _refused(self, number: int, error: Exception, seconds: float) -> None:
        """The compiler has its own word for what no block of a device can have; everything else is a failure."""
        is_limit = isinstance(error, TriptychError) and error.code in _LIMITS
        state, config = ("pruned" if is_limit else "failed"), self.table.configs[number]
        self._keep(Row(number, config, state, failure(error), cpu_seconds=seconds))  # type: ignore[arg-type]

    def _keep(self, row: Row) -> None:
        """A row, or what the assembler says of one that a rule has left out."""
        before = self.table.rows.get(row.number)
        if before is None or not before.foreseen:
            self.table.put(row)
            return
        proof = row.reason if row.state != "compiled" else f"nothing wrong: {facts_text(row.facts)}"
        self.table.put(replace(before, cpu_seconds=row.cpu_seconds, facts={**row.facts, "proof": proof}))

    def _find_twins(self) -> None:
        seen: dict[str, int] = {}
        for number, row in sorted(self.table.rows.items(), key=lambda pair: (pair[1].state != "measured", pair[0])):
            code = row.facts.get("digest", "")
            if row.state not in ("compiled", "measured") or not code:
                continue
            if code in seen and row.state == "compiled":
                same = f"the same code as #{seen[code]}: {code[:12]}"
                self.table.put(replace(row, state="equal", reason=same, facts={**row.facts, TWIN: seen[code]}))
            seen.setdefault(code, number)


MEASURING = "measuring #"
_HOPELESS = 3.0
"""A configuration whose best sample is so many times the best of all gets no more of them."""


class Measuring:
    """Of the configurations of one table, on this host."""

    def __init__(self, preparation: Preparation, seconds: float, doing: Doing) -> None:
        self.preparation, self.seconds, self.doing = preparation, seconds, doing
        self.contract: Contract = preparation.contract
        self.table = preparation.table
        self._inputs: list[Any] = preparation.inputs
        self._calls: dict[int, Hot] = {}
        self._clock = HostClock()

    def search(self, search: Search) -> None:
        """Ask, compile what was asked for, sample, tell; until nothing is asked for."""
        while trials := search.ask():
            numbers = [trial.number for trial in trials]
            self.preparation.compile(number for number in numbers if number not in self.table.rows)
            self._sample([Trial(self.preparation.twin(number), samples) for number, samples in trials])
            for trial in trials:
                search.tell(trial.number, self._known(trial))

    def final(self, finalists: Sequence[int]) -> int | None:
        """In turns, the best so far against each other; the winner is verified, a wrong one is a failure."""
        left = list(dict.fromkeys(self.preparation.twin(number) for number in finalists))
        winner = self._best_of(left)
        while winner is not None:
            wrong = self._wrong(winner)
            if not wrong:
                return winner
            self.table.put(replace(self.table.rows[winner], state="failed", reason=f"wrong result: {wrong}"))
            measured = [number for number, row in self.table.rows.items() if row.state == "measured"]
            winner = min(measured, key=lambda number: self.table.rows[number].best, default=None)
        return None

    def _known(self, trial: Trial) -> list[float] | None:
        row = self.table.rows[self.preparation.twin(trial.number)]
        return (row.seconds[: trial.samples] if trial.samples else row.seconds) if row.state == "measured" else None

    def _sample(self, trials: Sequence[Trial]) -> None:
        wanted: dict[int, int] = {}
        for number, samples in trials:
            row = self.table.rows.get(number)
            if row is not None and row.state not in ("compiled", "measured"):
                continue
            have = len(row.seconds) if row is not None else 0
            if not have or samples > have:
                wanted[number] = samples - have if samples else 0
        for number in [number for number in wanted if not self._starts(number)]:
            del wanted[number]
        for number in [number for number, samples in wanted.items() if not samples]:
            self._figure(number)
        turns = [number for number, samples in wanted.items() for _ in range(samples)]
        random.Random(len(turns)).shuffle(turns)
        best = min((min(row.seconds) for row in self.table.rows.values() if row.seconds), default=float("inf"))
        for number in turns:
            known = self.table.rows[number].seconds
            if known and min(known) > _HOPELESS * best:
                continue
            self.doing(f"{MEASURING}{number}")
            self._calls[number]()  # the last was another's: what this one needs is in no cache
            once = self._clock.seconds(self._calls[number], 1)
            self.table.add_samples(number, [once])
            best = min(best, once)

    def _starts(self, number: int) -> bool:
        """Call it once, which compiles it if nothing has."""
        self.doing(f"{MEASURING}{number}")
        if number not in self.table.rows:
            self.table.put(Row(number, self.table.configs[number], "compiled", "compiled when it is called"))
        try:
            self._call(number)
        except Exception as error:  # of one configuration
            self.table.put(replace(self.table.rows[number], state="failed", reason=failure(error)))
            return False
        return True

    def _figure(self, number: int) -> None:
        warm_up(self._calls[number], self.seconds / 4)
        self.table.add_samples(number, figure(self._calls[number], self._clock, self.seconds).samples)

    def _call(self, number: int) -> Hot:
        if number not in self._calls:
            configured = self.contract.configured
            assert configured is not None, "a contract that is tuned has configurations"
            call = Hot(self.contract, configured(self.table.configs[number]), self._inputs)
            call()
            self._calls[number] = call
        return self._calls[number]

    def _best_of(self, ranked: Sequence[int]) -> int | None:
        best = ranked[0] if ranked else None
        for number in ranked[1:]:
            self.doing(f"{MEASURING}{number}")
            assert best is not None, "the first of the ranked is the best so far"
            sides = self._call(best), self._call(number)
            if in_turns(*sides, self._clock, self.seconds).ratio.estimate < 0:
                best = number
        return best

    def _wrong(self, number: int) -> str:
        """What is wrong with its result."""
        self.doing(f"{MEASURING}{number}")
        call, kept = self._call(number), mapped(self._inputs, clone)
        call()
        return (check_again(self.contract, kept, call.outputs(), None) or [""])[0]
