"""The law of mbarriers: drawn sequences of operations leave every barrier as a model of a few lines says."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from hypothesis import given
from hypothesis import strategies as st

import triptych as tt
from tests.support.examples import examples
from triptych import cute
from triptych.cute.arch.mbarriers import barrier_address
from triptych.cute.tracing.device import bits32, device_trace
from triptych.kernel_ir.dialects import simt

LANES, BARRIERS = 32, 2
INIT, ARRIVE, EXPECT, ARRIVE_EXPECT, COMPLETE = range(5)


@dataclass
class Model:
    """What the instructions' description says, as it is written there."""

    expected: int
    phase: int = 0
    tx: int = 0

    def __post_init__(self) -> None:
        self.pending = self.expected

    def does(self, kind: int, amount: int) -> None:
        self.tx += {EXPECT: amount, ARRIVE_EXPECT: amount, COMPLETE: -amount}.get(kind, 0)
        self.pending -= kind in (ARRIVE, ARRIVE_EXPECT)
        if kind != EXPECT and self.pending == 0 and self.tx == 0:
            self.phase, self.pending = self.phase + 1, self.expected


def complete(pointer: Any, amount: Any) -> None:
    device_trace().operation(simt.MBARRIER_COMPLETE, (barrier_address(pointer), bits32(amount)))


@tt.kernel
def interpret(steps: cute.Tensor, count: tt.Int32, out: cute.Tensor) -> None:
    """Each step: an operation, the barrier (2: lanes take turns), its amount, and the lanes that execute it."""
    barriers = cute.arch.alloc_smem(tt.Int64, BARRIERS)
    lane = cute.arch.lane_idx()
    for i in range(count):
        kind, which, amount, lanes = steps[i, 0], steps[i, 1], steps[i, 2], steps[i, 3]
        mine = barriers + (lane & 1 if which == BARRIERS else which)
        one = barriers + (0 if which == BARRIERS else which)
        if lane < lanes:
            if kind == INIT:
                cute.arch.mbarrier_init(mine, amount)
            if kind == ARRIVE:
                if which == BARRIERS:
                    cute.arch.mbarrier_arrive(mine)
                else:
                    cute.arch.mbarrier_arrive(one)
            if kind == EXPECT:
                cute.arch.mbarrier_expect_tx(mine, amount)
            if kind == ARRIVE_EXPECT:
                cute.arch.mbarrier_arrive_and_expect_tx(one, amount)
            if kind == COMPLETE:
                complete(mine, amount)
        for each in tt.range_constexpr(BARRIERS):
            for parity in tt.range_constexpr(2):
                out[i, each, parity] = tt.Int32(cute.arch.mbarrier_try_wait(barriers + each, parity))


@tt.jit
def interpreted(steps: cute.Tensor, count: tt.Int32, out: cute.Tensor) -> None:
    interpret(steps, count, out).launch(grid=1, block=LANES)


def draw(data: st.DataObject, counts: list[int], length: int) -> tuple[list[list[int]], list[list[list[int]]]]:
    """Steps that are legal from where the barriers are, and what both parities say after each."""
    models = [Model(count) for count in counts]
    steps = [[INIT, which, count, 1] for which, count in enumerate(counts)]
    said = [[[0, 1]] * BARRIERS] * len(steps)
    # What the second barrier says before it is initialised is nobody's business.
    for _ in range(length):
        kind = data.draw(st.sampled_from([ARRIVE, EXPECT, ARRIVE_EXPECT, COMPLETE]))
        which = data.draw(st.integers(0, BARRIERS - 1 if kind == ARRIVE_EXPECT else BARRIERS))
        touched = [0, 1] if which == BARRIERS else [which]
        most = min(models[each].pending for each in touched) * len(touched) if kind in (ARRIVE, ARRIVE_EXPECT) else 4
        lanes = data.draw(st.integers(0, min(LANES, most)))
        amount = data.draw(st.sampled_from([0, 16, 48, 64]))
        steps.append([kind, which, amount, lanes])
        for lane in range(lanes):
            models[lane & 1 if which == BARRIERS else which].does(kind, amount)
        said.append([[int(model.phase & 1 != parity) for parity in range(2)] for model in models])
    return steps, said


@given(st.data())
@examples(40)
def test_barriers_do_what_the_model_does(data: st.DataObject) -> None:
    counts = [data.draw(st.sampled_from([1, 2, 5, 32])) for _ in range(BARRIERS)]
    steps, said = draw(data, counts, data.draw(st.integers(1, 40)))
    out = np.full((64, BARRIERS, 2), -1, np.int32)
    table = np.zeros((64, 4), np.int32)
    table[: len(steps)] = steps
    interpreted(table, len(steps), out)
    assert out[BARRIERS : len(steps)].tolist() == said[BARRIERS:]
