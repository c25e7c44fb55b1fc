"""Modules and classes that third-party programs take names from, beside those that public examples use."""

from __future__ import annotations

import importlib
from dataclasses import dataclass
from typing import Any

import pytest

import triptych as tt
from triptych import compat, cute
from triptych.cute.nvgpu import OpError, tcgen05, warp, warpgroup
from triptych.cute.tracing.errors import CopyInstructionError
from triptych.cute.typing import JitArgument

MODULES = {
    "cutlass.cute.nvgpu.cpasync.copy": "CopyBulkTensorTileG2SNonExecTrait CopyReduceBulkTensorTileS2GNonExecTrait",
    "cutlass.cute.nvgpu.cpasync.helpers": "TmaInfo",
    "cutlass.cute.nvgpu.tcgen05.mma": "MmaOp CtaGroup OperandMajorMode MmaF16BF16Op",
    "cutlass.pipeline.helpers": "pipeline_init_arrive pipeline_init_wait PipelineOp Agent CooperativeGroup",
    "cutlass.pipeline.sm90": "PipelineTmaAsync PipelineTmaStore PipelineCpAsync",
    "cutlass.utils.dynamic_persistent_tile_scheduler": "ClcDynamicPersistentTileScheduler",
    "cutlass.utils.smem_allocator": "SmemAllocator",
    "cutlass.utils.tensormap_manager": "TensorMapManager TensorMapUpdateMode",
}


@pytest.mark.parametrize("module", MODULES)
def test_a_module_that_programs_name_has_their_names(module: str) -> None:
    with compat.activated():
        found = importlib.import_module(module)
        whole = importlib.import_module(module.rpartition(".")[0])
        assert all(getattr(found, name) is getattr(whole, name) for name in MODULES[module].split())


def test_operations_of_tensor_memory_that_are_only_names() -> None:
    """Programs compare operations with them; nobody can make one."""
    load = tcgen05.Ld32x32bOp()
    assert not isinstance(load, tcgen05.Ld16x32bx2Op | tcgen05.St16x32bx2Op | tcgen05.LdRed16x32bx2Op)
    for name in (tcgen05.Ld16x32bx2Op, tcgen05.St16x32bx2Op, tcgen05.LdRed16x32bx2Op):
        with pytest.raises(CopyInstructionError, match="a name only"):
            name()


def test_an_operation_that_no_machine_has_is_caught_by_the_public_name() -> None:
    with pytest.raises(OpError):
        warp.MmaF16BF16Op(tt.Float32, tt.Float32, (16, 8, 16))
    with pytest.raises(OpError):
        warpgroup.MmaF16BF16Op(
            tt.Float16,
            tt.Float32,
            (64, 7, 16),
            warpgroup.OperandSource.SMEM,
            cute.nvgpu.OperandMajorMode.K,
            cute.nvgpu.OperandMajorMode.K,
        )


@dataclass
class Scaled(JitArgument):
    """As programs write arguments of their own: what crosses, and how it is made again."""

    factor: tt.Int32
    offset: tt.Int32

    def __c_pointers__(self) -> list[Any]:
        return [self.factor, self.offset]

    def __get_mlir_types__(self) -> list[Any]:
        return []

    def __new_from_mlir_values__(self, values: Any) -> Scaled:
        return Scaled(*values)


@tt.jit
def applied(x: tt.Int32, by: Scaled) -> tt.Int32:
    return x * by.factor + by.offset


@dataclass
class Counted(JitArgument):
    """An argument that counts its parts when it is asked for their types, and leaves out what has none."""

    factor: Any
    offset: Any = None
    name: str = "a"

    def _dynamic(self) -> list[Any]:
        return [part for part in (self.factor, self.offset) if part is not None]

    def __c_pointers__(self) -> list[Any]:
        return [each for part in self._dynamic() if hasattr(part, "__c_pointers__") for each in part.__c_pointers__()]

    def __get_mlir_types__(self) -> list[Any]:
        types = [each for part in self._dynamic() for each in part.__get_mlir_types__()]
        self._count = len(types)
        return types

    def __new_from_mlir_values__(self, values: Any) -> Counted:
        assert len(values) == self._count
        factor, *rest = values
        return Counted(factor, rest[0] if rest else None, self.name)


@tt.jit
def counted(x: tt.Int32, by: Counted) -> Any:
    return x * by.factor + (0 if by.offset is None else by.offset)


def test_numbers_in_an_argument_that_counts_its_parts_cross() -> None:
    compiled = tt.compile(counted, 1, Counted(tt.Int32(2)))
    assert [compiled(5, Counted(tt.Int32(n))) for n in (2, 7)] == [10, 35]
    assert counted(5, Counted(tt.Int32(2), tt.Int32(1))) == 11


def test_an_argument_of_the_public_protocol_crosses() -> None:
    assert isinstance(Scaled(tt.Int32(3), tt.Int32(4)), JitArgument)
    assert not isinstance(3, JitArgument)
    assert applied(5, Scaled(tt.Int32(3), tt.Int32(4))) == 19
    assert applied(5, Scaled(tt.Int32(2), tt.Int32(1))) == 11
