"""Registers that a kernel sees as numbers of several sizes have the bytes that memory would have."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import triptych as tt
from triptych import cute

WORDS, THREADS = 4, 40


@tt.kernel
def kernel(out: cute.Tensor, kind: tt.Constexpr[Any], rolled: tt.Constexpr[bool], wide: tt.Constexpr[bool]) -> None:
    thread, _, _ = cute.arch.thread_idx()
    words = cute.make_rmem_tensor(WORDS, tt.Int32)
    parts = cute.recast_tensor(words, kind)
    words.fill(thread * 16843009)
    count = cute.size(parts)
    if tt.const_expr(rolled):
        for i in tt.range(count):
            parts[i] = kind(thread + i)
    else:
        for i in tt.range_constexpr(count):
            if (thread + i) % 3 != 0:  # not all lanes store
                parts[i] = kind(thread + i)
    parts[(thread + 1) % count] = kind(thread)  # each lane elsewhere
    if tt.const_expr(wide):
        cute.make_tensor(out.iterator + thread * WORDS, cute.make_layout(WORDS)).store(words.load())
    else:
        for i in tt.range(WORDS):
            out[thread, i] = words[i]


@tt.jit
def run(out: cute.Tensor, kind: tt.Constexpr[Any], rolled: tt.Constexpr[bool], wide: tt.Constexpr[bool]) -> None:
    kernel(out, kind, rolled, wide).launch(grid=1, block=out.shape[0])


@pytest.mark.parametrize("wide", [False, True])
@pytest.mark.parametrize("rolled", [False, True])
@pytest.mark.parametrize("name", ["int8", "int16", "int32", "int64"])
def test_words(name: str, rolled: bool, wide: bool) -> None:
    out = np.zeros((THREADS, WORDS), np.int32)
    run(out, getattr(tt, name.capitalize()), rolled, wide)
    expected = np.repeat(np.arange(THREADS, dtype=np.int32)[:, None] * 16843009, WORDS, 1)
    parts = expected.view(name)
    for thread in range(THREADS):
        for i in range(parts.shape[1]):
            if rolled or (thread + i) % 3:
                parts[thread, i] = thread + i
        parts[thread, (thread + 1) % parts.shape[1]] = thread
    np.testing.assert_array_equal(out, expected)
