"""Verification findings with their reason, numbers of each output, and the verdict."""

from __future__ import annotations

from dataclasses import field
from typing import Any, Literal, TypeAlias

from triptych.support.dataclass import dataclass
from triptych.workbench.units import ulps_text

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


def text_of(found: dict[str, Any]) -> str:
    """What a person reads."""
    seeds = len(found["seeds"])
    lines = [f"{found['verdict'].upper()}  {found['file']}  ({found['kernel']}, {seeds} seed{'s' * (seeds != 1)})"]
    lines += [f"  checkers: {found['checked']}: nothing found"] if found.get("checked") else []
    lines += [f"  bound: {found['bound']}"] if found["bound"] else []
    for case, outputs in found["numbers"].items():
        for one in outputs:
            shape = " x ".join(map(str, one["shape"])) or "scalar"
            lines.append(
                f"  {case}: output {one['output']} {one['dtype']} {shape}: error {one['absolute']:.3g}, relative "
                f"{one['relative']:.3g}, {ulps_text(one['ulps'])}, {one['of_bound']:.2f} of the bound"
            )
    for finding in found["findings"]:
        seed = f", seed {finding['seed']}" if finding["seed"] is not None else ""
        place = f" ({finding['case']}{seed})" if finding["case"] else ""
        if "\n" in finding["text"]:
            lines += [f"  {finding['reason']}{place}:", *(f"    {line}" for line in finding["text"].splitlines())]
            continue
        lines.append(f"  {finding['reason']}: {finding['text']}{place}")
    return "\n".join([*lines, f"  {found['seconds']:.1f} s"])
