"""Object-stage, first step: `Traced -> Lowered`, by running the target's pass list on a copy of the module."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import replace

from triptych.ir.handles import Module
from triptych.ir.llvm.bridge import to_llvm_ir
from triptych.ir.modules import KeptModule, copy_module
from triptych.ir.passes import PassRecord, run_passes, verify
from triptych.ir.signature import Signature, attach_signature
from triptych.objectstage.split import split
from triptych.objectstage.target import CompileOptions, Target
from triptych.stages import Lowered, PassSpec, Traced
from triptych.support.kept_text import KeptText


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
    parts = split(traced, (*language_passes, *target.before_split()), observe)
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
        emit_mlir=KeptModule(module).store().__str__,
        text=KeptText(llvm),
        entry=target.entry_symbol(traced.name),
    )
