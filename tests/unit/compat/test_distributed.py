"""Kernels on several GPUs: sums and stores by the switch between them, flags, ordered loads and stores."""

from __future__ import annotations

import re
from typing import Any

import numpy as np
import pytest

import triptych as tt
from tests.unit.targets.nvptx.tools import needs_assembler
from triptych import cute
from triptych.compat.mlir_builders.dialects import vector
from triptych.compat.utils import distributed
from triptych.cutlass_dsl import T
from triptych.metastage.trace.errors import OperandTypeError


@tt.kernel
def sum_kernel(x: cute.Tensor, dtype: tt.Constexpr[Any], count: tt.Constexpr[int]) -> None:
    place = x.iterator.align(16)
    words = distributed.multimem_ld_reduce(place, dtype=dtype, num_elements=count)
    distributed.multimem_st(place, *words)


@tt.jit
def sum_up(x: cute.Tensor, dtype: tt.Constexpr[Any], count: tt.Constexpr[int]) -> None:
    sum_kernel(x, dtype, count).launch(grid=1, block=32)


def ptx(function: Any, *arguments: object) -> str:
    return str(tt.compile(function, *arguments, target="nvptx:sm_100a").__ptx__)


@needs_assembler
@pytest.mark.parametrize(
    ("dtype", "count", "load", "store"),
    [
        (tt.Float32, 4, "add.v4.f32", "v4.f32"),
        (tt.Float16, 8, "add.acc::f32.v4.f16x2", "v4.f32"),
        (tt.BFloat16, 4, "add.acc::f32.v2.bf16x2", "v2.f32"),
        (tt.Float8E4M3FN, 16, "add.acc::f16.v4.e4m3x4", "v4.f32"),
        (tt.Float8E5M2, 4, "add.acc::f16.e5m2x4", "f32"),
    ],
)
def test_sums_of_all_gpus(dtype: Any, count: int, load: str, store: str) -> None:
    found = re.findall(r"multimem\.[\w.:]+", ptx(sum_up, np.zeros(16, np.float32), dtype, count))
    assert found == [f"multimem.ld_reduce.relaxed.sys.global.{load}", f"multimem.st.relaxed.sys.global.{store}"]


@pytest.mark.parametrize(("dtype", "count"), [(tt.Float64, 2), (tt.Float32, 3), (tt.Float16, 1), (tt.Float32, 8)])
def test_other_sums_are_refused(dtype: Any, count: int) -> None:
    with pytest.raises(OperandTypeError, match="no switch adds up such numbers"):
        sum_up(np.zeros(16, np.float32), dtype, count)


@pytest.mark.cpu
def test_one_computer_has_no_switch_between_gpus() -> None:
    with pytest.raises(tt.TriptychError, match="multimem"):
        sum_up(np.zeros(16, np.float32), tt.Float32, 4)


@tt.kernel
def ordered_kernel(x: cute.Tensor, flag: cute.Tensor) -> None:
    thread, _, _ = cute.arch.thread_idx()
    if thread == 32:
        x[0] = 7
        cute.arch.store(flag.iterator.llvm_ptr, tt.Int32(2), sem="release", scope="gpu")
    if thread == 0:
        distributed.spin_lock_ld_lt_relaxed_wait(flag.iterator, expected_val=2, scope="gpu")
        seen = cute.arch.load(flag.iterator, tt.Int32, sem="acquire", scope="sys")
        cute.arch.store(x.iterator + 1, cute.arch.load(x.iterator.llvm_ptr, tt.Int32, cop="cg") + seen)
    if thread == 1:
        words = vector.from_elements(T.vector(4, T.i32()), [tt.Int32(i).ir_value() for i in range(4)])
        cute.arch.store((x.iterator + 4).llvm_ptr, words)


@tt.jit
def ordered(x: cute.Tensor, flag: cute.Tensor) -> None:
    ordered_kernel(x, flag).launch(grid=1, block=64)


@pytest.mark.cpu
def test_ordered_loads_and_stores() -> None:
    x, flag = np.zeros(8, np.int32), np.zeros(1, np.int32)
    ordered(x, flag)
    assert x.tolist() == [7, 9, 0, 0, 0, 1, 2, 3]
    assert flag[0] == 2


@needs_assembler
def test_ordered_loads_and_stores_in_ptx() -> None:
    text = ptx(ordered, np.zeros(8, np.int32), np.zeros(1, np.int32))
    for wanted in ("ld.relaxed.gpu", "ld.acquire.sys", "st.release.gpu", "ld.global.cg"):
        assert wanted in text


@tt.kernel
def wrong_kernel(x: cute.Tensor, how: tt.Constexpr[str]) -> None:
    if how == "order":
        cute.arch.load(x.iterator, tt.Int32, sem="later")
    elif how == "cache":
        cute.arch.load(x.iterator, tt.Int32, cop="cx")
    elif how == "address":
        cute.arch.store(x[0], 1)
    else:
        distributed.multimem_st(x.iterator, tt.Int32(1), tt.Int32(1), tt.Int32(1))


@tt.jit
def wrong(x: cute.Tensor, how: tt.Constexpr[str]) -> None:
    wrong_kernel(x, how).launch(grid=1, block=32)


@pytest.mark.cpu
@pytest.mark.parametrize(
    ("how", "message"),
    [
        ("order", "memory order"),
        ("cache", "cache operator"),
        ("address", "needs an address"),
        ("words", "so many words"),
    ],
)
def test_other_words_are_refused(how: str, message: str) -> None:
    with pytest.raises(OperandTypeError, match=message):
        wrong(np.zeros(8, np.int32), how)
