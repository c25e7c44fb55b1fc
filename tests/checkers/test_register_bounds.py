"""Run-time coordinates outside register tensors are told by `bounds` at their line, those inside are not.

All faults are branches of one kernel, so that it is compiled once: `case` chooses the branch, `n` is right or wrong.
"""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import triptych as tt
from triptych import cute
from triptych.diagnostics.runtime_errors import OutOfBoundsError
from triptych.support.config import override

ADD = cute.ReductionOp.ADD


@cute.jit
def faults(x: cute.Tensor, out: cute.Tensor, t: tt.Int32, case: tt.Int32, n: tt.Int32) -> None:
    row = cute.make_rmem_tensor(4, tt.Float32)
    tile = cute.make_rmem_tensor((4, 4), tt.Float32)
    padded = cute.make_rmem_tensor(cute.make_layout((4, 2), stride=(1, 8)), tt.Float32)
    bits = cute.make_rmem_tensor(7, tt.Int4)
    same = cute.make_rmem_tensor(cute.make_layout((4, 2), stride=(1, 0)), tt.Float32)
    four = cute.make_tensor(x.iterator, cute.make_layout(4))
    row.fill(1.0)
    tile.fill(1.0)
    padded.fill(1.0)
    bits.fill(1)
    same.fill(1.0)
    out[t] = 1.0
    if case == 0:
        out[t] = row[n]  # case 0
    elif case == 1:
        row[n] = 1.0  # case 1
    elif case == 2:
        row[3 - n] = 1.0  # case 2
    elif case == 3:
        out[t] = tile[n, 1]  # case 3
    elif case == 4:
        out[t] = tile[None, 0][n]  # case 4
    elif case == 5:
        tile[n + 12] = 1.0  # case 5
    elif case == 6:
        out[t] = padded[n, 0]  # case 6
    elif case == 7:
        bits[n + 3] = 1  # case 7
    elif case == 8:
        out[t] = tile[None, n].load().reduce(ADD, 0.0, 0) / 4.0  # case 8
    elif case == 9:
        tile[n, None].store(row.load())  # case 9
    elif case == 10:
        cute.autovec_copy(four, tile[None, n])  # case 10
    elif case == 11:
        part = tile[n, None]
        out[t] = part[0]  # case 11
    elif case == 12:
        out[t] = tile.load()[n, 0]  # case 12
    elif case == 13:
        out[t] = cute.local_tile(tile, (1, 2), (n, 0))[0]  # case 13
    elif case == 14:
        for i in range(n + 1):
            row[i] = 1.0  # case 14
    elif case == 15:
        turn = tt.Int32(0)
        while turn <= n:
            row[turn] = 1.0  # case 15
            turn += 1
    elif case == 16:
        if t == 5:
            row[n] = 1.0  # case 16
    elif case == 17:
        out[t] = cute.make_tensor(row.iterator + n, cute.make_layout(4))[0]  # case 17
    elif case == 18:
        padded[None, n - 2].fill(1.0)  # case 18
    elif case == 19:
        out[t] = cute.recast_tensor(row, tt.Int32)[n].to(tt.Float32) / 1065353216.0  # case 19
    # What follows is right whatever `n` is.
    elif case == 20:
        if n < 4:
            row[n] = 1.0
    elif case == 21:
        away = tile[n, None]
        if n < 4:
            out[t] = away[3]
    elif case == 22:
        out[t] = same[1, n]
    elif case == 23:
        if t < 4:
            row[t] = 1.0
    elif case == 24:
        out[t] = tile[n]


@tt.kernel
def threads(x: cute.Tensor, out: cute.Tensor, case: tt.Int32, n: tt.Int32) -> None:
    t, _, _ = cute.arch.thread_idx()
    faults(x, out, t, case, n)


@tt.jit
def launched(x: cute.Tensor, out: cute.Tensor, case: tt.Int32, n: tt.Int32) -> None:
    threads(x, out, case, n).launch(grid=1, block=32)


@tt.jit
def on_the_host(x: cute.Tensor, out: cute.Tensor, case: tt.Int32, n: tt.Int32) -> None:
    faults(x, out, tt.Int32(5), case, n)


LINES = {
    int(line.split("# case ")[1]): number
    for number, line in enumerate(Path(__file__).read_text(encoding="utf-8").splitlines(), 1)
    if "  # case " in line and "split" not in line and "in line" not in line
}
ALWAYS_RIGHT = range(20, 25)


@pytest.fixture(scope="module", params=["launched", "on_the_host"])
def run(request: pytest.FixtureRequest) -> Iterator[Any]:
    """The kernel or the function on the host; a call gives what it has written for thread 5."""
    x, out = np.ones(64, np.float32), np.zeros(64, np.float32)
    function = {"launched": launched, "on_the_host": on_the_host}[request.param]
    with override(debug="bounds"):
        compiled = tt.compile(function, x, out, 0, 0)

        def called(case: int, n: int) -> float:
            out[:] = 0
            compiled(x, out, case, n)
            return float(out[5])

        yield called


@pytest.mark.parametrize("case", LINES)
def test_outside_is_reported_at_its_line(run: Any, case: int) -> None:
    with pytest.raises(OutOfBoundsError) as told:
        run(case, 4)
    assert told.value.span is not None
    assert told.value.span.line == LINES[case]


@pytest.mark.parametrize("case", LINES)
def test_inside_is_not_reported(run: Any, case: int) -> None:
    assert run(case, 3) == 1.0


@pytest.mark.parametrize("case", ALWAYS_RIGHT)
def test_what_no_active_lane_accesses_is_not_reported(run: Any, case: int) -> None:
    assert run(case, 3) == run(case, 4) == 1.0


def test_the_text_names_the_range(run: Any) -> None:
    with pytest.raises(OutOfBoundsError) as told:
        run(3, -1)
    text = told.value.text()
    assert "an index below 0 or above 3 in the shape (4,4)" in text
    assert "expected: an index from 0 to 3" in text
    assert "write: `if 0 <= i < 4:` around it" in text


def test_what_is_proven_inside_costs_nothing() -> None:
    @tt.jit
    def f(i: tt.Int32) -> Any:
        row = cute.make_rmem_tensor((4, 8), tt.Float32)
        row.fill(0.0)
        for j in tt.range_constexpr(8):
            row[j % 4, j] = 1.0
        return row[3, 7]

    with override(debug="bounds"):
        assert "cf.assert" not in tt.compile(f, 0).mlir
