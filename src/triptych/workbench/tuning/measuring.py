"""Samples of configurations in turns, finalists against each other, and the winner verified.

Every sample is in the table before the next is taken: what was measured is never measured again.
"""

from __future__ import annotations

import random
from collections.abc import Sequence
from dataclasses import replace
from typing import Any

from triptych.cute.tuning.rows import Row, failure
from triptych.cute.tuning.search import Search, Trial
from triptych.workbench.arrays import clone, mapped
from triptych.workbench.contracts.contract import Contract
from triptych.workbench.measurement.calls import Hot
from triptych.workbench.measurement.clocks import HostClock
from triptych.workbench.measurement.sampling import figure, in_turns, warm_up
from triptych.workbench.tuning.preparing import Doing, Preparation
from triptych.workbench.verification.verifying import check_again

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
            assert configured is not None
            call = Hot(self.contract, configured(self.table.configs[number]), self._inputs)
            call()
            self._calls[number] = call
        return self._calls[number]

    def _best_of(self, ranked: Sequence[int]) -> int | None:
        best = ranked[0] if ranked else None
        for number in ranked[1:]:
            self.doing(f"{MEASURING}{number}")
            assert best is not None
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
