"""Warnings, at the line of the program, of what makes a kernel slow on a GPU: registers that do not suffice, and
neighbours in memory that are moved one by one.

Only what can be changed is warned of; `triptych show --stage resources` lists more. The setting `performance_warnings`
switches all of them off.
"""

from __future__ import annotations

import warnings
from collections import defaultdict
from collections.abc import Iterator, Mapping, Sequence
from typing import Any, TypeAlias

from triptych.ir.handles import Module, Operation
from triptych.ir.location import place_of
from triptych.support.config import config
from triptych.support.source import Span
from triptych.support.warnings import PerformanceWarning
from triptych.targets.nvptx.analysis.kernels import kernels
from triptych.targets.nvptx.report.coalescing import narrow_accesses
from triptych.targets.nvptx.report.resources import Resources

_shown: dict[str, dict[Any, Any]] = defaultdict(dict)
"""By file, what Python keeps for each module: one text is shown once for a line."""


Remark: TypeAlias = tuple[Span | None, str, str]
"""Where, what, and why."""


def narrow_remarks(module: Module) -> list[Remark]:
    """What the kernels of a traced module move in pieces: known before there is any code."""
    if not config().performance_warnings:
        return []
    return [
        (narrow.span, narrow.amount, narrow.why)
        for kernel in kernels(module)
        for narrow in narrow_accesses(kernel)
        if narrow.certain
    ]


def warn_of_slow_code(module: Module, resources: Mapping[str, Resources], narrow: Sequence[Remark]) -> None:
    """Warn of the kernels of a traced module, given what the assembler says of them."""
    if not config().performance_warnings:
        return
    lines: dict[tuple[str, int], dict[str, dict[str, None]]] = defaultdict(lambda: defaultdict(dict))
    spills = [remark for kernel in kernels(module) for remark in _spills(kernel, resources)]
    for span, what, why in (*spills, *narrow):
        place = span or Span(__file__, 1, 0)
        lines[place.file, place.line][why][what] = None
    for (file, line), reasons in lines.items():
        text = "; ".join(f"{' and '.join(what)}: {why}" for why, what in reasons.items())
        warnings.warn_explicit(text, PerformanceWarning, file, line, registry=_shown[file])


def _spills(kernel: Operation, resources: Mapping[str, Resources]) -> Iterator[Remark]:
    used = resources.get(kernel.attributes["sym_name"].value)
    if used is not None and (used.spill_stores or used.spill_loads):
        yield (
            place_of(kernel),
            f"{used.kernel} needs more than {used.registers} registers, all that a thread has on {used.architecture}",
            f"{used.spill_stores} bytes go to local memory and {used.spill_loads} come back",
        )
