"""Passes `expand-narrow-floats`, `move-bfloat16-as-bits`: narrow floats on x86 and ARM."""

from __future__ import annotations

from collections.abc import Callable, Sequence

from triptych.ir import bindings
from triptych.ir.builder import Builder, builder_before
from triptych.ir.expressions import Expression, element_and_lanes, vector_type
from triptych.ir.handles import Block, Module, Operation, Type, Value
from triptych.ir.modules import function, kernels, operations_named, signature_of
from triptych.ir.types import element_type, is_float, type_text
from triptych.kernel_ir.analysis.addresses import INDEXING
from triptych.kernel_ir.dialects.kernel_operations import defining_op, owner_op, pointee, producer
from triptych.kernel_ir.transforms.narrow_floats.expansion import convert_signature
from triptych.kernel_ir.transforms.narrow_floats.expansion import expand_narrow_floats as expand
from triptych.kernel_ir.transforms.narrow_floats.operations import FloatMachine
from triptych.kernel_ir.transforms.narrow_floats.rounding import widen_bits
from triptych.kernel_ir.transforms.narrow_floats.storage import storage, stored_constant
from triptych.support.dataclass import dataclass
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


# Pass `move-bfloat16-as-bits`: kernels carry BFloat16 as the integers that its bits are.
#
# Input: kernels in which nothing computes with BFloat16, after `expand-narrow-floats`. Output: kernels that load,
# store, shuffle and pass on `i16`, and widen it by a shift. Without instructions for it `bfloat` is no type of an x86
# register: LLVM takes a vector of it that lives longer than a block apart, and calls a function for each element to put
# it back. Operations that only exist for floats, and what comes from the host, keep the type.

_FORMAT = FLOAT_FORMATS["bf16"]
_BITS = "i16"
_MOVES = frozenset(
    {
        *("llvm.load", "llvm.store", "llvm.mlir.zero", "llvm.mlir.undef", "llvm.mlir.poison", "ub.poison"),
        *("scf.for", "scf.if", "scf.while", "scf.yield", "scf.condition"),
        *("arith.constant", "arith.select", "arith.bitcast", "vector.bitcast"),
        *("vector.broadcast", "vector.extract", "vector.insert", "vector.extract_strided_slice"),
        *("vector.from_elements", "vector.to_elements"),
        *("vector.shuffle", "vector.interleave", "vector.deinterleave"),
    }
)
"""Operations that do the same to integers of the size."""


@dataclass(frozen=True, slots=True)
class _Use:
    """An operand that was BFloat16 when the pass began."""

    user: Operation
    number: int


def move_bfloat16_as_bits(module: Module) -> None:
    """Change the types in every kernel."""
    for kernel in kernels(module):
        values = _bfloat16_values(kernel)
        if not values:
            continue
        builder = Builder(module.context)
        _convert(values, builder)
        bits = builder.type_attribute(builder.type(_BITS))
        for counting in operations_named(kernel, "llvm.alloca", INDEXING):
            if type_text(pointee(counting)) == _FORMAT.mlir:
                counting.attributes["elem_type"] = bits


def _bfloat16_values(kernel: Operation) -> list[Value]:
    """Every result and block argument that is BFloat16 or a vector of it."""
    ir = bindings.mlir()
    kinds: dict[Type, bool] = {}
    found: list[Value] = []

    def keep(value: Value) -> None:
        kind = value.type
        if kind not in kinds:
            kinds[kind] = element_and_lanes(kind)[0] == _FORMAT.mlir
        if kinds[kind]:
            found.append(value)

    def visit(operation: Operation) -> object:
        for result in operation.results:
            keep(result)
        for region in operation.regions:
            for block in region.blocks:
                for argument in block.arguments:
                    keep(argument)
        return ir.WalkResult.ADVANCE

    kernel.walk(visit)
    return found


def _convert(values: Sequence[Value], builder: Builder) -> None:
    uses = [_Use(use.owner.operation, use.operand_number) for value in values for use in value.uses]
    for value in values:
        if owner_op(value).name in _MOVES:
            _retype(value, builder)
        else:
            _leave(value, builder)
    for use in uses:
        if use.user.name == "arith.extf":
            _widen(use.user, builder)
        elif use.user.name not in _MOVES:
            _enter(use, builder)


def _retype(value: Value, builder: Builder) -> None:
    """A value of an operation that moves it: its type is all there is to change, and a constant's number."""
    made_by, (_, lanes) = defining_op(value), element_and_lanes(value.type)
    if made_by is not None and made_by.name == "arith.constant":
        number = made_by.attributes["value"]
        made_by.attributes["value"] = stored_constant(builder, number, _FORMAT, _BITS, lanes)
    value.set_type(builder.type(vector_type(_BITS, lanes)))


def _leave(value: Value, builder: Builder) -> None:
    """The bits of what a float operation, or the host, gives."""
    builder.insertion = builder.after_value(value)
    bits = _cast(value, _BITS, builder)
    value.replace_all_uses_except(bits, producer(bits))


def _enter(use: _Use, builder: Builder) -> None:
    """Bits as a float operation takes them."""
    builder.insertion = builder.before(use.user)
    use.user.operands[use.number] = _cast(use.user.operands[use.number], _FORMAT.mlir, builder)


def _cast(value: Value, element: str, builder: Builder) -> Value:
    _, lanes = element_and_lanes(value.type)
    return builder.value("arith.bitcast", (value,), builder.type(vector_type(element, lanes)), location=value.location)


def _widen(operation: Operation, builder: Builder) -> None:
    """`arith.extf`, which is exact."""
    builder.insertion, builder.location = builder.before(operation), operation.location
    result, value = operation.results[0], operation.operands[0]
    wide, lanes = element_and_lanes(result.type)
    bits = Expression(builder, value, _BITS, lanes)
    result.replace_all_uses_with(widen_bits(bits).convert("extf", wide).value)
    operation.erase()
