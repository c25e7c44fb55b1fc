"""Resource usage of a kernel as data, which the store keeps with the code, and the warnings that follow from it."""

from __future__ import annotations

import warnings
from collections import defaultdict
from collections.abc import Iterator, Mapping
from dataclasses import asdict
from typing import Any, TypeAlias

from triptych.support.config import config
from triptych.support.dataclass import dataclass
from triptych.support.errors import PerformanceWarning
from triptych.support.serialization import from_dict_strict
from triptych.support.source import Span
from triptych.targets.nvptx.description.architectures import ARCHITECTURES
from triptych.targets.nvptx.report.resources import Resources


@dataclass(frozen=True, slots=True)
class Narrow:
    """Accesses of one line to one tensor that move less than an instruction could."""

    span: Span | None
    number: int
    what: str
    bits: int
    wanted: int
    """Bits that one instruction could move."""
    why: str
    certain: bool
    """Whether they could move at once, or the program says that they do; others may be far apart, or alone wanted."""

    @property
    def amount(self) -> str:
        return f"{self.number} {self.what} of {self.bits} bits instead of {self.wanted}"

    def __str__(self) -> str:
        return f"{self.amount}: {self.why}"


@dataclass(frozen=True, slots=True)
class Usage:
    """One kernel: its resources, its launch as far as it is known here, and what follows from both."""

    resources: Resources
    threads: int | None
    """Of a block; None when only the launch knows."""
    launch_shared: int | None
    """Bytes of shared memory that the launch adds; None when only it knows."""
    occupancy: Mapping[str, int]
    """By architecture, blocks that a multiprocessor holds at once; for others than the one that the code is for, with
    as many registers as there."""
    narrow: tuple[Narrow, ...]
    """Accesses to global memory that could be wider."""
    span: Span | None = None
    """Where the kernel is written."""

    @property
    def shared(self) -> int | None:
        """Bytes of shared memory of a block, whether code or launch asks for them; None when only the launch knows."""
        return None if self.launch_shared is None else self.resources.shared + self.launch_shared


def usage_facts(usages: Mapping[str, Usage]) -> list[dict[str, Any]]:
    """The kernels' usage as JSON has it."""
    return [asdict(usage) for usage in usages.values()]


def usage_from(facts: list[Mapping[str, Any]]) -> dict[str, Usage]:
    """The kernels' usage, by name; KeyError for facts that lack something."""
    found = [_usage(each) for each in facts]
    return {usage.resources.kernel: usage for usage in found}


def _usage(values: Mapping[str, Any]) -> Usage:
    narrow = tuple(from_dict_strict(Narrow, {**each, "span": _span(each["span"])}) for each in values["narrow"])
    resources = values["resources"]
    parts = {
        "resources": from_dict_strict(Resources, {**resources, "remarks": tuple(resources["remarks"])}),
        "occupancy": {name: values["occupancy"][name] for name in ARCHITECTURES if name in values["occupancy"]},
        "narrow": narrow,
        "span": _span(values["span"]),
    }
    return from_dict_strict(Usage, {**values, **parts})


def _span(values: Mapping[str, Any] | None) -> Span | None:
    return None if values is None else from_dict_strict(Span, values)


# Warnings, at the line of the program, of what makes a kernel slow on a GPU: registers that do not suffice, neighbours
# in memory that are moved one by one, and asynchronous instructions that wait for one another.
#
# Only what can be changed is warned of; `triptych show --stage resources` lists more. The setting
# `performance_warnings` switches all of them off.

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
