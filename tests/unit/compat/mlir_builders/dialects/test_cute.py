"""Builder calls of pointers: the same address as a pointer to something else."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import triptych as tt
from triptych import cute
from triptych.compat.mlir_builders.dialects import llvm
from triptych.compat.mlir_builders.dialects.cute import PtrType, recast_iter
from triptych.compat.mlir_builders.dialects.cute_nvgpu import TmaDescriptorTiledType
from triptych.cutlass_dsl import T
from triptych.metastage.trace.errors import OperandTypeError

GENERIC = cute.AddressSpace.generic


def generic(pointer: cute.Pointer) -> cute.Pointer:
    there = llvm.addrspacecast(llvm.PointerType.get(GENERIC), pointer.to_llvm_ptr())
    return cute.make_ptr(pointer.dtype, there, GENERIC, assumed_align=pointer.alignment)


def launched(body: Any) -> np.ndarray:
    @tt.kernel
    def kernel(out: cute.Tensor) -> None:
        body(out.iterator)

    @tt.jit
    def run(out: cute.Tensor) -> None:
        kernel(out).launch(grid=1, block=1)

    out = np.zeros(4, np.int32)
    run(out)
    return out


@pytest.mark.cpu
def test_a_pointer_to_numbers_of_another_type() -> None:
    def body(pointer: cute.Pointer) -> None:
        found = recast_iter(PtrType.get(T.f32(), GENERIC, 4), generic(pointer).value)
        (found + 1).store(tt.Float32(1.5))

    assert launched(body).view(np.float32).tolist() == [0, 1.5, 0, 0]


def test_a_pointer_to_a_tensor_map_is_one_to_its_bytes() -> None:
    found = []

    def body(pointer: cute.Pointer) -> None:
        kind = PtrType.get(TmaDescriptorTiledType.get(), GENERIC, 64)
        found.append(recast_iter(kind, generic(pointer).value))

    launched(body)
    assert (found[0].dtype, found[0].memspace, found[0].alignment) == (tt.Uint8, GENERIC, 64)


def test_a_pointer_stays_in_its_memory() -> None:
    with pytest.raises(OperandTypeError, match="stays in its memory"):
        launched(lambda pointer: recast_iter(PtrType.get(T.f32(), GENERIC), pointer.value))
    with pytest.raises(OperandTypeError, match="to numbers or to a tensor map"):
        launched(lambda pointer: PtrType.get(llvm.PointerType.get(), GENERIC))
