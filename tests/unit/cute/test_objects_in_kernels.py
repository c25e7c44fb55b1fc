"""Objects of a kernel whose methods change them in run-time loops."""

from __future__ import annotations

from typing import Any

import numpy as np

import triptych as tt
from triptych import cute


class Phase:
    """A bit that a method flips, and how often it has."""

    def __init__(self, start: Any) -> None:
        self.bit = tt.Uint32(start)
        self.flips = 0

    @cute.jit
    def flip(self) -> None:
        if self.bit == 1:
            self.flips += 1
        self.bit = self.bit ^ 1


@cute.kernel
def phases(out: cute.Tensor, n: tt.Int32) -> None:
    thread, _, _ = cute.arch.thread_idx()
    phase = Phase(thread % 2)
    for _ in range(n + thread):
        room = cute.arch.alloc_smem(tt.Int32, 256)
        phase.flip()
        cute.make_tensor(room, cute.make_layout(256))[thread] = phase.flips
    out[thread] = phase.bit.to(tt.Int32) * 100 + phase.flips


@cute.jit
def run(out: cute.Tensor, n: tt.Int32) -> None:
    phases(out, n).launch(grid=1, block=8, smem=1024)


def test_method_changes_its_object_in_a_loop_of_a_kernel() -> None:
    """The launch has room for one array: that of the trace that was dropped takes none."""
    out = np.zeros(8, np.int32)
    run(out, 3)
    expected = []
    for thread in range(8):
        bit, flips = thread % 2, 0
        for _ in range(3 + thread):
            flips, bit = flips + bit, bit ^ 1
        expected.append(bit * 100 + flips)
    assert out.tolist() == expected
