"""What the PTX simulator counts is what `triptych.layout` computes, on every static layout that the guides show."""

from __future__ import annotations

import re
from collections.abc import Iterator
from functools import cache
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from triptych.layout import E, Layout, bank_conflicts, cosize, global_sectors, parse, size
from triptych.layout.errors import AccessError, LayoutError
from triptych.ptxsim.counting import Counting, Counts
from triptych.ptxsim.machine import Gpu, LoadedModule

GUIDES = Path(__file__).resolve().parents[2] / "docs" / "guides"
NOTATION = re.compile(r"(?:S<\d+,\d+,\d+> o \d+ o )?[\d(),]*\d\)*:\(*\d[\d(),]*")
MORE = ("S<5,0,5> o 0 o (32,32):(32,1)", "S<3,4,3> o 0 o (8,64):(64,1)", "S<2,3,3> o 0 o (16,32):(32,1)")
"""Swizzles that the guides make with functions, and those of 16-byte rows."""
ROOM = 65536
MOST = 64
TEXT = """
.version 8.0
.target sm_80
.shared .align 1024 .b8 room[65536];
.visible .entry test(.param .u64 table, .param .u64 tile)
{{
    .reg .b16 %h<10>;
    .reg .b32 %r<20>;
    .reg .b64 %d<10>;
    mov.u32 %r0, %tid.x;
    ld.param.u64 %d0, [table];
    ld.param.u64 %d1, [tile];
    mul.wide.u32 %d2, %r0, 4;
    add.s64 %d2, %d0, %d2;
    ld.global.u32 %r1, [%d2];
    cvt.u64.u32 %d3, %r1;
    add.s64 %d3, %d1, %d3;
    mov.u32 %r2, room;
    add.s32 %r2, %r2, %r1;
    ld.shared.{access}, [%r2];
    ld.global.{access}, [%d3];
    ret;
}}
"""
ACCESSES = {
    1: "u8 %h1",
    2: "u16 %h1",
    4: "u32 %r8",
    8: "v2.u32 {%r8, %r9}",
    16: "v4.u32 {%r8, %r9, %r10, %r11}",
}


def layouts() -> list[str]:
    """Every text of the guides that is a layout of known extents and has room."""
    texts = {text for page in GUIDES.glob("*.md") for text in NOTATION.findall(page.read_text(encoding="utf-8"))}
    return sorted({*MORE, *(found for text in texts for found in _readable(text))})


def _readable(text: str) -> Iterator[str]:
    for trimmed in (text, text.strip(","), text.strip(",")[:-1], text.strip(",")[1:], text.strip(",")[1:-1]):
        try:
            layout: Any = parse(trimmed)
            count: Any = size(layout)
        except LayoutError:
            continue
        if "(" in trimmed and count > 1 and int(str(cosize(layout))) * 8 <= ROOM:
            yield trimmed
            return


@cache
def machine(width: int) -> tuple[Counting, LoadedModule]:
    counting = Counting()
    gpu = Gpu(counting=counting)
    return counting, gpu.load(TEXT.format(access=ACCESSES[width]))


def counted(offsets: list[int], width: int) -> tuple[Counts, Counts]:
    """Of the access to shared and to global memory, by threads that each have an offset in bytes."""
    counting, loaded = machine(width)
    counting.launches.clear()
    table, tile = loaded.gpu.memory.allocate(4 * MOST), loaded.gpu.memory.allocate(ROOM)
    table.words(4)[0, : len(offsets)] = np.array(offsets, np.uint32)
    given = [room.base.to_bytes(8, "little") for room in (table, tile)]
    loaded.launch("test", (1, 1, 1), (len(offsets), 1, 1), 0, given)
    for room in (table, tile):
        loaded.gpu.memory.free(room.base)
    ((block,), kernel) = (counting.launches[0].blocks, counting.launches[0].kernel)
    places = [
        place for place, each in enumerate(kernel.instructions) if each.name == "ld" and "param" not in each.modifiers
    ]
    return block.counts[places[1]], block.counts[places[2]]


def accesses(layout: Any) -> Iterator[tuple[Any, int, int]]:
    """Layouts of threads, and of their elements: by elements, along each mode, and vectors of a row."""
    count: Any = size(layout)
    yield Layout(min(count, MOST), 1), 1, min(count, MOST)
    shape = layout.shape
    if isinstance(shape, tuple) and len(shape) == 2 and all(isinstance(extent, int) for extent in shape):
        rows, columns = min(shape[0], MOST), min(shape[1], MOST)
        yield Layout(rows, E(0)), 1, rows
        yield Layout(columns, E(1)), 1, columns
        for held in (2, 4):
            if columns >= held:
                yield Layout((rows, held), (E(0), E(1))), held, rows


def _offset(layout: Any, coordinate: Any) -> int:
    """Modes that an access does not move along stay at 0."""
    padded = (*coordinate, 0)[:2] if isinstance(coordinate, tuple) else coordinate
    return int(layout(padded))


@pytest.mark.parametrize("text", layouts())
def test_counts_are_those_of_the_layout(text: str) -> None:
    layout = parse(text)
    checked = 0
    for access, held, threads in accesses(layout):
        for bits in (8, 16, 32, 64) if held == 1 else (32,):
            width = held * bits // 8
            offsets = [_offset(layout, access(thread)) * bits // 8 for thread in range(threads)]
            if any(offset % width for offset in offsets):
                continue  # no instruction moves that
            try:
                banks = bank_conflicts(layout, access, bits=bits)
            except AccessError:
                continue  # elements that are not neighbours
            sectors = global_sectors(layout, access, bits=bits)
            near, far = counted(offsets, width)
            assert (near.wavefronts, near.fewest_wavefronts) == (banks.passes, banks.phases), (access, bits)
            assert near.conflicts == banks.passes - banks.phases
            assert (far.global_requests, far.sectors) == (sectors.requests, sectors.sectors), (access, bits)
            assert far.fewest_sectors == sectors.fewest
            checked += 1
    assert checked >= 4


def test_the_guides_have_layouts() -> None:
    found = layouts()
    assert len(found) > 35
    assert {"(32,32):(32,1)", "(32,32):(33,1)", "S<3,2,3> o 0 o (8,32):(32,1)"} <= {*found}
