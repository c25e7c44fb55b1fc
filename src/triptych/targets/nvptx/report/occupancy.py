"""Occupancy report: what each kernel takes of a GPU and how many of its blocks fit, for people and for tools.

Input: the traced kernels and the assembler's report. Output: one `Usage` for each kernel.
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass

from triptych.ir.handles import Module, Operation
from triptych.ir.launch import launches
from triptych.ir.location import place_of
from triptych.kernel_ir.dialects.kernel_operations import constant_of, known_block
from triptych.support.source import Span
from triptych.targets.nvptx.analysis.kernels import kernels
from triptych.targets.nvptx.description.architectures import ARCHITECTURES
from triptych.targets.nvptx.report.coalescing import narrow_accesses
from triptych.targets.nvptx.report.resources import Resources, occupancy
from triptych.targets.nvptx.report.usage import Narrow, Usage


@dataclass(frozen=True, slots=True)
class Described:
    """A kernel as the traced module tells of it: fields of `Usage` that are known before there is any code."""

    span: Span | None
    threads: int | None
    launch_shared: int | None
    narrow: tuple[Narrow, ...]


def described(module: Module) -> dict[str, Described]:
    """The kernels of a traced module by their names."""
    bytes_of = {launch.kernel: constant_of(launch.shared_bytes) for launch in launches(module)}
    found: dict[str, Described] = {}
    for kernel in kernels(module):
        name = kernel.attributes["sym_name"].value
        found[name] = Described(place_of(kernel), _threads(kernel), bytes_of.get(name), narrow_accesses(kernel))
    return found


def usages(kernels: Mapping[str, Described], resources: Mapping[str, Resources]) -> dict[str, Usage]:
    """The kernels by their names, with what the assembler says of them."""
    return {
        name: Usage(
            resources[name],
            kernel.threads,
            kernel.launch_shared,
            _occupancies(resources[name], kernel.threads, kernel.launch_shared),
            kernel.narrow,
            kernel.span,
        )
        for name, kernel in kernels.items()
        if name in resources
    }


def usage_table(found: Mapping[str, Usage]) -> str:
    """The kernels as rows, then what could be better, with its line."""
    heads = ("kernel", "arch", "registers", "shared", "stack", "spilled", "barriers", "threads", "blocks at once")
    rows = [heads, *(_row(usage) for usage in found.values())]
    widths = [max(map(len, column)) for column in zip(*rows, strict=True)]
    lines = ["  ".join(cell.ljust(width) for cell, width in zip(row, widths, strict=True)).rstrip() for row in rows]
    for usage in found.values():
        others = ", ".join(f"{name} {blocks}" for name, blocks in usage.occupancy.items())
        lines += [f"{usage.resources.kernel}: blocks at once by architecture: {others}"] if others else []
        lines += [f"{_where(narrow.span)}: {narrow}" for narrow in usage.narrow]
    return "\n".join(lines)


def _where(span: Span | None) -> str:
    return f"{span.file}:{span.line}" if span else "?"


def _row(usage: Usage) -> tuple[str, ...]:
    used = usage.resources
    return (
        used.kernel,
        used.architecture,
        str(used.registers),
        "launch" if usage.shared is None else str(usage.shared),
        str(used.stack),
        str(used.spill_stores + used.spill_loads),
        str(used.barriers),
        "launch" if usage.threads is None else str(usage.threads),
        str(usage.occupancy.get(used.architecture, "launch")),
    )


def _occupancies(used: Resources, threads: int | None, shared: int | None) -> dict[str, int]:
    if threads is None or shared is None:
        return {}
    return {name: occupancy(used, each, threads, shared) for name, each in ARCHITECTURES.items()}


def _threads(kernel: Operation) -> int | None:
    block = known_block(kernel)
    return None if block is None else math.prod(block)
