"""The parts of a module by where they run, so that a pass looks at the operations of one part only.

A visit to an operation from Python takes a microsecond or two, and kernels have thousands.
"""

from __future__ import annotations

from typing import Any

from triptych.ir.modules import operations_named


def kernels(module: Any, kind: str = "gpu.func") -> list[Any]:
    """Every function of the device, before (`gpu.func`) or after (`llvm.func`) it became one of LLVM."""
    return [
        function.operation
        for device in module.body.operations
        if device.operation.name == "gpu.module"
        for function in device.regions[0].blocks[0].operations
        if function.operation.name == kind
    ]


def launches(module: Any) -> list[Any]:
    """Every `gpu.launch_func` of the host's functions."""
    hosts = [function for function in module.body.operations if function.operation.name == "func.func"]
    return [launch for host in hosts for launch in operations_named(host, "gpu.launch_func")]
