"""Object-stage, for targets that run kernels only: `Traced -> Split`, a program for the host and one for the device.

Passes that look at a launch and at its kernel together run before, once for both programs.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import replace
from typing import Any

from triptych.interop.dlpack import GPU_DEVICES
from triptych.ir import bindings
from triptych.ir.handles import Module
from triptych.ir.modules import KeptModule, copy_module
from triptych.ir.passes import PassRecord, run_passes
from triptych.ir.signature import Signature, attach_signature, detach_signature
from triptych.objectstage.host_program import call_driver
from triptych.stages import PassSpec, Split, Traced

_DEVICE = "gpu.module"


def split(traced: Traced, passes: Sequence[PassSpec], observe: Callable[[PassRecord], None] | None = None) -> Split:
    """Run the passes on a copy of the program, and take it apart."""
    device = copy_module(traced.module.read())
    attach_signature(device, Signature(traced.name, traced.parameters, traced.results))
    run_passes(device, passes, observe)
    detach_signature(device)
    kernels = _kernel_names(device)
    host = _take_host(device)
    record = call_driver(host, traced.name, kernels)
    parameters = (*(leaf.on_devices(GPU_DEVICES) for leaf in traced.parameters), record)
    return Split(
        host=replace(traced, module=KeptModule(host).store(), parameters=parameters),
        device=replace(traced, module=KeptModule(device)),
        kernels=kernels,
    )


def _kernel_names(module: Module) -> tuple[str, ...]:
    return tuple(
        operation.attributes["sym_name"].value
        for device in module.body.operations
        if device.operation.name == _DEVICE
        for operation in device.regions[0].blocks[0].operations
        if operation.operation.name == "gpu.func"
    )


def _take_host(module: Module) -> Any:
    """A new module with everything that is no kernel, which leaves the old one."""
    ir = bindings.mlir()
    host = ir.Module.create(loc=module.operation.location)
    end = ir.InsertionPoint(host.body)
    for operation in [operation.operation for operation in module.body.operations]:
        if operation.name != _DEVICE:
            # Copied, not moved: moving out of a module that dies soon after corrupts both.
            operation.clone(end)
            operation.erase()
    return host
