"""Pass `extract-device-module`: the kernels leave their `gpu.module`, because LLVM has no modules in modules."""

from __future__ import annotations

from triptych.ir.builder import Builder
from triptych.ir.handles import Module


def extract_device_module(module: Module) -> None:
    """Move the contents of the `gpu.module`, if there is one, to the top."""
    old = [operation.operation for operation in module.body.operations]
    end = Builder(module.context).at_end(module.body)
    for device in (operation for operation in old if operation.name == "gpu.module"):
        for operation in device.regions[0].blocks[0].operations:
            # Copied, not moved: moving out of an operation that is erased soon after corrupts both.
            operation.operation.clone(end)
    for operation in old:
        operation.erase()
