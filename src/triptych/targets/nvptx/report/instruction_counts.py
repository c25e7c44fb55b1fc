"""Instruction counts of SASS text: what kernels cost before anything has run them."""

from __future__ import annotations

import re
from collections import Counter

_FUNCTION = re.compile(r"^\.text\.(\S+):$")
_INSTRUCTION = re.compile(r"^\s*/\*[0-9a-f]{4,}\*/\s+(?:\{\s*)?(?:@!?U?P\w+\s+)?([A-Z][\w.]*)")


def instruction_counts(sass: str) -> dict[str, Counter[str]]:
    """For each function, how many there are of each instruction (`LDG.E.128`); NOPs, which pad it, are left out."""
    counts: dict[str, Counter[str]] = {}
    current: Counter[str] = Counter()
    for line in sass.splitlines():
        function = _FUNCTION.match(line)
        if function is not None:
            current = counts.setdefault(function[1], Counter())
        instruction = _INSTRUCTION.match(line)
        if instruction is not None and instruction[1] != "NOP":
            current[instruction[1]] += 1
    return counts
