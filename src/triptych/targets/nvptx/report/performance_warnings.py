"""Warnings, at the line of the program, of what makes a kernel slow on a GPU: registers that do not suffice, neighbours
in memory that are moved one by one, and asynchronous instructions that wait for one another.

Only what can be changed is warned of; `triptych show --stage resources` lists more. The setting `performance_warnings`
switches all of them off.
"""

from __future__ import annotations

import warnings
from collections import defaultdict
from collections.abc import Iterator, Mapping
from typing import Any, TypeAlias

from triptych.support.config import config
from triptych.support.errors import PerformanceWarning
from triptych.support.source import Span
from triptych.targets.nvptx.report.usage import Usage

_shown: dict[str, dict[Any, Any]] = defaultdict(dict)
"""By file, what Python keeps for each module: one text is shown once for a line."""

_REMEDIES = {"C7504": " (nvJitLink does; `pip install 'triptych[cuda-tools]'` brings ptxas, which honours it)"}
"""By the number of a remark, what to do."""

Remark: TypeAlias = tuple[Span | None, str, str]
"""Where, what, and why."""


def warn_of_slow_code(usages: Mapping[str, Usage]) -> None:
    """Warn of kernels that were compiled, here or by another process."""
    if not config().performance_warnings:
        return
    lines: dict[tuple[str, int], dict[str, dict[str, None]]] = defaultdict(lambda: defaultdict(dict))
    remarks = [remark for find in (_spills, _remarks, _narrow) for usage in usages.values() for remark in find(usage)]
    for span, what, why in remarks:
        place = span or Span(__file__, 1, 0)
        lines[place.file, place.line][why][what] = None
    for (file, line), reasons in lines.items():
        text = "; ".join(f"{' and '.join(what)}: {why}" for why, what in reasons.items())
        warnings.warn_explicit(text, PerformanceWarning, file, line, registry=_shown[file])


def _remarks(usage: Usage) -> Iterator[Remark]:
    for remark in usage.resources.remarks:
        remedy = _REMEDIES.get(remark.partition(" ")[0], "")
        yield usage.span, f"NVIDIA's assembler says of {usage.resources.kernel}", remark + remedy


def _narrow(usage: Usage) -> Iterator[Remark]:
    return ((narrow.span, narrow.amount, narrow.why) for narrow in usage.narrow if narrow.certain)


def _spills(usage: Usage) -> Iterator[Remark]:
    used = usage.resources
    if used.spill_stores or used.spill_loads:
        yield (
            usage.span,
            f"{used.kernel} needs more than {used.registers} registers, all that a thread has on {used.architecture}",
            f"{used.spill_stores} bytes go to local memory and {used.spill_loads} come back",
        )
