"""Compile time by what it depends on: how much LLVM is given, and how much of it in one block. Counts, not seconds."""

from __future__ import annotations

import importlib
import re
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import ml_dtypes
import numpy as np
import pytest

import triptych as tt
from tests.ir.traced import traced
from triptych import cute
from triptych.objectstage.lower import lower
from triptych.objectstage.target import find_target

EXAMPLES = Path(__file__).resolve().parents[4] / "examples" / "kernels"
_LABEL = re.compile(r"[\w.$\"-]+:")


@pytest.fixture(autouse=True)
def examples(monkeypatch: pytest.MonkeyPatch) -> None:
    """Examples are found by their folder."""
    monkeypatch.syspath_prepend(EXAMPLES)


def llvm_of(function: Any, *arguments: Any) -> str:
    return lower(traced(function, *arguments), find_target("cpu"), function.language.passes).llvm


def operations_for_warps(function: Any, *arguments: Any) -> int:
    """How many operations every pass after `vectorize-kernels` looks at."""
    seen: dict[str, str] = {}
    lower(
        traced(function, *arguments),
        find_target("cpu"),
        function.language.passes,
        lambda record: seen.update({record.names[0]: record.text}),
    )
    return seen["vectorize-kernels"].count("\n")


def blocks(llvm: str) -> Iterator[int]:
    """The instructions of each block."""
    count = 0
    for line in llvm.splitlines():
        if line.startswith("  ") and not line.startswith(("    ", "  ]")):
            count += 1
        elif count and (_LABEL.match(line) or line == "}"):
            yield count
            count = 0


def require_at_most(llvm: str, whole: int, block: int) -> None:
    sizes = list(blocks(llvm))
    assert sum(sizes) <= whole
    assert max(sizes) <= block


@pytest.mark.parametrize("dtype", [np.float16, ml_dtypes.bfloat16])
def test_a_product_by_matrix_instructions(dtype: Any) -> None:
    example = importlib.import_module("tensor_core_gemm")
    x, y = example.operand_of(np.zeros((128, 128), dtype)), np.zeros((128, 128), np.float32)
    require_at_most(llvm_of(example.gemm, x, x, y), 5_500, 500)


def test_what_no_lane_needs_is_not_emitted() -> None:
    """Joining fragments chooses from vectors of which most is never asked for: two of three operations were theirs."""
    gemm, attention = importlib.import_module("tensor_core_gemm"), importlib.import_module("flash_attention")
    x, y = gemm.operand_of(np.zeros((128, 128), np.float16)), np.zeros((128, 128), np.float32)
    assert operations_for_warps(gemm.gemm, x, x, y) <= 5_730
    q, k, v = (attention.tensor_of(array) for array in attention.sample((1, 64, 1, 64), 64, ml_dtypes.bfloat16))
    assert operations_for_warps(attention.attention, q, k, v, q, True) <= 8_200


@pytest.mark.parametrize("causal", [False, True])
def test_attention(causal: bool) -> None:
    example = importlib.import_module("flash_attention")
    q, k, v = (example.tensor_of(array) for array in example.sample((1, 64, 1, 64), 64, ml_dtypes.bfloat16))
    llvm = llvm_of(example.attention, q, k, v, q, causal)
    require_at_most(llvm, 7_120, 1_700)
    assert all("bitcast" in line for line in llvm.splitlines() if "bfloat>" in line)


# what grows with the program: a few instructions for each access ------------------------------------------------------
@tt.kernel
def scatter(x: cute.Tensor, count: tt.Constexpr[int]) -> None:
    """Every lane's element lies where only a run tells, in steps that no vector instruction has."""
    thread, _, _ = cute.arch.thread_idx()
    for i in tt.range_constexpr(count):
        x[(thread * 7 ^ i) + i] = x[(thread * 5 ^ i) + i]


@tt.jit
def scattered(x: cute.Tensor, count: tt.Constexpr[int]) -> None:
    scatter(x, count).launch(grid=1, block=64)


@tt.kernel
def raise_two(x: cute.Tensor, count: tt.Constexpr[int]) -> None:
    thread, _, _ = cute.arch.thread_idx()
    value = x[thread].to(tt.Float32)
    for _ in tt.range_constexpr(count):
        value = cute.math.exp2(value)
    x[thread] = value.to(x.element_type)


@tt.jit
def exponentials(x: cute.Tensor, count: tt.Constexpr[int]) -> None:
    raise_two(x, count).launch(grid=1, block=64)


@pytest.mark.parametrize(
    ("function", "dtype", "most"),
    [(scattered, np.float16, 15), (scattered, ml_dtypes.bfloat16, 15), (exponentials, np.float16, 2)],
)
def test_each_operation_more_is_a_few_instructions(function: Any, dtype: Any, most: int) -> None:
    x = np.zeros(4096, dtype)
    fewer, more = (sum(blocks(llvm_of(function, x, count))) for count in (16, 48))
    assert (more - fewer) / 32 <= most


def test_bfloat16_calls_nothing_to_be_moved() -> None:
    x = np.arange(4096).astype(ml_dtypes.bfloat16)
    expected = x.copy()
    compiled = tt.compile(scattered, x, 8)
    assert "__truncsfbf2" not in compiled.asm
    compiled(x)
    lanes = np.arange(64)
    for i in range(8):
        for warp in (lanes[:32], lanes[32:]):
            expected[(warp * 7 ^ i) + i] = expected[(warp * 5 ^ i) + i]
    assert np.array_equal(x[512:], expected[512:])


@tt.kernel
def mask(x: cute.Tensor, y: cute.Tensor) -> None:
    """Each thread clears some of the elements that it holds, and doubles the others."""
    thread, _, _ = cute.arch.thread_idx()
    held = cute.make_rmem_tensor(cute.make_layout(16), tt.Float32)
    for i in tt.range_constexpr(16):
        held[i] = x[thread + 64 * i]
    for i in tt.range_constexpr(16):
        if thread % 16 > i:
            held[i] = -1.0
        else:
            held[i] = held[i] * 2.0
    for i in tt.range_constexpr(16):
        y[thread + 64 * i] = held[i]


@tt.jit
def masked(x: cute.Tensor, y: cute.Tensor) -> None:
    mask(x, y).launch(grid=1, block=64)


def test_elements_of_register_tensors_are_chosen_without_branches() -> None:
    x = np.arange(1024, dtype=np.float32)
    y = np.zeros_like(x)
    assert llvm_of(masked, x, y).count("llvm.vector.reduce.or") == 0
    masked(x, y)
    threads, elements = np.arange(64), np.arange(16)[:, None]
    expected = np.where(threads % 16 > elements, np.float32(-1), x.reshape(16, 64) * 2)
    assert np.array_equal(y.reshape(16, 64), expected)


_TIMES = 24
"""More than LLVM copies for the sake of a jump."""


@tt.kernel
def meet(x: cute.Tensor, count: tt.Int32) -> None:
    """Warps wait for each other where a loop over them cannot be cut."""
    thread, _, _ = cute.arch.thread_idx()
    for i in range(count):
        if thread < 32:
            cute.arch.barrier(barrier_id=1, number_of_threads=64)
            for j in tt.range_constexpr(_TIMES):
                x[thread] = (x[thread] ^ j) + x[64 + i] * 1_234_567
        else:
            cute.arch.barrier(barrier_id=1, number_of_threads=64)


@tt.jit
def met(x: cute.Tensor, count: tt.Int32) -> None:
    meet(x, count).launch(grid=1, block=64)


def test_code_of_warps_that_wait_is_written_once() -> None:
    """A coroutine that may run on without a wait has its code before its first suspension and after it."""
    x = np.repeat(np.array([0, 1], np.int32), 64)
    compiled = tt.compile(met, x, 3)
    assert compiled.asm.count("$1234567") <= _TIMES
    compiled(x, 3)
    expected = np.zeros(32, np.int32)
    for j in 3 * list(range(_TIMES)):
        expected = (expected ^ j) + np.int32(1_234_567)
    assert np.array_equal(x[:32], expected)


@tt.kernel
def hold(x: cute.Tensor, count: tt.Constexpr[int]) -> None:
    """Warps wait for each other, with elements that they hold before and after."""
    thread, _, _ = cute.arch.thread_idx()
    held = cute.make_rmem_tensor(cute.make_layout(count), tt.Float32)
    for i in tt.range_constexpr(count):
        held[i] = x[thread + 64 * i]
    if thread < 32:
        cute.arch.barrier(barrier_id=1, number_of_threads=64)
    else:
        cute.arch.barrier(barrier_id=1, number_of_threads=64)
    for i in tt.range_constexpr(count):
        held[i] = held[i] * 2.0
    for i in tt.range_constexpr(count):
        x[thread + 64 * i] = held[i]


@tt.jit
def holding(x: cute.Tensor, count: tt.Constexpr[int], threads: tt.Constexpr[int]) -> None:
    hold(x, count).launch(grid=1, block=threads)


def test_whole_warps_that_wait_are_not_masked() -> None:
    """An element of a coroutine is an address and an access, where no lane of the last warp can be missing."""
    x = np.arange(64 * 48, dtype=np.float32)
    fewer, more = (sum(blocks(llvm_of(holding, x, count, 64))) for count in (16, 48))
    assert (more - fewer) / 32 <= 16
    assert "select <32 x i1>" not in llvm_of(holding, x, 16, 64)
    assert "llvm.masked.store" in llvm_of(holding, x, 16, 48)
    expected = x * 2
    holding(x, 48, 64)
    assert np.array_equal(x, expected)
