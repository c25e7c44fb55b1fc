"""Attention against float64 over shapes: weights and results are rounded once to the type of the tensors."""

from __future__ import annotations

from typing import Any

import ml_dtypes
import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.differential.seeded_runs import DRAWN
from tests.support.error_bounds import within
from tests.support.example_kernels import example
from tests.support.examples import examples

attention: Any = example("flash_attention")

PROGRAMS = [
    (np.float16, 32, False, 32),
    (np.float16, 64, True, 64),
    (ml_dtypes.bfloat16, 32, True, 32),
]
"""Type, dim, causal, keys of a tile."""
lengths = st.one_of(st.integers(1, 20), st.integers(60, 70), st.integers(100, 200))


def attended(shape: tuple[int, int, int, int], keys: int, program: tuple[Any, int, bool, int]) -> None:
    dtype, _, causal, tile = program
    q, k, v = attention.sample(shape, keys, dtype)
    o = np.full(shape, np.nan, dtype)
    attention.attention(*map(attention.tensor_of, (q, k, v, o)), causal, tile)
    within(o, attention.reference(q, k, v, causal), attention.bound(v))


@given(st.integers(1, 2), lengths, st.integers(1, 3), lengths, st.sampled_from(PROGRAMS))
@examples(40, DRAWN)
def test_attention_for_any_shape(
    batch: int, length: int, heads: int, keys: int, program: tuple[Any, int, bool, int]
) -> None:
    attended((batch, length, heads, program[1]), keys, program)


@pytest.mark.parametrize("program", PROGRAMS[:2])
def test_a_large_score_takes_all_the_weight(program: tuple[Any, int, bool, int]) -> None:
    """Scores of some hundreds: exponentials of anything but differences would overflow."""
    dtype, dim, causal, tile = program
    rows = np.arange(96)
    q = np.zeros((1, 96, 1, dim), dtype)
    k, v = np.zeros_like(q), attention.sample((1, 96, 1, dim), 96, dtype)[2]
    q[0, rows, 0, 0] = k[0, rows, 0, 0] = 40 * np.where(rows % 7 == 0, 1, -1)
    o = np.full_like(q, np.nan)
    attention.attention(*map(attention.tensor_of, (q, k, v, o)), causal, tile)
    within(o, attention.reference(q, k, v, causal), attention.bound(v))
