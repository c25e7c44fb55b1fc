"""Symbolizer of findings: what native code recorded becomes lines of the source, tensors, elements and coordinates."""

from __future__ import annotations

import ctypes
import json
import re
from collections.abc import Sequence
from dataclasses import replace
from math import prod
from typing import Any

from triptych.kernel_ir.dialects.tensor_memory import COLUMNS, LANES, WARP_LANES
from triptych.layout import Layout, idx2crd, parse, size
from triptych.sanitizer.findings import Example, Finding, Site
from triptych.sanitizer.pipeline_protocol import Place, Violation, ViolationKind
from triptych.support.source import Span
from triptych.targets.cpu.sanitizer import shadow_layout as at

_TENSOR = re.compile(r"a tensor (\S+) of (\w+)")
_VIOLATIONS = frozenset(ViolationKind)
_SITE_OF_KEY = 20
_KIND_OF_KEY = 40
_MOST_ELEMENTS = 1 << 16
"""Of a layout whose coordinates are tried one after the other."""


def _element(byte: int, parts: Sequence[Sequence[object]], element: int) -> tuple[str, Span | None]:
    """The element of `element` bytes that a byte of shared memory is in, and where its allocation was made."""
    for what, offset, extent, span in parts:
        begin = int(str(offset))
        if begin <= byte < begin + int(str(extent)):
            number = (byte - begin) // element
            return f"element {number}{_coordinate(str(what), number)} of {what}", _span(span)
    return "", None


def _lanes_of_column(cell: int, in_cluster: bool) -> tuple[str, None]:
    """A cell of tensor memory: a quarter of the lanes of a column."""
    column, quarter = divmod(cell, LANES // WARP_LANES)
    rank, column = divmod(column, COLUMNS)
    first = quarter * WARP_LANES
    where = f" of block {rank} of the cluster" if in_cluster else ""
    return f"lanes {first} to {first + WARP_LANES - 1} of column {column} of tensor memory{where}", None


def _span(facts: object) -> Span | None:
    return Span(**facts) if isinstance(facts, dict) else None


def _coordinate(what: str, number: int) -> str:
    """Where the layout of a tensor puts that element; nothing for what is no tensor with a plain layout."""
    found = _TENSOR.fullmatch(what)
    layout = parse(found[1]) if found else None
    if not isinstance(layout, Layout):
        return ""
    count = size(layout)
    if not isinstance(count, int) or count > _MOST_ELEMENTS:
        return ""
    place = next((i for i in range(count) if layout(i) == number), None)
    return "" if place is None else f" at {idx2crd(place, layout.shape)}"


class _Example(ctypes.Structure):
    _fields_ = [("block", ctypes.c_int32 * 3), ("first", ctypes.c_int32), ("second", ctypes.c_int32)]
    _fields_ += [("byte", ctypes.c_int32), ("epoch", ctypes.c_int32), ("other", ctypes.c_uint32)]


class RecordedFinding(ctypes.Structure):
    """A finding as native code keeps it."""

    _fields_ = [("key", ctypes.c_uint64), ("table", ctypes.c_uint64), ("count", ctypes.c_uint64)]
    _fields_ += [("examples", _Example * at.EXAMPLES), ("crossings", ctypes.c_uint64)]


def kind_of(entry: RecordedFinding) -> int:
    """The number of what was found."""
    return int(entry.key >> _KIND_OF_KEY)


def _before(entry: RecordedFinding) -> int:
    """The site of the earlier side; of a violation it may be another number."""
    return int(entry.key >> _SITE_OF_KEY) & 0xFFFFF


def protocol_violations(entries: Sequence[RecordedFinding]) -> list[Violation]:
    """What was done wrong with pipelines, by the calls."""
    return [_violation(entry) for entry in entries if kind_of(entry) in _VIOLATIONS]


def _violation(entry: RecordedFinding) -> Violation:
    facts = json.loads(ctypes.string_at(entry.table).decode())
    called = {number: _place(site) for number, site in enumerate(facts["sites"]) if "call" in site}
    what, stage = ViolationKind(kind_of(entry)), entry.examples[0].byte
    first, now = _before(entry), called[entry.key & 0xFFFFF]
    if what == ViolationKind.GROUP:
        before, stage = now, first
    elif what == ViolationKind.NOT_CLOSED:
        before = replace(now, name="", span=_site_span(facts["sites"][first]))
    else:
        before = called[first]
    return Violation(what, before, now, stage, facts["kernel"], tuple(called.values()))


def _place(site: dict[str, Any]) -> Place:
    return Place(**site["call"], span=_site_span(site))


def _site_span(site: dict[str, Any]) -> Span | None:
    return Span(**site["spans"][0]) if site["spans"] else None


def finding_of(entry: RecordedFinding, text: str) -> Finding:
    facts = json.loads(text)
    before, now = _before(entry), entry.key & 0xFFFFF
    sites = [_site(facts["sites"][number]) for number in (before, now)]
    element = int(facts["sites"][now]["bytes"]) or int(facts["sites"][before]["bytes"]) or 1
    facts, element = _of_registers(facts, facts["sites"][before], element)
    examples = [_example(each, facts, element) for each in entry.examples[: min(entry.count, at.EXAMPLES)]]
    held = facts["sites"][before].get("registers")
    return Finding(
        kind_of(entry),
        facts["kernel"],
        sites[0],
        sites[1],
        int(entry.count),
        tuple(examples),
        not entry.crossings,
        has_phases=facts["phases"],
        is_global=bool(facts["sites"][now]["global"]),
        block_threads=prod(facts["block"]) if facts["blocks"] > 1 else 0,
        variable=str(held["variable"]) if held else "",
        only_async=facts["only_async"],
        in_tensor_memory=bool(entry.examples[0].byte & at.IN_TENSOR_MEMORY) and not held,
    )


def _of_registers(facts: dict[str, Any], read: dict[str, Any], element: int) -> tuple[dict[str, Any], int]:
    """Where a read is one of registers, the only part is the tensor that it reads, and bytes are elements of it."""
    held = read.get("registers")
    if not held:
        return facts, element
    whole = [held["what"], 0, held["cells"], held["span"]]
    return {**facts, "parts": [whole]}, max(1, held["bytes"] // held["grain"])


def _site(facts: dict[str, object]) -> Site:
    spans = [Span(**each) for each in facts["spans"]]  # type: ignore[attr-defined]
    loops = tuple(int(each) for each in facts["loops"])  # type: ignore[attr-defined]
    pipelines = frozenset(int(each) for each in facts["pipelines"])  # type: ignore[attr-defined]
    size, number = int(str(facts["size"])), int(str(facts["number"]))
    return Site(tuple(spans), str(facts["verb"]), size, number, loops, pipelines)


def _example(found: _Example, facts: dict[str, Any], size: int) -> Example:
    part = _element(found.byte, facts["parts"], size)
    if found.byte & at.IN_TENSOR_MEMORY:
        part = _lanes_of_column(found.byte & ~at.IN_TENSOR_MEMORY, facts["blocks"] > 1)
    other = _other(found.other) if found.other else None
    return Example(tuple(found.block), found.first, found.second, found.byte, found.epoch, *part, other=other)


def _other(word: int) -> tuple[int, ...]:
    """The coordinates of the block of the other side; none where there are several."""
    return () if word == 1 else (word & 0xFFFF, (word >> 16) & 0xFF, (word >> 24) & 0x7F)
