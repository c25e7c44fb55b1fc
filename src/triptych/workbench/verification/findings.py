"""Verification findings with their reason, numbers of each output, and the verdict."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Literal, TypeAlias

Reason: TypeAlias = Literal[
    "checker",  # a checker found something, or the checked build ended with an exception
    "raised",  # the kernel, or the file's own check, ended with an exception
    "outputs",  # more or fewer results than the reference has
    "type",  # a result of a class that may still compute, or hide, its numbers
    "shape",
    "dtype",
    "device",
    "nan",  # NaN or infinity where the reference has none, or the other way round
    "unwritten",  # memory that nobody wrote, taken for a result
    "numbers",  # further from float64 than the bound
    "first call",  # wrong at first, right later
    "state",  # right at first, wrong later
    "cached",  # the same memory with new values gave the old result
    "input changed",
    "late",  # the result changed after the call had returned
    "left behind",  # a thread or a process still lives
    "check",  # the file's own `check` refuses it
    "weak",  # the tolerance accepts what is not a result
    "not deterministic",
    "refused",  # the kernel does not take a case; no wrong result
    "requires",
    "note",
]
NOTES: frozenset[Reason] = frozenset({"not deterministic", "refused", "note", "requires"})
Verdict: TypeAlias = Literal["pass", "fail", "weak", "skipped"]


@dataclass(frozen=True, slots=True)
class Finding:
    """One thing that was found, in a sentence."""

    reason: Reason
    text: str
    case: str = ""
    seed: int | None = None


@dataclass(frozen=True, slots=True)
class Numbers:
    """How far one output is from float64, at its worst element."""

    output: int
    dtype: str
    shape: tuple[int, ...]
    absolute: float
    relative: float
    ulps: float
    of_bound: float
    """The error as a part of what is allowed: 1.0 is the limit."""


@dataclass(slots=True)
class Verification:
    """All of it."""

    file: str
    kernel: str = ""
    findings: list[Finding] = field(default_factory=list)
    numbers: dict[str, list[Numbers]] = field(default_factory=dict)
    """The worst of all seeds, by case."""
    seeds: list[int] = field(default_factory=list)
    bound: str = ""
    seconds: float = 0.0
    allow_weak: bool = False

    @property
    def verdict(self) -> Verdict:
        """Of all findings together."""
        reasons = {finding.reason for finding in self.findings}
        if "requires" in reasons:
            return "skipped"
        if reasons - NOTES - {"weak"}:
            return "fail"
        return "weak" if "weak" in reasons and not self.allow_weak else "pass"

    @property
    def reasons(self) -> list[Reason]:
        """Why it is refused, each once."""
        return list(dict.fromkeys(finding.reason for finding in self.findings if finding.reason not in NOTES))

    def add(self, reason: Reason, text: str, case: str = "", seed: int | None = None) -> None:
        """Say something, once."""
        finding = Finding(reason, text, case, seed)
        if not any((found.reason, found.text) == (reason, text) for found in self.findings):
            self.findings.append(finding)

    def worst(self, case: str, numbers: list[Numbers]) -> None:
        """Keep the worst numbers of a case."""
        before = self.numbers.get(case)
        self.numbers[case] = (
            numbers
            if before is None
            else [max(pair, key=lambda one: one.of_bound) for pair in zip(before, numbers, strict=True)]
        )
