"""Small names of public programs: kinds of types, orders of operands, statuses of CUDA, places passed along."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import triptych as tt
from triptych import cute, cutlass_dsl, utils
from triptych.compat.cuda_bindings import runtime
from triptych.compat.cuda_checks import checkCudaErrors
from triptych.cute.nvgpu import OperandMajorMode
from triptych.metastage.values.scalars import NUMERIC_CLASSES

K, MN = OperandMajorMode.K, OperandMajorMode.MN


def test_types_of_one_kind() -> None:
    for one in NUMERIC_CLASSES.values():
        for other in NUMERIC_CLASSES.values():
            assert one.is_same_kind(other) == (one.is_float == other.is_float)
    assert tt.Float8E4M3FN.is_same_kind(tt.Float8E5M2)
    assert not tt.Int8.is_same_kind(tt.Float16)


@pytest.mark.parametrize(("order", "mode"), [("C", K), ("F", MN)])
def test_the_contiguous_mode_of_an_operand(order: Any, mode: OperandMajorMode) -> None:
    found = utils.LayoutEnum.from_tensor(cute.runtime.from_dlpack(np.zeros((4, 6), np.float32, order=order)))
    assert found.mma_major_mode() is found.sm90_mma_major_mode() is mode
    assert (found.is_k_major_a(), found.is_m_major_a()) == (mode is K, mode is MN)
    assert (found.is_k_major_b(), found.is_n_major_b()) == (mode is K, mode is MN)
    assert (found.is_n_major_c(), found.is_m_major_c()) == (mode is K, mode is MN)


def test_names_of_the_extension_module_are_those_of_the_language() -> None:
    for name in ("Boolean", "Float32", "Int32", "Int64", "Integer", "Numeric", "Uint32", "const_expr", "max", "min"):
        assert getattr(cutlass_dsl, name) is getattr(tt, name)
    assert cutlass_dsl.DSLCudaRuntimeError is tt.DSLCudaRuntimeError


@cutlass_dsl.dsl_user_op
def add(a: tt.Int32, b: tt.Int32, *, loc: Any = None, ip: Any = None) -> Any:
    """Places are passed along to whatever gives the MLIR value of a number, a pointer or a vector."""
    left, right = a.ir_value(loc=loc, ip=ip), b.ir_value(loc=loc, ip=ip)
    return cutlass_dsl.new_from_mlir_values(a, [left]) + cutlass_dsl.new_from_mlir_values(b, [right])


@tt.jit
def uses_places(x: cute.Tensor, a: tt.Int32, b: tt.Int32) -> None:
    x[0] = add(a, b, loc=None, ip=None)
    assert x.iterator.toint(loc=None, ip=None) == x.iterator.toint()
    x.load().ir_value(loc=None, ip=None)
    x[1] = cutlass_dsl.not_(a > b, loc=None).to(tt.Int32)
    assert cutlass_dsl.not_(False) is True


def test_places_are_taken_and_change_nothing() -> None:
    out = np.zeros(2, np.int32)
    uses_places(cute.runtime.from_dlpack(out), 3, 4)
    assert out.tolist() == [7, 1]


def test_statuses_of_cuda() -> None:
    success = runtime.cudaError_t.cudaSuccess
    assert checkCudaErrors((success,)) is None
    assert checkCudaErrors((success, 5)) == 5
    assert checkCudaErrors((success, 5, 6)) == (5, 6)
    with pytest.raises(tt.DSLCudaRuntimeError) as raised:
        checkCudaErrors((runtime.cudaError_t.cudaErrorInvalidDevice, None))
    assert raised.value.error_code == 101
