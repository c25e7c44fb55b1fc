"""Narrow floats between Python and the compiled function: they cross as Float64, and the function itself rounds them.

Input: a traced module. Output: the same module with conversions where the public function begins and returns, so that
the entry point needs to know nothing of narrow formats.
"""

from __future__ import annotations

from collections.abc import Callable

from triptych.ir import bindings
from triptych.ir.builder import Builder, builder_before
from triptych.ir.handles import Block, Module, Operation, Type
from triptych.ir.modules import function, operations_named, signature_of
from triptych.ir.types import type_text
from triptych.kernel_ir.transforms.narrow_floats.expansion import convert_signature
from triptych.kernel_ir.transforms.narrow_floats.storage import storage
from triptych.support.float_formats import FLOAT_FORMATS

Conversion = Callable[[Type], Type]
"""One MLIR type to another."""


def widen_boundary(module: Module) -> None:
    """Convert what the public function takes and returns."""
    ir = bindings.mlir()
    public = function(module, signature_of(module).name)
    wide = ir.F64Type.get()

    def crossing(type_: Type) -> Type:
        form = FLOAT_FORMATS.get(type_text(type_))
        return wide if form is not None and storage(form) != form.mlir else type_

    if convert_signature(public, crossing):
        _round_arguments(public.regions[0].blocks[0], crossing)
        for operation in operations_named(public, "func.return"):
            _widen_results(operation, crossing)


def _round_arguments(block: Block, crossing: Conversion) -> None:
    builder = Builder(block.owner.context)
    for argument in block.arguments:
        narrow = argument.type
        if crossing(narrow) != narrow:
            argument.set_type(crossing(narrow))
            builder.insertion = builder.at_start(block)
            rounding = builder.operation("arith.truncf", (argument,), (narrow,), location=argument.location)
            argument.replace_all_uses_except(rounding.result, rounding)


def _widen_results(operation: Operation, crossing: Conversion) -> None:
    builder = builder_before(operation)
    for i, value in enumerate(list(operation.operands)):
        if crossing(value.type) != value.type:
            operation.operands[i] = builder.value("arith.extf", (value,), crossing(value.type))
