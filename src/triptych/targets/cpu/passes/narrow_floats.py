"""Pass `expand-narrow-floats` of the CPU: narrow floats on x86 and ARM."""

from __future__ import annotations

from collections.abc import Callable

from triptych.ir import bindings
from triptych.ir.builder import Builder, builder_before
from triptych.ir.handles import Block, Module, Operation, Type
from triptych.ir.modules import function, operations_named, signature_of
from triptych.ir.types import element_type, is_float, type_text
from triptych.kernel_ir.transforms.narrow_floats.expansion import convert_signature
from triptych.kernel_ir.transforms.narrow_floats.expansion import expand_narrow_floats as expand
from triptych.kernel_ir.transforms.narrow_floats.operations import FloatMachine
from triptych.kernel_ir.transforms.narrow_floats.storage import storage
from triptych.support.float_formats import FLOAT_FORMATS, SATURATE
from triptych.targets.cpu.emit.bfloat16 import stays_for_warps

# Narrow floats between Python and the compiled function: they cross as Float64, and the function itself rounds them.
#
# Input: a traced module. Output: the same module with conversions where the public function begins and returns, so that
# the entry point needs to know nothing of narrow formats.

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


# Pass `expand-narrow-floats` of the CPU: what the expansion has to know of x86 and ARM.
#
# Input: a traced module. Output: a module in which no operation on BFloat16, and none that rounds to Float16 by way of
# another type, is left to LLVM, nor anything of fp8, fp6, fp4 and TF32.

_PATTERNS = frozenset({"arith.constant", "arith.bitcast", "vector.bitcast"})
"""What LLVM does right with the bits of 16-bit floats."""

_ROUNDS_TWICE = frozenset({"arith.truncf", "arith.sitofp", "arith.uitofp", "math.fma", "vector.fma"})
"""What LLVM may do to a Float16 in two steps, through Float32, each with its own rounding."""


class CpuFloats(FloatMachine):
    """Float16 is left to LLVM, except where it would round twice."""

    name = "the CPU"

    def does(self, operation: Operation, formats: frozenset[str]) -> bool:
        if formats == {"f16"}:
            return operation.name not in _ROUNDS_TWICE or _is_plain_half(operation)
        return operation.name in _PATTERNS or (formats == {"bf16"} and stays_for_warps(operation))


def expand_narrow_floats(module: Module) -> None:
    """Expand what crosses to Python, too."""
    with module.context:
        widen_boundary(module)
    expand(module, CpuFloats())


def _is_plain_half(operation: Operation) -> bool:
    """The one conversion to Float16 that is an instruction."""
    if operation.name != "arith.truncf" or SATURATE in operation.attributes:
        return False
    return is_float(element_type(operation.operands[0].type), 32)
