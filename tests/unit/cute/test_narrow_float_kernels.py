"""Kernels that read narrow floats, compute in Float32 and write narrow floats, against `ml_dtypes`."""

from __future__ import annotations

from typing import Any

import ml_dtypes
import numpy as np
import pytest
from numpy.typing import NDArray

import triptych as tt
from tests.unit.cute.array_memory import address, over
from triptych import cute

pytestmark = pytest.mark.usefixtures("every_machine")

SIZE = 1024
FORMATS: dict[Any, Any] = {
    tt.Float8E4M3FN: ml_dtypes.float8_e4m3fn,
    tt.Float8E5M2: ml_dtypes.float8_e5m2,
    tt.Float8E8M0FNU: ml_dtypes.float8_e8m0fnu,
    tt.Float6E3M2FN: ml_dtypes.float6_e3m2fn,
    tt.Float4E2M1FN: ml_dtypes.float4_e2m1fn,
    tt.BFloat16: ml_dtypes.bfloat16,
    tt.Float16: np.float16,
}


@tt.kernel
def halve(source: Any, target: Any, each: tt.Constexpr[int]) -> None:
    """Every thread halves `each` neighbours."""
    thread, _, _ = cute.arch.thread_idx()
    block, _, _ = cute.arch.block_idx()
    threads, _, _ = cute.arch.block_dim()
    number = block * threads + thread
    if number < SIZE // each:
        mine = cute.zipped_divide(source, (each,))[None, (number,)]
        result = cute.zipped_divide(target, (each,))[None, (number,)]
        result.store((mine.load().to(tt.Float32) * 0.5).to(target.element_type))


@tt.jit
def launch(a: tt.Int64, b: tt.Int64, dtype: tt.Constexpr[Any], each: tt.Constexpr[int]) -> None:
    source, target = (over(where, cute.make_layout((SIZE,)), dtype, align=16) for where in (a, b))
    halve(source, target, each).launch(grid=(SIZE // each + 47) // 48, block=48)


def packed(values: NDArray[Any], width: int) -> NDArray[Any]:
    """Patterns of `width` bits as they lie in memory."""
    if width >= 8:
        return np.frombuffer(values.tobytes(), np.uint8).copy()
    bits = np.unpackbits(values.view(np.uint8).reshape(-1, 1), axis=1, bitorder="little")[:, :width]
    return np.packbits(bits.ravel(), bitorder="little")


@pytest.mark.parametrize("each", [1, 4, 16])
@pytest.mark.parametrize("dtype", FORMATS, ids=lambda dtype: dtype.__name__)
def test_a_kernel_rounds_as_the_format_says(dtype: Any, each: int) -> None:
    if each * dtype.width % 8:
        pytest.skip("a thread writes whole bytes")
    values = np.abs(np.random.default_rng(each).standard_normal(SIZE) * 10).astype(np.float32).astype(FORMATS[dtype])
    source = packed(values, dtype.width)
    target = np.zeros_like(source)
    launch(address(source), address(target), dtype, each)
    expected = (values.astype(np.float32) * np.float32(0.5)).astype(FORMATS[dtype])
    assert (target == packed(expected, dtype.width)).all()
