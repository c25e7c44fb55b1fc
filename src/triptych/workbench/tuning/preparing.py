"""From a configuration to one that can be measured: rules, its compilation, the assembler's numbers, its twin.

Only what a search asks for is compiled. Each step ends in the table.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from concurrent.futures import Executor
from dataclasses import replace
from typing import Any

from triptych.cute.tuning.rows import Row, failure
from triptych.driver.compile_many import Compilation, compile_many
from triptych.support.errors import TriptychError
from triptych.workbench.contracts.contract import Contract
from triptych.workbench.devices.device import Device
from triptych.workbench.tuning.static_facts import facts_of, facts_text, static_problems
from triptych.workbench.tuning.table import Table

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
