"""Device attribute of a `gpu.module`: the machine that its kernels were traced for, if not the common one.

What a pass needs of it travels with the kernels, so a pass stays a function of the module and a target with other
warps has the same pass list.
"""

from __future__ import annotations

from triptych.ir.handles import Operation
from triptych.support.device_model import COMMON, DeviceModel

DEVICE = "triptych.device"


def device_attributes(model: DeviceModel) -> dict[str, str]:
    """What a `gpu.module` says of its machine, as MLIR text by name."""
    if (model.lanes, model.threads) == (COMMON.lanes, COMMON.threads):
        return {}
    return {DEVICE: f"{{lanes = {model.lanes} : i32, threads = {model.threads} : i32}}"}


def device_of(kernel: Operation) -> DeviceModel:
    """The machine that a kernel (`gpu.func`) is for, as far as passes count with it."""
    module = kernel.parent
    if module is None or DEVICE not in module.attributes:
        return COMMON
    said = module.attributes[DEVICE]
    return DeviceModel(lanes=said["lanes"].value, threads=said["threads"].value)
