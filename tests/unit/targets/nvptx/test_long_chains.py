"""Long chains of arithmetic: what looks for facts in a kernel takes time by its length, and no stack."""

from __future__ import annotations

import numpy as np
import pytest

import triptych as tt
from tests.unit.targets.nvptx.tools import needs_assembler
from triptych import cute


@tt.kernel
def chained(out: cute.Tensor, n: tt.Int32, length: tt.Constexpr[int]) -> None:
    """Each step uses the one before twice: from the end there are more ways back than any loop could go."""
    thread = cute.arch.thread_idx()[0]
    of_all, own, address = n, thread, thread
    for i in tt.range_constexpr(length):
        of_all = of_all * 3 + (of_all ^ i)
        own = own * 3 + (own ^ i)
        address = address + address
    value = tt.Float32(thread)
    if of_all // 7 == 3:
        value = cute.arch.shuffle_sync_bfly(value, 1)
    out[(thread + (own & 1)) % of_all + address] = value


@tt.jit
def chain(out: cute.Tensor, n: tt.Int32, length: tt.Constexpr[int]) -> None:
    chained(out, n, length).launch(grid=1, block=32)


@needs_assembler
@pytest.mark.parametrize("length", [40, 300])
def test_a_chain_compiles(length: int) -> None:
    compiled = tt.compile(chain, np.zeros(64, np.float32), 3, length, target="nvptx:sm_80")
    assert "shfl.sync.bfly" in compiled.__ptx__
