"""What public attention programs do beside copies and products: nested places of tiles, flags of inlined functions."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

import triptych as tt
from triptych import cute
from triptych.cute.runtime import from_dlpack
from triptych.cutlass_dsl import extract_mlir_values, new_from_mlir_values
from triptych.utils import WorkTileInfo


class Problem:
    """An argument that a program takes apart and puts together itself."""

    def __init__(self, shape: Any) -> None:
        self.shape = shape

    def __extract_mlir_values__(self) -> list[Any]:
        values: list[Any] = extract_mlir_values(self.shape)
        return values

    def __new_from_mlir_values__(self, values: Sequence[Any]) -> Problem:
        return Problem(new_from_mlir_values(self.shape, values))


class Program:
    @cute.jit
    def step(self, scaled: bool, number: tt.Int32) -> tt.Int32:
        found = number
        if tt.const_expr(scaled):
            found = 2 * number
        return found

    @cute.kernel
    def kernel(self, out: cute.Tensor, problem: Problem) -> None:
        work = WorkTileInfo((problem.shape[0], None, (problem.shape[1], 7)), out.shape[0] > 3)
        while work.is_valid_tile:
            out[0], out[1] = work.tile_idx[0], work.tile_idx[2][0]
            out[2] = self.step(True, work.tile_idx[2][1])
            out[3] = self.step(False, work.tile_idx[2][1])
            assert work.tile_idx[1] is None
            work = WorkTileInfo((1, None, (2, 3)), False)

    @cute.jit
    def __call__(self, out: cute.Tensor) -> None:
        self.kernel(out, Problem((out.shape[0] + 1, out.shape[0] + 2))).launch(grid=1, block=1)


def test_nested_places_and_flags() -> None:
    out = np.zeros(4, np.int32)
    Program()(from_dlpack(out).mark_layout_dynamic())
    assert out.tolist() == [5, 6, 14, 7]
