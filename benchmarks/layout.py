"""What the layout algebra costs, as multiples of a loop of 1,000 calls of `len`, which runs on the same interpreter.

python -m benchmarks.layout [--json]
"""

from __future__ import annotations

import sys
import time
from collections.abc import Callable, Sequence

from benchmarks.rows import Row, run
from triptych.layout import (
    Layout,
    coalesce,
    complement,
    composition,
    logical_divide,
    logical_product,
    make_layout,
    make_ordered_layout,
    right_inverse,
)

THOUSAND = ((),) * 1000
ROUNDS, REPEATS = 200, 10
BAR = 0.8
"""Multiples of the loop: 25 µs where the loop takes 31 µs."""
MANY, MORE = 16, 64
GROWTH_BAR = 8.0
"""Four times the modes in at most eight times the time; sixteen would be quadratic."""


def seconds(function: Callable[[], object]) -> float:
    """One call, from a round of them."""
    start = time.perf_counter()
    for _ in range(REPEATS):
        function()
    return (time.perf_counter() - start) / REPEATS


def medians(functions: Sequence[Callable[[], object]]) -> list[float]:
    """The median of each, measured in turns, so that other work on the machine hits all alike."""
    times = [sorted(column) for column in zip(*([seconds(f) for f in functions] for _ in range(ROUNDS)), strict=True)]
    return [column[ROUNDS // 2] for column in times]


def loop() -> int:
    """The unit."""
    return sum(len(item) for item in THOUSAND)


def cases() -> dict[str, tuple[Callable[[], object], float | None]]:
    """Operations on static layouts with three modes of two leaves each, and the bars of those that have one."""
    layout = Layout.parse("((4,8),(2,16),(8,2)):((1,64),(4,512),(8,8192))")
    block = Layout.parse("((2,4),(2,2),(4,2)):((1,16),(2,64),(4,128))")
    tiler = Layout.parse("((2,2),(3,2),(2,2)):((1,12),(2,24),(6,48))")
    right = Layout.parse("((2,2),(4,2),(8,2)):((1,2),(4,32),(64,512))")
    flat_tile = Layout.parse("64:1")
    tile = (Layout.parse("4:1"), Layout.parse("(2,4):(1,2)"), Layout.parse("8:1"))
    return {
        "composition": (lambda: composition(layout, right), BAR),
        "logical_divide by a layout": (lambda: logical_divide(layout, flat_tile), BAR),
        "logical_divide by three": (lambda: logical_divide(layout, tile), None),
        "logical_product": (lambda: logical_product(block, tiler), BAR),
        "complement": (lambda: complement(block, 4096), None),
        "right_inverse": (lambda: right_inverse(block), None),
        "coalesce": (lambda: coalesce(layout), None),
        "evaluate": (lambda: layout(1234), None),
    }


def growth(modes: int) -> dict[str, Callable[[], object]]:
    """Operations on layouts with many modes that do not coalesce."""
    rows = make_ordered_layout((2,) * modes, tuple(reversed(range(modes))))
    columns = make_layout((2,) * modes)
    return {
        "composition": lambda: composition(rows, columns),
        "logical_divide": lambda: logical_divide(rows, Layout(4, 1)),
        "logical_product": lambda: logical_product(rows, columns),
        "right_inverse": lambda: right_inverse(rows),
    }


def measure() -> Sequence[Row]:
    """Costs at three modes, then how they grow."""
    named = cases()
    unit, *costs = medians([loop, *(case for case, _ in named.values())])
    rows = [Row("the loop", unit * 1e6, "µs")]
    for (name, (_, bar)), cost in zip(named.items(), costs, strict=True):
        rows.append(Row(f"{name}: rank 3, depth 2", cost / unit, "loops", bar))
    few, many = growth(MANY), growth(MORE)
    costs = medians([*few.values(), *many.values()])
    for name, before, after in zip(few, costs, costs[len(few) :], strict=False):
        rows.append(Row(f"{name}: {MORE} modes against {MANY}", after / before, "times", GROWTH_BAR))
    return rows


if __name__ == "__main__":
    sys.exit(run(__doc__, measure))
