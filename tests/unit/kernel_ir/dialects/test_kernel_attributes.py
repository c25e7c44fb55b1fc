"""Attributes of kernels: the machine travels with its module, and mbarriers have names."""

from __future__ import annotations

from tests.unit.kernel_ir.kernels import kernel
from triptych.ir import bindings
from triptych.ir.bindings import context
from triptych.ir.modules import kernels, operations_named
from triptych.kernel_ir.dialects.kernel_attributes import barrier_names, device_attributes, device_of
from triptych.kernel_ir.dialects.simt import KERNEL_DIALECTS
from triptych.support.device_model import COMMON, DeviceModel


def test_the_common_machine_is_not_said() -> None:
    assert device_attributes(COMMON) == {}
    function, _module = kernel("")
    assert device_of(function) == COMMON


def test_another_machine_comes_back() -> None:
    model = DeviceModel(lanes=64, threads=512)
    ((name, text),) = device_attributes(model).items()
    module = bindings.mlir().Module.parse(
        f"gpu.module @kernels attributes {{{name} = {text}}} {{ gpu.func @f() kernel {{ gpu.return }} }}",
        context=context(),
    )
    (function,) = operations_named(module, "gpu.func")
    found = device_of(function)
    assert (found.lanes, found.threads) == (64, 512)


PROGRAM = """
gpu.module @m {
  gpu.func @k(%full: !llvm.ptr<3>, %other: !llvm.ptr<3>, %n: i32) kernel {
    "simt.mbarrier_init"(%full, %n) {offset = 16 : i64, storage = "storage.full[2]"} : (!llvm.ptr<3>, i32) -> ()
    "simt.mbarrier_init"(%other, %n) : (!llvm.ptr<3>, i32) -> ()
    gpu.return
  }
}
"""


def test_a_barrier_of_a_known_place_has_a_name() -> None:
    ir = bindings.mlir()
    context = ir.Context()
    for dialect in KERNEL_DIALECTS:
        dialect.load(context)
    module = ir.Module.parse(PROGRAM, context)
    [kernel] = kernels(module)
    assert barrier_names(kernel) == {16: "storage.full[2]"}
