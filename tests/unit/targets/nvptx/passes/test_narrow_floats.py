"""Every operation on every narrow float becomes code that NVIDIA's assembler accepts, old GPU or new."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import ml_dtypes
import numpy as np
import pytest

import triptych as tt
from tests.unit.cute.array_memory import over
from tests.unit.targets.nvptx.fake_driver import FakeDriver, needs_compiler, on_gpu
from tests.unit.targets.nvptx.programs import vector
from tests.unit.targets.nvptx.tools import needs_assembler
from triptych import cute
from triptych.support.float_formats import FLOAT_FORMATS
from triptych.targets.nvptx.runtime.loader import load

pytestmark = needs_assembler

ARCHITECTURES = ("sm_80", "sm_89", "sm_90a", "sm_100a", "sm_120a")
FORMATS: tuple[Any, ...] = (
    tt.Float4E2M1FN,
    tt.Float6E2M3FN,
    tt.Float6E3M2FN,
    tt.Float8E4M3,
    tt.Float8E4M3FN,
    tt.Float8E4M3B11FNUZ,
    tt.Float8E4M3FNUZ,
    tt.Float8E5M2FNUZ,
    tt.Float8E5M2,
    tt.Float8E8M0FNU,
    tt.Float16,
    tt.BFloat16,
    tt.TFloat32,
)
SIZE, LANES = 1024, 8
each_architecture = pytest.mark.parametrize("architecture", ARCHITECTURES)
each_format = pytest.mark.parametrize("dtype", FORMATS, ids=lambda dtype: dtype.__name__)


def test_no_format_is_forgotten() -> None:
    assert {dtype.info.mlir for dtype in FORMATS} == set(FLOAT_FORMATS)


@tt.jit
def repeated(x: Any, y: Any) -> Any:
    for _ in range(y.to(tt.Int32)):
        x = x + y if x < y else x
    return x


OPERATIONS: tuple[Callable[[Any, Any], Any], ...] = (
    lambda x, y: x.to(tt.Float64).to(type(x)),
    lambda x, y: x.to(tt.Float16).to(type(x)),
    lambda x, y: x.to(tt.BFloat16).to(type(x)),
    lambda x, y: x.to(tt.Float32).to(type(x), saturate=True),
    lambda x, y: x.to(tt.Float64).to(type(x), saturate=True),
    *(lambda x, y, to=to: x.to(to).to(type(x)) for to in (tt.Int8, tt.Uint16, tt.Int32, tt.Uint64, tt.Int64)),
    lambda x, y: x.to(tt.Int64).to(type(x), saturate=True),
    lambda x, y: (x + y) * (x - y) / y,
    lambda x, y: x // y + x % y,
    lambda x, y: x * 2.0 + 1.0,
    lambda x, y: -x if x < y else abs(y),
    lambda x, y: max(x, y) + min(x, y),
    lambda x, y: cute.arch.shuffle_sync_bfly(x, 1),
    lambda x, y: x if x else y,
    repeated,
)
VECTOR_OPERATIONS: tuple[Callable[[Any, Any], Any], ...] = (
    lambda x, y: x.to(tt.Float64).to(x.element_type),
    lambda x, y: x.to(tt.Float16).to(x.element_type),
    lambda x, y: x.to(tt.Int32).to(x.element_type),
    lambda x, y: (x + y) * (x - y) / y,
    lambda x, y: x * 2.0 + 1.0,
    lambda x, y: cute.where(x < y, -x, y),
    lambda x, y: cute.full_like(x, x.reduce(cute.ReductionOp.MAX, 1.0, 0)),
    lambda x, y: cute.full_like(x, x.reduce(cute.ReductionOp.ADD, 1.0, 0)),
)


@tt.kernel
def operate(a: Any, b: Any, c: Any) -> None:
    t, _, _ = cute.arch.thread_idx()
    for i in tt.range_constexpr(len(OPERATIONS)):
        c[i * 32 + t] = OPERATIONS[i](a[t], b[t]).to(tt.Float32)


@tt.kernel
def operate_on_vectors(a: Any, b: Any, c: Any) -> None:
    t, _, _ = cute.arch.thread_idx()
    x, y = (cute.zipped_divide(tensor, (LANES,))[None, t].load() for tensor in (a, b))
    for i in tt.range_constexpr(len(VECTOR_OPERATIONS)):
        cute.zipped_divide(c, (LANES,))[None, i * 32 + t].store(VECTOR_OPERATIONS[i](x, y))


@tt.jit
def scalars(p: tt.Int64, q: tt.Int64, r: tt.Int64, dtype: tt.Constexpr[Any]) -> None:
    a, b = (over(at, cute.make_layout((32,)), dtype) for at in (p, q))
    c = over(r, cute.make_layout((32 * len(OPERATIONS),)))
    operate(a, b, c).launch(grid=1, block=32)


@tt.jit
def vectors(p: tt.Int64, q: tt.Int64, r: tt.Int64, dtype: tt.Constexpr[Any]) -> None:
    a, b, c = (over(at, cute.make_layout((SIZE * LANES,)), dtype, align=16) for at in (p, q, r))
    operate_on_vectors(a, b, c).launch(grid=1, block=32)


@each_architecture
@each_format
def test_operations_on_numbers(dtype: Any, architecture: str) -> None:
    compiled = tt.compile(scalars, 0, 0, 0, dtype, target=f"nvptx:{architecture}")
    assert compiled.__ptx__.count("st.global.b32") == len(OPERATIONS)
    assert compiled.__cubin__.startswith(b"\x7fELF")


@each_architecture
@each_format
def test_operations_on_vectors(dtype: Any, architecture: str) -> None:
    compiled = tt.compile(vectors, 0, 0, 0, dtype, target=f"nvptx:{architecture}")
    (used,) = compiled.resources.values()
    assert (used.stack, used.spill_stores) == (0, 0)


# the host -------------------------------------------------------------------------------------------------------------
@tt.kernel
def fill(x: cute.Tensor, small: tt.Float8E4M3FN, tensor_float: tt.TFloat32) -> None:
    x[cute.arch.thread_idx()[0]] = small.to(tt.Float32) + tensor_float.to(tt.Float32)


@tt.jit
def filled(x: cute.Tensor, small: tt.Float8E4M3FN, tensor_float: tt.TFloat32) -> None:
    fill(x, small, tensor_float).launch(grid=1, block=32)


@needs_compiler
def test_kernels_get_narrow_floats_as_they_are_stored(fake: FakeDriver) -> None:
    fake.kernel("fill", "pibf")
    call = load(tt.compile(filled, vector(), 1.0, 1.0, target="nvptx:sm_90a")._loaded.compiled).call
    x = on_gpu(32)
    call(x, 0.3, 1.0 + 2**-13)
    pattern = int(np.array(0.3, ml_dtypes.float8_e4m3fn).view(np.uint8))
    assert fake.log("launch")[0].endswith(f"with {x.address:#x} 32 {pattern} 1")
