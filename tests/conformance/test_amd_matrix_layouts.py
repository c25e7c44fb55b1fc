"""Layouts of AMD's matrix instructions, element by element as the vendor's public calculator tells them."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from triptych.kernel_ir.dialects.wave_mma import WAVE_MMAS
from triptych.layout import Layout, size

TOLD: dict[str, Any] = json.loads(Path(__file__).with_name("amd_matrix_layouts.json").read_text())


def table(tv: Layout, threads: int) -> list[int]:
    """The number of each value of each lane."""
    values = size(tv, [1])
    assert isinstance(values, int)
    numbers = [tv((lane, value)) for lane in range(threads) for value in range(values)]
    return [number for number in numbers if isinstance(number, int)]


@pytest.mark.parametrize("operand", [1, 2, 3], ids="ABD")
@pytest.mark.parametrize("name", TOLD["instructions"])
def test_a_layout_is_that_of_the_calculator(name: str, operand: int) -> None:
    entry = WAVE_MMAS[name]
    tv = (entry.tv_a, entry.tv_b, entry.tv_c)[operand - 1]
    assert table(tv, entry.threads) == TOLD["tables"][TOLD["instructions"][name][operand]]


def test_each_rule_is_told_of_by_an_instruction() -> None:
    """The calculator does not know gfx950: its instructions go by the rule of those that it does know."""
    told = {(WAVE_MMAS[name].family, WAVE_MMAS[name].accumulator) for name in TOLD["instructions"]}
    assert told == {(each.family, each.accumulator) for each in WAVE_MMAS.values()}
    assert all(
        "gfx950" in each.chips or "u8" in each.name for name, each in WAVE_MMAS.items() if name not in told_names()
    )


def told_names() -> frozenset[str]:
    return frozenset(TOLD["instructions"])


@pytest.mark.parametrize("name", WAVE_MMAS)
def test_every_element_has_a_lane(name: str) -> None:
    """Those of the sums exactly one."""
    entry = WAVE_MMAS[name]
    m, n, k = entry.shape_mnk
    assert sorted(table(entry.tv_c, entry.threads)) == list(range(m * n))
    for tv, rows in ((entry.tv_a, m), (entry.tv_b, n)):
        assert set(table(tv, entry.threads)) == set(range(rows * k))
