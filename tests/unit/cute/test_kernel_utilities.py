"""What programs ask before they launch: orders of matrices, sizes of shared memory, types by name."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

import triptych as tt
from triptych import cute, testing, utils
from triptych.cute.runtime import from_dlpack
from triptych.cute.tracing.errors import TensorShapeError
from triptych.targets.nvptx.description.architectures import ARCHITECTURES

ROW, COLUMN = utils.LayoutEnum.ROW_MAJOR, utils.LayoutEnum.COL_MAJOR
seen: list[Any] = []


@tt.jit
def look(x: cute.Tensor) -> None:
    seen.append(utils.LayoutEnum.from_tensor(x))


@pytest.mark.parametrize(
    ("array", "order"),
    [
        (np.zeros((3, 4), np.float32), ROW),
        (np.zeros((3, 4), np.float32, order="F"), COLUMN),
        (np.zeros((3, 4, 2), np.float32, order="F"), COLUMN),
        (np.zeros((2, 3, 4), np.float32).transpose(1, 2, 0), ROW),
    ],
)
def test_the_order_of_a_matrix(array: Any, order: utils.LayoutEnum) -> None:
    look(array)
    assert seen.pop() is order
    assert utils.LayoutEnum.from_tensor(from_dlpack(array)) is order


def test_a_matrix_of_neither_order() -> None:
    with pytest.raises(TensorShapeError, match="neither rows nor columns"):
        look(np.zeros((4, 6, 2), np.float32))


def test_an_order_names_the_contiguous_mode() -> None:
    for order, in_rows in ((ROW, True), (COLUMN, False)):
        assert [order.is_k_major_a(), order.is_k_major_b(), order.is_n_major_c()] == [in_rows] * 3
        assert [order.is_m_major_a(), order.is_n_major_b(), order.is_m_major_c()] == [not in_rows] * 3


@pytest.mark.parametrize("name", ARCHITECTURES)
def test_shared_memory_of_an_architecture(name: str) -> None:
    capacity = ARCHITECTURES[name].shared_of_a_block
    generation = name.removeprefix("sm_").rstrip("a")
    assert [utils.get_smem_capacity_in_bytes(text) for text in (name, f"sm_{generation}", generation)] == [capacity] * 3
    assert utils.get_smem_capacity_in_bytes() >= capacity


@pytest.mark.parametrize("name", ["sm_12", "80 ", "ampere", ""])
def test_an_unknown_architecture(name: str) -> None:
    with pytest.raises(ValueError, match="sm_80"):
        utils.get_smem_capacity_in_bytes(name)


def test_types_by_name() -> None:
    assert tt.dtype("Float16") is tt.Float16
    assert tt.dtype("Float8E4M3FN") is tt.Float8E4M3FN
    with pytest.raises(ValueError, match="'float16'; there are"):
        tt.dtype("float16")


def test_factors_of_eight_bits() -> None:
    assert [t for t in (tt.Float8E4M3FN, tt.Float8E5M2, tt.Int8, tt.Float16) if utils.is_fp8_dtype(t)] == [
        tt.Float8E4M3FN,
        tt.Float8E5M2,
    ]


def test_limits_of_types() -> None:
    assert (tt.Float32.inf, tt.Float16.neg_inf, tt.Float8E5M2.inf) == (np.inf, -np.inf, np.inf)
    assert (tt.Float64.zero, tt.Int8.zero) == (0.0, 0)
    assert not hasattr(tt.Float8E4M3FN, "inf")
    assert not hasattr(tt.Int32, "inf")


@given(st.integers(0, 1 << 34), st.integers(0, 50), st.integers(1, 500))
def test_sets_of_arguments_are_larger_than_caches(size: int, warmup: int, iterations: int) -> None:
    count = testing.get_workspace_count(size, warmup, iterations)
    assert 1 <= count <= warmup + iterations
    assert count == warmup + iterations or count * size > 3 * (64 << 20)
    assert count == 1 or (count - 1) * size <= 3 * (64 << 20)
