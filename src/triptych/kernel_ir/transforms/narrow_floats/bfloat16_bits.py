"""Pass `move-bfloat16-as-bits`: kernels carry BFloat16 as the integers that its bits are.

Input: kernels in which nothing computes with BFloat16, after `expand-narrow-floats`. Output: kernels that load, store,
shuffle and pass on `i16`, and widen it by a shift. Without instructions for it `bfloat` is no type of an x86 register:
LLVM takes a vector of it that lives longer than a block apart, and calls a function for each element to put it back.
OpenCL has no such type. Operations that only exist for floats, and what comes from the host, keep the type.
"""

from __future__ import annotations

from collections.abc import Sequence

from triptych.ir import bindings
from triptych.ir.builder import Builder
from triptych.ir.expressions import Expression, element_and_lanes, vector_type
from triptych.ir.handles import Module, Operation, Type, Value
from triptych.ir.modules import kernels, operations_named
from triptych.ir.types import type_text
from triptych.kernel_ir.analysis.addresses import INDEXING
from triptych.kernel_ir.dialects.kernel_operations import defining_op, owner_op, pointee, producer
from triptych.kernel_ir.transforms.narrow_floats.rounding import widen_bits
from triptych.kernel_ir.transforms.narrow_floats.storage import stored_constant
from triptych.support.dataclass import dataclass
from triptych.support.float_formats import FLOAT_FORMATS

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
