"""The kernels of a module, found without a walk over all that they contain.

A visit to an operation from Python takes a microsecond or two, and kernels have thousands.
"""

from __future__ import annotations

from triptych.ir.handles import Module, Operation


def kernels(module: Module, kind: str = "gpu.func") -> list[Operation]:
    """Every function of the device, before (`gpu.func`) or after (`llvm.func`) it became one of LLVM."""
    return [
        function.operation
        for device in module.body.operations
        if device.operation.name == "gpu.module"
        for function in device.regions[0].blocks[0].operations
        if function.operation.name == kind
    ]
