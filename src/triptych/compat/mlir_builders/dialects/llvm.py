"""Builder calls of LLVM's dialect: inline assembly, structs, bits, pointers: `cutlass._mlir.dialects.llvm`.

`loc` and `ip` are taken and dropped: operations go where the program is, with the line that it is at.
"""

from __future__ import annotations

from collections.abc import Sequence
from enum import IntEnum
from typing import Any

from triptych.compat.mlir_builders.dialects import arith
from triptych.compat.mlir_builders.values import Value, raw, wrapped
from triptych.cute.memory.vectors import extract, join, vector_type
from triptych.cute.tracing.device import device_function, device_trace, tracing
from triptych.frontends.ptx.inline import emit_inline
from triptych.ir.handles import Type
from triptych.ir.handles import Value as Raw
from triptych.ir.types import element_type, is_float, is_struct, is_vector, pointer_to, type_text
from triptych.metastage.trace.errors import OperandTypeError
from triptych.metastage.trace.trace import place

__all__ = [
    "AsmDialect",
    "PointerType",
    "StructType",
    "addrspacecast",
    "bitcast",
    "extractvalue",
    "inline_asm",
    "intr_ctlz",
    "inttoptr",
    "mlir_undef",
    "ptrtoint",
]


def __dir__() -> list[str]:
    return __all__


class AsmDialect(IntEnum):
    """How assembly is written; PTX has one way only."""

    AD_ATT = 0
    AD_Intel = 1


class PointerType:
    """Pointers by the memory that they point into."""

    @staticmethod
    def get(address_space: Any = None) -> Type:
        """In a memory, by its number or as an AddressSpace; the generic one by default."""
        number = getattr(address_space, "value", address_space) or 0
        return tracing().builder.type(pointer_to(number) if number else "!llvm.ptr")


class StructType:
    """Values of several types."""

    @staticmethod
    def get_literal(elements: Sequence[Type]) -> Type:
        """A struct that has no name."""
        return tracing().builder.type(f"!llvm.struct<({', '.join(map(type_text, elements))})>")


@device_function
def inline_asm(
    res: Type | None,
    operands_: Sequence[Any],
    asm_string: str,
    constraints: str,
    *,
    has_side_effects: bool = False,
    is_align_stack: bool = False,
    asm_dialect: int | None = None,
    loc: object = None,
    ip: object = None,
) -> Any:
    """Inline PTX; several results come as a struct, which `extractvalue` takes apart."""
    if asm_dialect not in (None, AsmDialect.AD_ATT) or is_align_stack:
        raise OperandTypeError(
            "inline PTX has no other way to be written, and no stack",
            span=place(),
            found=f"asm_dialect={asm_dialect}, is_align_stack={is_align_stack}",
            expected="asm_dialect=llvm.AsmDialect.AD_ATT, is_align_stack=False",
        )
    trace = device_trace()
    is_many = res is not None and is_struct(res)
    kinds: list[Type] = [] if res is None else list(res.body) if is_struct(res) else [res]
    given = [raw(operand) for operand in operands_]
    found = emit_inline(trace, asm_string, constraints, given, kinds, has_side_effects)
    if res is None:
        return None
    return _Struct(res, found) if is_many else wrapped(found[0])


class _Struct(Value):
    """Several results of inline assembly: its fields, which are values already."""

    def __init__(self, kind: Type, fields: Sequence[Raw]) -> None:
        super().__init__(fields[0])
        self.kind = kind
        self.fields = tuple(fields)

    @property
    def type(self) -> Type:
        """The type of the struct."""
        return self.kind

    def ir_value(self) -> Raw:
        """No operation takes it as a whole."""
        raise OperandTypeError(
            "the results of inline PTX are used one by one",
            span=place(),
            found=type_text(self.kind),
            expected="one field",
            instead="`llvm.extractvalue(T.i32(), struct, [0])`",
        )

    def __extract_mlir_values__(self) -> list[Any]:
        return list(self.fields)

    def __new_from_mlir_values__(self, values: list[Any]) -> Value:
        return _Struct(self.kind, [raw(value) for value in values])


def extractvalue(res: Type, container: object, position: Sequence[int], **_: object) -> Any:
    """A field of a struct."""
    trace = tracing()
    if isinstance(container, _Struct):
        (index,) = position
        found = container.fields[index]
    else:
        path = trace.builder.integers(position)
        found = trace.value("llvm.extractvalue", (raw(container),), type_text(res), {"position": path})
    if found.type != res:
        raise OperandTypeError(
            "the field of a struct has another type",
            span=place(),
            found=type_text(found.type),
            expected=type_text(res),
        )
    return wrapped(found)


def bitcast(res: Type, arg: object, **_: object) -> Any:
    """The same bits as a number of another type, or as a vector."""
    value, trace = raw(arg), tracing()
    if value.type == res:
        return wrapped(value)
    if not is_vector(value.type) and not is_vector(res):
        return wrapped(trace.value("arith.bitcast", (value,), type_text(res)))
    if not is_vector(value.type):
        value = join(trace, [value], type_text(value.type))
    if is_vector(res):
        return wrapped(trace.value("vector.bitcast", (value,), type_text(res)))
    single = trace.value("vector.bitcast", (value,), vector_type(1, type_text(res)))
    return wrapped(extract(trace, single, 0, type_text(res)))


def mlir_undef(res: Type, **_: object) -> Any:
    """A number or a vector that nobody should read before it is written; it is zero, so that a mistake repeats."""
    element = element_type(res) if is_vector(res) else res
    return arith.constant(res, 0.0 if is_float(element) else 0)


def intr_ctlz(in_: object, is_zero_poison: bool, **_: object) -> Any:
    """How many of the highest bits are zero; all of them for 0."""
    value = raw(in_)
    return wrapped(tracing().value("math.ctlz", (value,), type_text(value.type)))


def addrspacecast(res: Type, arg: object, **_: object) -> Any:
    """A pointer into another memory."""
    value = raw(arg)
    return wrapped(value if value.type == res else tracing().value("llvm.addrspacecast", (value,), type_text(res)))


def inttoptr(res: Type, arg: object, **_: object) -> Any:
    """The pointer of an address."""
    return wrapped(tracing().value("llvm.inttoptr", (raw(arg),), type_text(res)))


def ptrtoint(res: Type, arg: object, **_: object) -> Any:
    """The address of a pointer."""
    assert not is_float(res), "an address is an integer"
    return wrapped(tracing().value("llvm.ptrtoint", (raw(arg),), type_text(res)))
