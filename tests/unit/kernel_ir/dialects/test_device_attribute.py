"""`device_attribute`: the machine of a kernel travels with its module, and the common one needs no words."""

from __future__ import annotations

from tests.unit.kernel_ir.kernels import kernel
from triptych.ir import bindings
from triptych.ir.context import context
from triptych.ir.modules import operations_named
from triptych.kernel_ir.dialects.device_attribute import device_attributes, device_of
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
