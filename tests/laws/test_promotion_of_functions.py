"""Every function of two numbers promotes as `a + b` does, and chooses what Python chooses."""

from __future__ import annotations

from collections import Counter
from typing import Any

import triptych as tt
from tests.laws.promotion_cells import FUNCTIONS, REFUSED, cells

DRAWN = ("Boolean", "Int8", "Int32", "Uint32", "Int64", "Float16", "Float32")
"""`python -m benchmarks.type_tables` draws all."""


def test_pairs_of_types() -> None:
    found = cells(DRAWN)
    assert len(found) > 2000
    assert [cell for cell in found if not cell.is_right] == []
    right = Counter(cell.function for cell in found if cell.found != REFUSED)
    assert set(right) == {function.name for function in FUNCTIONS}


def test_values_are_python_s() -> None:
    numbers = (-70_000, -3, 2, 2.5, -0.25)
    kinds = (tt.Int32, tt.Float32)

    def own(number: Any) -> list[Any]:
        return [number.to(kind) for kind in kinds]

    @tt.jit
    def chosen(x: tt.Float64, y: tt.Float64) -> Any:
        results: Any = []
        for a in own(x):
            results += [min(a, 2.5), max(a, 2.5), min(a, 2.5, 7), max((a, 2.5), key=lambda v: v), max(2.5, a, 2)]
            for b in own(y):
                results += [min(a, b), max(a, b), sum((a, b))]
        return tuple([result.to(tt.Float64) for result in results])

    for x in numbers:
        for y in numbers:
            expected: list[float] = []
            for a in (int(x), x):
                expected += [min(a, 2.5), max(a, 2.5), min(a, 2.5, 7), max((a, 2.5), key=lambda v: v), max(2.5, a, 2)]
                for b in (int(y), y):
                    expected += [min(a, b), max(a, b), sum((a, b))]
            assert list(chosen(x, y)) == expected
