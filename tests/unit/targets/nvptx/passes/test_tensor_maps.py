"""`take-tensor-maps`, `pass-tensor-maps` (`lower_mbarrier_and_tma`): the driver makes maps, kernels get them."""

from __future__ import annotations

from typing import Any

import pytest

from tests.unit.targets.nvptx.fake_driver import FakeDriver, needs_compiler
from tests.unit.targets.nvptx.tools import needs_assembler
from triptych.ir import bindings
from triptych.ir.bindings import context
from triptych.ir.modules import SerializedModule
from triptych.kernel_ir.dialects.simt import KERNEL_DIALECTS
from triptych.objectstage.codegen import codegen
from triptych.objectstage.device_errors import DriverError
from triptych.objectstage.lower import lower
from triptych.objectstage.target import CompileOptions, find_target
from triptych.stages import Compiled, Leaf, Traced
from triptych.targets.nvptx.runtime.loader import load

pytestmark = needs_assembler
PROGRAM = """
module attributes {gpu.container_module} {
  gpu.module @kernels {
    llvm.mlir.global external @s() {addr_space = 3 : i32, alignment = 1024 : i64} : !llvm.array<0 x i8>
    gpu.func @k(%n: i32, %map: !llvm.ptr {triptych.tensor_map}, %more: i64) kernel {
      %s = llvm.mlir.addressof @s : !llvm.ptr<3>
      %by = arith.trunci %more : i64 to i32
      %x = arith.divui %n, %by : i32
      "tile.tensormap_prefetch"(%map) : (!llvm.ptr) -> ()
      "tile.tma_load"(%map, %s, %s, %n, %n, %x) {
        box = array<i64: 8, 16>, bytes = 2 : i64, swizzle = 3 : i64, multicast = false
      } : (!llvm.ptr, !llvm.ptr<3>, !llvm.ptr<3>, i32, i32, i32) -> ()
      gpu.return
    }
  }
  func.func @k(%p: i64, %n: i32, %rows: i64, %stride: i64) {
    %one = arith.constant 1 : i32
    %width = arith.constant 64 : i64
    %base = llvm.inttoptr %p : i64 to !llvm.ptr<1>
    %map = "tile.tensor_map"(%base, %width, %rows, %stride) {
      type = "f16", box = array<i64: 8, 16>, swizzle = 3 : i64
    } : (!llvm.ptr<1>, i64, i64, i64) -> !llvm.ptr
    gpu.launch_func @kernels::@k blocks in (%n, %one, %one) threads in (%one, %one, %one) : i32
      dynamic_shared_memory_size %one args(%n : i32, %map : !llvm.ptr, %rows : i64)
    return
  }
}
"""
MAP = "map of type 6 at 0x1000: 8 of 64, step 1, 0 bytes apart; 16 of {rows}, step 1, 128 bytes apart; swizzle 3"


@pytest.fixture(scope="module")
def program() -> Compiled:
    for dialect in KERNEL_DIALECTS:
        dialect.load(context())
    module = SerializedModule(bindings.mlir().Module.parse(PROGRAM, context=context()))
    leaves = (Leaf("p", "Int64"), Leaf("n", "Int32"), Leaf("rows", "Int64"), Leaf("stride", "Int64"))
    target = find_target("nvptx:sm_90a")
    return codegen(lower(Traced("k", module, leaves, ()), target), target, CompileOptions())


def test_the_kernel_has_the_map_among_its_parameters(program: Compiled) -> None:
    ptx = program.views["ptx"]()
    assert ".param .align 64 .b8 k_param_1[128]" in ptx
    assert "cvta.param.u64" in ptx
    assert ".local" not in ptx
    assert "ld.param.b32" in ptx


def called(program: Compiled, fake: FakeDriver, *arguments: int) -> Any:
    fake.kernel("k", "iml")
    return load(program).call(*arguments)


@needs_compiler
def test_the_driver_makes_the_map_and_the_launch_points_at_it(program: Compiled, fake: FakeDriver) -> None:
    fake.version(13020)
    called(program, fake, 0x1000, 5, 2000, 128)
    made, launched = fake.log("map", "launch")
    assert made == MAP.format(rows=2000)
    assert launched.endswith("with 5 map 0xffffffffffffffff 2000")


@needs_compiler
@pytest.mark.parametrize(
    ("version", "rows", "cleared"), [(13010, 1023, True), (13010, 1024, False), (13020, 1023, False), (12000, 1, True)]
)
def test_a_bit_that_older_drivers_set_in_small_tensors(
    program: Compiled, fake: FakeDriver, version: int, rows: int, cleared: bool
) -> None:
    """A tensor below 128 KiB."""
    fake.version(version)
    called(program, fake, 0x1000, 5, rows, 128)
    (launched,) = fake.log("launch")
    assert ("map 0xffffffffffdfffff" in launched) == cleared


@needs_compiler
def test_a_map_that_the_driver_refuses(program: Compiled, fake: FakeDriver) -> None:
    """Nothing is launched."""
    fake.fail("cuTensorMapEncodeTiled", 1)
    with pytest.raises(DriverError, match="the driver made no tensor map") as caught:
        called(program, fake, 0x1001, 5, 64, 128)
    assert "CUDA_ERROR_INVALID_VALUE" in caught.value.found
    assert "16 bytes" in caught.value.expected
    assert not fake.log("launch")
