"""Conversions of narrow floats on a real GPU: its instructions round, overflow and saturate as the formats say."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import triptych as tt
from tests.gpu.test_launch import MISSING, target
from tests.laws.floats.oracles import interesting, numbers, patterns, rounded, same
from tests.laws.test_narrow_floats import check, without_ml_dtypes_exceptions
from tests.unit.cute.array_memory import over
from tests.unit.targets.nvptx.tools import needs_assembler
from triptych import cute
from triptych.support.float_formats import FLOAT_FORMATS
from triptych.workbench.doctor.worker import GpuArray

pytestmark = [
    pytest.mark.skipif(bool(MISSING), reason=MISSING),
    pytest.mark.filterwarnings("ignore::triptych.support.errors.PerformanceWarning"),  # of elements one by one
    needs_assembler,
]

BYTES: tuple[Any, ...] = (
    tt.Float8E4M3,
    tt.Float8E4M3FN,
    tt.Float8E4M3B11FNUZ,
    tt.Float8E4M3FNUZ,
    tt.Float8E5M2FNUZ,
    tt.Float8E5M2,
    tt.Float8E8M0FNU,
)
"""The formats that NumPy keeps as the kernels do: one in a byte."""
EACH, THREADS = 4, 128
each_format = pytest.mark.parametrize("dtype", [*BYTES, tt.Float16, tt.BFloat16], ids=lambda dtype: dtype.__name__)


@tt.kernel
def convert(a: Any, b: Any, c: Any) -> None:
    """Neighbours together, and each once more by itself, saturating."""
    number = cute.arch.block_idx()[0] * THREADS + cute.arch.thread_idx()[0]
    mine, result = (cute.zipped_divide(tensor, (EACH,))[None, number] for tensor in (a, b))
    result.store(mine.load().to(b.element_type))
    for i in tt.range_constexpr(EACH):
        c[number * EACH + i] = a[number * EACH + i].to(c.element_type, saturate=True)


@tt.jit
def converted(
    p: tt.Int64, q: tt.Int64, r: tt.Int64, blocks: tt.Int32, source: tt.Constexpr[Any], result: tt.Constexpr[Any]
) -> None:
    size = blocks * THREADS * EACH
    kinds = ((p, source), (q, result), (r, result))
    a, b, c = (over(at, cute.make_layout((size,)), dtype, align=16) for at, dtype in kinds)
    convert(a, b, c).launch(grid=blocks, block=THREADS)


def results(values: Any, source: Any, result: Any, memory: Any) -> list[Any]:
    """What both ways of converting give."""
    blocks = -(-len(values) // (THREADS * EACH))
    padded = np.zeros(blocks * THREADS * EACH, values.dtype)
    padded[: len(values)] = values
    arrays = [GpuArray(padded), *(GpuArray(np.zeros(len(padded), memory)) for _ in range(2))]
    call = tt.compile(converted, 0, 0, 0, 0, source, result, target=target())
    call(*(array.address for array in arrays), blocks)
    return [array.numpy()[: len(values)] for array in arrays[1:]]


@each_format
def test_float32_is_rounded(dtype: Any) -> None:
    name = dtype.info.mlir
    form = FLOAT_FORMATS[name]
    values = without_ml_dtypes_exceptions(interesting(name), name)
    plain, finite = results(values, tt.Float32, dtype, patterns(name).dtype)
    largest = np.float32(form.decode(form.largest))
    check(plain, rounded(values, name), name, values)
    check(finite, rounded(np.clip(values, -largest if form.signed else None, largest), name), name, values)


@each_format
def test_every_pattern_widens(dtype: Any) -> None:
    name = dtype.info.mlir
    for found in results(patterns(name), dtype, tt.Float32, np.float32):
        assert same(found, numbers(patterns(name), name)).all()
