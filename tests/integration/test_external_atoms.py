"""Atoms of somebody else: a matrix and a copy operation defined outside of the package run on both targets.

They are classes of this file alone. Nothing in Triptych names them; a new instruction of ours is added in the same way.
"""

from __future__ import annotations

from collections.abc import Callable
from contextlib import AbstractContextManager, nullcontext
from dataclasses import dataclass
from functools import partial
from typing import Any

import numpy as np
import pytest

import triptych as tt
from tests.support.ptx.unified import numpy_gpu
from tests.unit.targets.nvptx.tools import HAS_ASSEMBLER
from triptych import cute
from triptych.cute.copies.atoms import CopyAtom, CopyLayouts, CopyOperation
from triptych.cute.mma.atoms import MmaOperands, MmaOperation
from triptych.cute.tensors.tensor import Tensor
from triptych.layout import Layout

DEPTH = 4


@dataclass(frozen=True, slots=True)
class DotOp(MmaOperation):
    """A dot product of four numbers by one thread, last number first, as no operation of the package does it."""

    a_dtype: Any = tt.Float32
    b_dtype: Any = tt.Float32
    acc_dtype: Any = tt.Float32
    shape_mnk: Any = (1, 1, DEPTH)

    @property
    def threads(self) -> Layout:
        return Layout(1, 0)

    @property
    def tv_layout_A(self) -> Layout:
        return Layout((1, DEPTH), (0, 1))

    @property
    def tv_layout_B(self) -> Layout:
        return Layout((1, DEPTH), (0, 1))

    @property
    def tv_layout_C(self) -> Layout:
        return Layout((1, 1), (0, 0))

    def emit(self, product: MmaOperands) -> None:
        rows, columns, depth = product.tiles
        for m in range(rows):
            for n in range(columns):
                total = product.c.tensor[0, m, n]
                for k in range(depth):
                    for i in reversed(range(DEPTH)):
                        total = total + product.a.tensor[i, m, k] * product.b.tensor[i, n, k]
                product.d.tensor[0, m, n] = total


@dataclass(frozen=True, slots=True)
class ReversedCopyOp(CopyOperation):
    """Moves four elements and turns them around."""

    def layouts(self, dtype: Any, num_bits_per_copy: int) -> CopyLayouts:
        values = Layout((1, 4), (0, 1))
        return CopyLayouts(Layout(1, 0), values, values, values)

    def emit(self, atom: CopyAtom, src: Tensor, dst: Tensor, index: int) -> None:
        for i in range(4):
            dst[i, index] = src[3 - i, index]


@tt.kernel
def products(a: cute.Tensor, b: cute.Tensor, out: cute.Tensor) -> None:
    row, _, _ = cute.arch.thread_idx()
    mma = cute.make_tiled_mma(DotOp())
    left, right = mma.make_fragment_A((DEPTH, 1, 2)), mma.make_fragment_B((DEPTH, 3, 2))
    sums = mma.make_fragment_C((1, 1, 3))
    sums.fill(1.0)
    for k in range(2):
        for i in range(DEPTH):
            left[i, 0, k] = a[row, i + DEPTH * k]
            for n in range(3):
                right[i, n, k] = b[n, i + DEPTH * k]
    cute.gemm(mma, sums, left, right, sums)
    for n in range(3):
        out[row, n] = sums[0, 0, n]


@tt.jit
def multiply(a: cute.Tensor, b: cute.Tensor, out: cute.Tensor) -> None:
    products(a, b, out).launch(grid=1, block=32)


@tt.kernel
def turning(x: cute.Tensor, y: cute.Tensor) -> None:
    thread, _, _ = cute.arch.thread_idx()
    atom = cute.make_copy_atom(ReversedCopyOp(), tt.Int32)
    source, target = (cute.local_tile(tensor, (8, 1), (0, thread)) for tensor in (x, y))
    cute.copy(atom, source, target)


@tt.jit
def turn(x: cute.Tensor, y: cute.Tensor) -> None:
    turning(x, y).launch(grid=1, block=32)


MACHINES: dict[str, Callable[[], AbstractContextManager[Any]]] = {
    "cpu": nullcontext,
    **({name: partial(numpy_gpu, name) for name in ("sm_80", "sm_90a")} if HAS_ASSEMBLER else {}),
}
"""The CPU, and PTX on the emulator."""


@pytest.mark.parametrize("machine", MACHINES)
def test_a_matrix_operation_from_outside(machine: str) -> None:
    rng = np.random.default_rng(0)
    a = rng.integers(-4, 5, (32, 8)).astype(np.float32)
    b = rng.integers(-4, 5, (3, 8)).astype(np.float32)
    out = np.zeros((32, 3), np.float32)
    with MACHINES[machine]():
        multiply(a, b, out)
    assert (out == a @ b.T + 1).all()


@pytest.mark.parametrize("machine", MACHINES)
def test_a_copy_operation_from_outside(machine: str) -> None:
    x = np.arange(8 * 32, dtype=np.int32).reshape(8, 32)
    y = np.zeros_like(x)
    with MACHINES[machine]():
        turn(x, y)
    assert (y == np.concatenate([x[3::-1], x[7:3:-1]])).all()


def test_what_does_not_fit_is_refused_with_the_names_of_the_operation() -> None:
    @tt.kernel
    def wrong() -> None:
        mma = cute.make_tiled_mma(DotOp())
        fragment = mma.make_fragment_A((3, 1, 1))
        sums = mma.make_fragment_C((1, 1, 1))
        cute.gemm(mma, sums, fragment, fragment, sums)

    @tt.jit
    def host() -> None:
        wrong().launch(grid=1, block=32)

    with pytest.raises(tt.TriptychError, match="3 values"):
        host()
