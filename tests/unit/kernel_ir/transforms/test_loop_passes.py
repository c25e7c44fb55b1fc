"""What a program says of a loop reaches LLVM on both targets, and changes no result."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import triptych as tt
from tests.ir.traced import traced_ir
from triptych import cute


@tt.jit
def polynomial(n: tt.Int32, hints: tt.Constexpr[Any]) -> Any:
    total = 0
    for i in tt.range(n, **dict(hints)):
        total = total * 3 + i
    return total


@tt.jit
def builtin_polynomial(n: tt.Int32) -> Any:
    total = 0
    for i in range(n, unroll=2):  # type: ignore[call-overload]
        total = total * 3 + i
    return total


def in_python(n: int) -> int:
    total = 0
    for i in range(n):
        total = total * 3 + i
    return total


@pytest.mark.parametrize(
    ("hints", "metadata"),
    [
        ((), None),
        ((("unroll", 4),), '!"llvm.loop.unroll.count", i32 4'),
        ((("unroll", 1),), '!"llvm.loop.unroll.disable"'),
        ((("vectorize", True),), '!"llvm.loop.vectorize.enable"'),
        ((("prefetch_stages", 2),), None),
    ],
)
def test_a_hint_is_metadata_of_the_loop(hints: Any, metadata: str | None) -> None:
    assert [polynomial(n, hints) for n in range(9)] == [in_python(n) for n in range(9)]
    llvm = tt.compile(polynomial, 5, hints).llvm
    assert ("!llvm.loop" in llvm) == (metadata is not None)
    assert metadata is None or metadata in llvm


def test_the_builtin_takes_hints_too() -> None:
    assert [builtin_polynomial(n) for n in range(9)] == [in_python(n) for n in range(9)]
    assert '!"llvm.loop.unroll.count", i32 2' in tt.compile(builtin_polynomial, 5).llvm


@tt.kernel
def multiply_neighbours(x: cute.Tensor, n: tt.Int32) -> None:
    thread, _, _ = cute.arch.thread_idx()
    values = cute.make_rmem_tensor(8, tt.Float32)
    for i in tt.range(8, unroll_full=True):
        values[i] = x[i, thread]
    for _ in tt.range(n, unroll=4):
        for i in range(8, unroll_full=True):  # type: ignore[call-overload]
            values[i] = values[i] * values[(i + 1) % 8]
    for i in tt.range(8, unroll_full=True):
        x[i, thread] = values[i]


@tt.jit
def neighbours(x: cute.Tensor, n: tt.Int32) -> None:
    multiply_neighbours(x, n).launch(grid=1, block=32)


def test_an_unrolled_loop_leaves_registers_as_they_are() -> None:
    x = np.ones((8, 32), np.float32)
    assert traced_ir(neighbours, x, 3).count("scf.for") == 1
    ptx = tt.compile(neighbours, x, 3, target="nvptx:sm_80").__ptx__
    assert ptx.count("mul.rn.f32") + ptx.count("mul.f32") == 8 * 4 + 8, "four turns in a row, and one for the rest"
    assert ".local" not in ptx


def test_kernels_compute_the_same_with_hints() -> None:
    x = np.random.default_rng(0).uniform(0.9, 1.1, (8, 32)).astype(np.float32)
    expected = x.copy()
    for _ in range(5):
        for i in range(8):
            expected[i] *= expected[(i + 1) % 8]
    neighbours(x, 5)
    np.testing.assert_array_equal(x, expected)
