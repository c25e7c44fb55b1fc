"""Verification of a kernel: runs it as users would and as cheats would not like, and says what it found.

The kernel always runs before the reference, so that no memory has the answer in it. `main(__name__)` at the end of a
kernel file verifies it when the file is run.
"""

from __future__ import annotations

import sys
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import asdict, field, replace
from pathlib import Path
from typing import Any

import numpy as np

from triptych.support.dataclass import dataclass
from triptych.support.tracebacks import in_one_line
from triptych.workbench.arrays import Array, arrays_in, clone, digest, mapped, overwrite, values_of
from triptych.workbench.contracts.contract import BENCH, Contract, Tolerance
from triptych.workbench.contracts.loading import contract_of
from triptych.workbench.verification.comparison import NARROW_SLACK, SLACK, Expected, expect, numbers_of, problems_of
from triptych.workbench.verification.findings import Reason, Verification, text_of
from triptych.workbench.verification.plausibility import (
    Doubts,
    Inputs,
    Leftovers,
    Returned,
    accepted_by,
    is_large,
    sizes_of,
    spoil_freed_memory,
    type_problem,
)

SEEDS = 3
_LATER_CALLS = 6
"""Further calls before a result is looked at once more: state that drifts shows."""
_OTHERS = 6
"""Other inputs that are asked before few numbers are called a proof of nothing."""


@dataclass(frozen=True, slots=True)
class VerifyOptions:
    """As the command line says it."""

    tolerance: Tolerance | None = None
    cases: Sequence[str] = ()
    seeds: int = SEEDS
    allow_weak: bool = False
    device: str = "cpu"
    doing: Callable[[str], None] = field(default=lambda _: None)
    """Told what is under way, so that a crash has a place."""


def verify(contract: Contract, options: VerifyOptions | None = None) -> Verification:
    """Everything that can be found out about a kernel here."""
    options = options or VerifyOptions()
    started = time.perf_counter()
    found = begin(contract, options)
    if found.verdict == "skipped":
        return found
    chosen = {name: case for name, case in contract.cases.items() if not options.cases or name in options.cases}
    doubts = Doubts()
    for name, case in chosen.items():
        for seed in found.seeds:
            _Round(contract, options, found, name, case, seed, doubts).run()
    odd = _odd_extents(contract)
    if odd and not options.cases and found.verdict != "fail":
        _Round(contract, options, found, "odd extents", odd, 0, doubts, may_refuse=True).run()
    for text, case_name in doubts.accepted():
        found.add("weak", text, case_name)
    found.seconds = time.perf_counter() - started
    return found


def begin(contract: Contract, options: VerifyOptions) -> Verification:
    """A verification of which nothing is known yet but whether the kernel can run here."""
    found = Verification(str(contract.file), contract.name)
    found.allow_weak = options.allow_weak
    found.seeds = list(range(options.seeds))
    found.bound = _in_words(contract, options.tolerance)
    if contract.requires and contract.requires != options.device:
        found.add("requires", f"needs {contract.requires}, and this machine has {options.device}: not run")
    return found


def check_again(contract: Contract, inputs: Sequence[Any], outputs: list[Any], given: Tolerance | None) -> list[str]:
    """What is wrong with the outputs of a call that was timed; `inputs` as they were before it."""
    own = contract.run(contract.reference, mapped(inputs, clone))
    if len(own) != len(outputs):
        return [f"{len(outputs)} results, the reference has {len(own)}"]
    expected = expect(contract, inputs, own, given, outputs)
    pairs = zip(outputs, expected, strict=True)
    return [text for i, (output, one) in enumerate(pairs) for _, text in problems_of(output, one, f"output {i}")]


@dataclass(slots=True)
class _Round:
    """One case with one seed."""

    contract: Contract
    options: VerifyOptions
    found: Verification
    name: str
    case: Mapping[str, Any]
    seed: int
    doubts: Doubts
    may_refuse: bool = False

    def run(self) -> None:
        contract, place = self.contract, f"{self.name}, seed {self.seed}"
        self.options.doing(f"get_inputs ({place})")
        try:
            inputs = contract.inputs(self.seed, self.case)
        except Exception as error:
            if not self.may_refuse:
                raise
            self._say("refused", f"get_inputs takes no odd extents: {in_one_line(error)}")
            return
        self.options.doing(f"kernel_fn ({place})")
        held, again, leftovers = mapped(inputs, clone), mapped(inputs, clone), Leftovers()
        spoil_freed_memory(sizes_of(inputs))
        first = self._call(held)
        if first is None:
            return
        late = first.changes_later()
        spoil_freed_memory(sizes_of(first.copies))
        second = self._call(again)
        if second is None:
            return
        self.options.doing(f"reference_fn ({place})")
        expected = self._expected(inputs, first.outputs)
        if expected is None:
            return
        self._judge(first, second, late, expected, inputs)
        for problem in leftovers.problems():
            self._say(*problem)
        if self.found.verdict != "fail":
            self._same_memory_new_values(held, first)
        if self.found.verdict != "fail":
            self._doubt(expected)

    def _call(self, inputs: list[Any]) -> Returned | None:
        watched = Inputs(inputs, self.contract.mutates)
        try:
            returned = Returned(self.contract.run(self.contract.kernel, inputs))
        except Exception as error:
            if self.may_refuse:
                self._say("refused", f"the kernel refuses the extents {dict(self.case)}: {in_one_line(error)}")
            else:
                self._say("raised", f"the kernel raised {in_one_line(error)}")
            return None
        for position in watched.changed():
            self._say("input changed", f"the kernel changed input {position}, which is not in MUTATES")
        return returned

    def _expected(self, inputs: Sequence[Any], outputs: list[Any]) -> list[Expected] | None:
        contract = self.contract
        own = contract.run(contract.reference, mapped(inputs, clone))
        if len(own) != len(outputs):
            self._say("outputs", f"the kernel gives {len(outputs)} results, the reference {len(own)}")
            return None
        for output, one in zip(outputs, own, strict=True):
            problem = type_problem(output, one)
            if problem:
                self._say("type", problem)
                return None
        return expect(contract, inputs, own, self.options.tolerance, outputs)

    def _judge(
        self, first: Returned, second: Returned, late: list[int], expected: list[Expected], inputs: list[Any]
    ) -> None:
        for position in late:
            self._say("late", f"output {position} changed after the call had returned: the work was not done")
        at_first, later = (list(self._problems(call.copies, expected)) for call in (first, second))
        if at_first and not later and not late:
            self._say("first call", f"wrong at the first call, right at the second: {at_first[0][1]}")
        elif later and not at_first and second.changes_later():
            self._say("late", "the result of the second call changed after it had returned: the work was not done")
        elif later and not at_first:
            reason: Reason = "unwritten" if later[0][0] == "unwritten" else "state"
            self._say(reason, f"right at the first call, wrong at the second: {later[0][1]}")
        elif not late:
            for problem in at_first:
                self._say(*problem)
        if self.found.verdict == "fail":
            return
        self.found.worst(self.name, [numbers_of(out, one, i) for i, (out, one) in _counted(first.copies, expected)])
        if first.digests != second.digests:
            self._say("not deterministic", "two calls with equal inputs gave different bits, both within the bound")
        self._ask_the_file(first, expected, inputs)

    def _problems(self, outputs: list[Array], expected: list[Expected]) -> Iterator[tuple[Reason, str]]:
        for i, (output, one) in _counted(outputs, expected):
            yield from problems_of(output, one, f"output {i}" if len(outputs) > 1 else "output")

    def _ask_the_file(self, first: Returned, expected: list[Expected], inputs: list[Any]) -> None:
        if self.contract.check is None:
            return
        try:
            answer = self.contract.check(first.copies, [one.own for one in expected], mapped(inputs, clone))
        except AssertionError as error:
            answer = str(error) or "an assertion of it failed"
        if answer is False or (isinstance(answer, str) and answer):
            self._say("check", f"the file's own check says: {answer}")

    def _same_memory_new_values(self, held: list[Any], first: Returned) -> None:
        """The memory of the first call with the values of another seed, a few times, and the result of the last."""
        contract = self.contract
        other = contract.inputs(self.seed + 1_000_003, self.case)
        for target, source in zip(arrays_in(held), arrays_in(other), strict=True):
            overwrite(target, source)
        spoil_freed_memory(sizes_of(first.copies))
        call = self._call(held)
        for _ in range(_LATER_CALLS if call is not None and not contract.mutates else 0):
            call = self._call(held)
        if call is None:
            return
        own = contract.run(contract.reference, mapped(other, clone))
        expected = expect(contract, other, own, self.options.tolerance, call.copies)
        problems = list(self._problems(call.copies, expected))
        if not problems:
            return
        if call.digests == first.digests and [digest(array) for array in own] != first.digests:
            self._say("cached", "the same memory with new values gave the old result: it is remembered, not computed")
        else:
            self._say("state", f"right at first, wrong for new values in the same memory: {problems[0][1]}")

    def _doubt(self, expected: list[Expected]) -> None:
        """What is no result must fail. Few numbers may agree by chance: then those of other inputs are asked."""
        contract, seed = self.contract, self.seed + 2_000_003
        inputs = contract.inputs(seed, self.case)
        others: list[np.ndarray | None] = [values_of(array) for array in contract.expected_exactly(inputs)]
        turns = _OTHERS
        if [digest(array) for array in arrays_in(inputs)] == [
            digest(array) for array in arrays_in(contract.inputs(self.seed, self.case))
        ]:
            others, turns = [None] * len(expected), 0
            self._say("note", "get_inputs gives the same values for every seed: only one set was tried")
        accepted = [set(accepted_by(one, wrong)) for one, wrong in zip(expected, others, strict=True)]
        for turn in range(turns):
            doubtful = [i for i, names in enumerate(accepted) if names and not is_large(expected[i])]
            if not doubtful:
                break
            inputs = contract.inputs(seed + turn, self.case)
            own = contract.run(contract.reference, mapped(inputs, clone))
            again = expect(contract, inputs, own, self.options.tolerance, own)
            for i in doubtful:
                accepted[i] &= set(accepted_by(again[i], expected[i].exact))
        for i, one in enumerate(expected):
            self.doubts.tried(i, one, accepted[i], self.name)

    def _say(self, reason: Reason, text: str) -> None:
        self.found.add(reason, text, self.name, self.seed)


def _counted(outputs: list[Array], expected: list[Expected]) -> Iterator[tuple[int, tuple[Array, Expected]]]:
    return enumerate(zip(outputs, expected, strict=True))


def _odd_extents(contract: Contract) -> dict[str, int]:
    """Each extent that `get_inputs` takes, made odd; nothing if all are."""
    sizes = contract.sizes()
    odd = {name: size - 1 if size % 2 == 0 and size > 1 else size for name, size in sizes.items()}
    return odd if odd != sizes else {}


def _in_words(contract: Contract, given: Tolerance | None) -> str:
    tolerance = given or contract.tolerance
    if given is None and contract.error_bound is not None:
        return "the file's error_bound"
    if tolerance is not None:
        return f"rtol {tolerance.rtol:g}, atol {tolerance.atol:g}"
    return f"{SLACK:g} x ({NARROW_SLACK:g} x below 32 bits) the reference's own distance from float64, plus one ulp"


def main(name: str, seeds: int = 1) -> None:
    """Verify the module of that name if it is the script, and end with an exit code."""
    if name != "__main__":
        return
    module = sys.modules[name]
    contract = contract_of(Path(str(module.__file__)), module)
    small = [case for case, parameters in contract.cases.items() if not parameters.get(BENCH)]
    if small:  # what is for measuring is large; `triptych verify` has time for it
        contract = replace(contract, cases={case: contract.cases[case] for case in small})
    found = verify(contract, VerifyOptions(seeds=seeds))
    print(text_of({**asdict(found), "verdict": found.verdict, "file": Path(found.file).name}))
    raise SystemExit(found.verdict not in ("pass", "skipped"))
