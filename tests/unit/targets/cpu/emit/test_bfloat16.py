"""BFloat16 rounding of thread vectors: bits as ml_dtypes has them, by one function for all elements."""

from __future__ import annotations

import ml_dtypes
import numpy as np
import pytest

import triptych as tt
from triptych import cute

THREADS, EACH = 64, 16
SPECIAL = [np.inf, -np.inf, np.nan, 0.0, -0.0, 1e-40, 3.4e38, 1.00390625, 1.01171875, -3.3961775e38]


@tt.kernel
def narrow(x: cute.Tensor, y: cute.Tensor, form: tt.Constexpr[str]) -> None:
    thread, _, _ = cute.arch.thread_idx()
    place = 0 if tt.const_expr(form == "uniform") else thread
    held = cute.local_tile(x, (EACH,), (place,)).load()
    if tt.const_expr(form == "copied"):
        registers = cute.make_rmem_tensor(cute.make_layout(EACH), tt.Float32)
        registers.store(held)
        held = registers.load()
    cute.local_tile(y, (EACH,), (thread,)).store(held.to(tt.BFloat16))


@tt.jit
def narrowed(x: cute.Tensor, y: cute.Tensor, form: tt.Constexpr[str]) -> None:
    narrow(x, y, form).launch(grid=1, block=THREADS)


@pytest.mark.parametrize("form", ["loaded", "copied", "uniform"])
def test_every_form_of_a_vector_is_rounded(form: str) -> None:
    bits = np.random.default_rng(7).integers(0, 2**32, THREADS * EACH, dtype=np.uint64).astype(np.uint32)
    x = bits.view(np.float32)
    x[: len(SPECIAL)] = SPECIAL
    x[np.isnan(x)] = np.nan  # NumPy warns of signalling ones
    y = np.zeros(x.size, ml_dtypes.bfloat16)
    compiled = tt.compile(narrowed, x, y, form)
    compiled(x, y)
    given = np.tile(x[:EACH], THREADS) if form == "uniform" else x
    expected = given.astype(ml_dtypes.bfloat16)
    numbers = ~np.isnan(given)
    assert np.array_equal(np.isnan(y.astype(np.float32)), ~numbers)
    assert np.array_equal(y.view(np.uint16)[numbers], expected.view(np.uint16)[numbers])
    assert compiled.llvm.count(f"call void @bfloat16.{EACH}x32") == (form == "loaded")
