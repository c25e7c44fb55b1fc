"""Laws of swizzled pointers: however an offset is written, an access goes to the swizzle of the plain address.

Pointers keep their offsets apart, and whole stretches out of the permutation; the oracle is the swizzle of Python ints.
"""

from __future__ import annotations

import itertools
from typing import Any

import numpy as np
import pytest

import triptych as tt
from tests.unit.cute.launched import run
from triptych import cute
from triptych.cute.memory.access import accessed
from triptych.cute.tracing.device import tracing
from triptych.metastage.values.scalars import Int64

THREADS = 256
STAGES = 3
BEFORE = 5
"""Bytes before the memory that is looked at, so that it does not begin at a multiple of anything."""
SWIZZLES = [
    cute.Swizzle(bits, base, sign * shift)
    for bits, base, shift, sign in itertools.product((1, 2), (0, 1, 3), (1, 2, 3), (1, -1))
    if shift >= bits
]


def place(pointer: Any, offset: int = 0) -> Any:
    """The address of an access to one byte."""
    address = accessed(pointer, offset, 1, 1, "bytes")
    return Int64.of(tracing().value("llvm.ptrtoint", (address,), "i64"), tracing().region)


@tt.kernel
def places(out: cute.Pointer, swizzle: tt.Constexpr[Any], whole: tt.Constexpr[int]) -> None:
    x, _, _ = cute.arch.thread_idx()
    smem = cute.SmemAllocator()
    start = smem.allocate(BEFORE)
    room = smem.allocate(THREADS + (STAGES + 1) * whole)
    found = cute.make_tensor(out, cute.make_layout((THREADS, 7)))
    plain = cute.make_tensor(room, cute.make_layout(1)).iterator
    pointer = cute.recast_ptr(plain, swizzle)
    stage = x % STAGES
    found[x, 0] = place(pointer + x) - start.byte_address()
    found[x, 1] = place(pointer + (x + 7)) - start.byte_address()
    found[x, 2] = place((pointer + 7) + x, whole) - start.byte_address()
    found[x, 3] = place((pointer + stage * whole) + x, 3) - start.byte_address()
    found[x, 4] = place(cute.recast_ptr(plain + (stage * whole + x), swizzle)) - start.byte_address()
    moving = pointer + x
    for _ in range(stage):
        moving = moving + whole
    found[x, 5] = place(moving, 2 * whole + 1) - start.byte_address()
    found[x, 6] = (pointer + (x + whole)).byte_address() - start.byte_address()


@pytest.mark.parametrize("swizzle", SWIZZLES, ids=str)
def test_an_access_goes_to_the_swizzle_of_the_plain_address(swizzle: cute.Swizzle) -> None:
    whole = 1 << (swizzle.base + abs(swizzle.shift) + swizzle.bits)
    out = np.zeros((7, THREADS), np.int64)
    run(places, [out], swizzle, whole, block=THREADS)
    for x in range(THREADS):
        stage = x % STAGES * whole
        plain = [x, x + 7, x + 7 + whole, x + stage + 3, x + stage, x + stage + 2 * whole + 1]
        expected = [swizzle(BEFORE + offset) for offset in plain]
        assert [*out[:6, x]] == expected
        assert out[6, x] == BEFORE + x + whole
