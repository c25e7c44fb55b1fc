"""Where the registers of a fragment begin: all at once, whatever its layout."""

from __future__ import annotations

from types import SimpleNamespace
from typing import Any

import pytest

from triptych import Float16, Float32
from triptych.cute.tensors.register_arrays import register_offsets
from triptych.layout import Layout, make_layout, size

SUMS = make_layout(((2, 2, 32), 2, 1), stride=((1, 2, 4), 128, 0))
PAIRS = make_layout(((2, 2, 2), 1, 4), stride=((1, 2, 4), 0, 8))


def extents(layout: Layout) -> Any:
    return [size(layout, [mode]) for mode in range(3)]


def offsets(layout: Layout, dtype: Any) -> list[int]:
    tensor: Any = SimpleNamespace(pointer=SimpleNamespace(dtype=dtype), layout=layout)
    return register_offsets(tensor, 16, "MK", "A", extents(layout))


@pytest.mark.parametrize(("layout", "dtype", "together"), [(SUMS, Float32, 1), (PAIRS, Float16, 2)])
def test_offsets_are_indices_of_the_layout(layout: Layout, dtype: Any, together: int) -> None:
    values, rows, columns = extents(layout)
    expected = [
        16 + layout((value, row, column))
        for column in range(columns)
        for row in range(rows)
        for value in range(0, values, together)
    ]
    assert offsets(layout, dtype) == expected


def test_no_register_asks_the_layout(monkeypatch: pytest.MonkeyPatch) -> None:
    """A WGMMA names up to 256 registers, and a kernel has dozens of them."""
    asked: list[object] = []
    monkeypatch.setattr(Layout, "__call__", lambda _, coord: asked.append(coord))
    assert len(offsets(SUMS, Float32)) == 256
    assert not asked
