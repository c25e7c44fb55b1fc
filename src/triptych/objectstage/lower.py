"""Lowering, the first step of the object-stage: `Traced -> Lowered`, by the target's pass list on a copy."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import replace
from typing import Any

from triptych.interop.dlpack import GPU_DEVICES
from triptych.ir import bindings
from triptych.ir.builder import Builder
from triptych.ir.handles import Module
from triptych.ir.llvm.bridge import to_llvm_ir
from triptych.ir.modules import SerializedModule, Signature, attach_signature, copy_module, detach_signature
from triptych.ir.passes import PassRecord, run_passes, verify
from triptych.objectstage.host_program import call_driver
from triptych.objectstage.target import CompileOptions, Target
from triptych.stages import Lowered, PassSpec, Split, Traced
from triptych.support.serialization import CompressedText

# Object-stage, for targets that run kernels only: `Traced -> Split`, a program for the host and one for the device.
# Passes that look at a launch and at its kernel together run before, once for both programs.

_DEVICE = "gpu.module"


def split(
    traced: Traced,
    passes: Sequence[PassSpec],
    observe: Callable[[PassRecord], None] | None = None,
    devices: tuple[int, ...] = GPU_DEVICES,
) -> Split:
    """Run the passes on a copy of the program, and take it apart. Tensors are in memory of the kinds `devices`."""
    device = copy_module(traced.module.read())
    attach_signature(device, Signature(traced.name, traced.parameters, traced.results))
    run_passes(device, passes, observe)
    detach_signature(device)
    kernels = _kernel_names(device)
    host = _take_host(device)
    record = call_driver(host, traced.name, kernels)
    parameters = (*(leaf.on_devices(devices) for leaf in traced.parameters), record)
    return Split(
        host=replace(traced, module=SerializedModule(host).store(), parameters=parameters),
        device=replace(traced, module=SerializedModule(device)),
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
    end = Builder(module.context).at_end(host.body)
    for operation in [operation.operation for operation in module.body.operations]:
        if operation.name != _DEVICE:
            # Copied, not moved: moving out of a module that dies soon after corrupts both.
            operation.clone(end)
            operation.erase()
    return host


def lower(
    traced: Traced,
    target: Target,
    language_passes: Sequence[PassSpec] = (),
    observe: Callable[[PassRecord], None] | None = None,
    options: CompileOptions | None = None,
) -> Lowered:
    """Lower for a target: the language's own passes, then the target's. Of a split program, the device's part.

    `traced.module` stays as it is, so it can be lowered again.
    """
    if language_passes:
        verify(traced.module.read())  # a language emits operations of its own, and its passes may rely on their form
    tables = target.line_tables() if options is not None and options.line_info else ()
    passes = (*target.pipeline(), *tables)
    if target.before_split is None:
        return _lower(traced, copy_module(traced.module.read()), target, (*language_passes, *passes), observe)
    parts = split(traced, (*language_passes, *target.before_split()), observe, target.devices)
    lowered = _lower(parts.device, parts.device.module.read(), target, passes, observe)  # nobody else needs that module
    return replace(lowered, traced=traced, host=parts.host, kernels=parts.kernels)


def _lower(
    traced: Traced,
    module: Module,
    target: Target,
    passes: Sequence[PassSpec],
    observe: Callable[[PassRecord], None] | None,
) -> Lowered:
    """Lower a module, in place."""
    attach_signature(module, Signature(traced.name, traced.parameters, traced.results))
    run_passes(module, passes, observe)
    verify(module)
    llvm = to_llvm_ir(module)
    return Lowered(
        traced=traced,
        emit_mlir=SerializedModule(module).store().__str__,
        text=CompressedText(llvm),
        entry=target.entry_symbol(traced.name),
    )


LINE_TABLES = (
    PassSpec(
        "ensure-debug-info-scope-on-llvm-func{emission-kind=DebugDirectivesOnly}",
        "A line belongs to a function; more debug information would switch optimisations off.",
    ),
)
