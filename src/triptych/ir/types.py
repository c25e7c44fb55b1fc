"""MLIR types: the one place that tells vectors, pointers, integers and floats apart.

Asked of the bindings' own classes (0.1 us), never of printed text (3 us, and it must be parsed). `type_text` prints a
type: for messages, and for IR that is written as text.
"""

from __future__ import annotations

from math import prod
from typing import TypeAlias, TypeGuard

from triptych.ir import bindings
from triptych.ir.handles import (
    ArrayType,
    Attribute,
    Context,
    FloatType,
    IntegerType,
    MemRefType,
    Operation,
    PointerType,
    StructType,
    Type,
    Value,
    VectorType,
)

TypeOrText: TypeAlias = Type | str
"""A type, or the text of one that is written out in the source code; never one that was printed."""

GENERIC_SPACE, GLOBAL_SPACE, SHARED_SPACE, PRIVATE_SPACE, TENSOR_SPACE, CLUSTER_SPACE = 0, 1, 3, 5, 6, 7
"""The memories of a kernel, as its pointers name them on every target; the numbers are LLVM's for NVIDIA and AMD. A
target with others translates them where it lowers kernels, as the CPU does, which has one memory and no numbers."""

_INDEX_BITS = 64
_POINTER_BYTES = 8


# kinds ----------------------------------------------------------------------------------------------------------
def is_integer(type_: Type, width: int | None = None) -> TypeGuard[IntegerType]:
    """An integer, of that width if one is given; an `index` is none."""
    return isinstance(type_, bindings.mlir().IntegerType) and (width is None or type_.width == width)


def is_index(type_: Type) -> bool:
    return isinstance(type_, bindings.mlir().IndexType)


def is_float(type_: Type, width: int | None = None) -> TypeGuard[FloatType]:
    """A float of any format, of that width if one is given: f64 as well as those of 8, 6 and 4 bits."""
    return isinstance(type_, bindings.mlir().FloatType) and (width is None or type_.width == width)


def is_vector(type_: Type) -> TypeGuard[VectorType]:
    return isinstance(type_, bindings.mlir().VectorType)


def is_memref(type_: Type) -> TypeGuard[MemRefType]:
    return isinstance(type_, bindings.mlir().MemRefType)


def is_pointer(type_: Type) -> TypeGuard[PointerType]:
    """`!llvm.ptr`, in any address space."""
    return isinstance(type_, bindings.llvm_types().PointerType)


def is_value(value: object) -> TypeGuard[Value]:
    """Whether an object is an MLIR value."""
    return isinstance(value, bindings.mlir().Value)


def is_array(type_: Type) -> TypeGuard[ArrayType]:
    """`!llvm.array`."""
    return isinstance(type_, bindings.llvm_types().ArrayType)


def is_struct(type_: Type) -> TypeGuard[StructType]:
    """`!llvm.struct`."""
    return isinstance(type_, bindings.llvm_types().StructType)


# parts ----------------------------------------------------------------------------------------------------------
def element_type(type_: Type) -> Type:
    """The type of a vector's elements; any other type itself."""
    return type_.element_type if is_vector(type_) else type_


def lanes(type_: Type) -> int | None:
    """How many elements a vector of one dimension has; None for what is none."""
    found = count_and_element(type_)
    return None if found is None else found[0]


def count_and_element(type_: Type) -> tuple[int, Type] | None:
    """The number and the type of the elements of a vector of one dimension; None for what is none."""
    if not is_vector(type_):
        return None
    shape = type_.shape
    return (shape[0], type_.element_type) if len(shape) == 1 else None


def int_width(type_: Type) -> int | None:
    """The bits of an integer; an index has 64; None for other types."""
    if is_integer(type_):
        return type_.width
    return _INDEX_BITS if is_index(type_) else None


def bit_width(type_: Type) -> int | None:
    """The bits of a number, or of all elements of a vector of numbers; None for other types."""
    if is_vector(type_):
        element = bit_width(type_.element_type)
        return None if element is None else element * prod(type_.shape)
    if is_integer(type_) or is_float(type_):
        return type_.width
    return None


def pointer_to(space: int) -> str:
    """The text of the type of a pointer into a memory."""
    return f"!llvm.ptr<{space}>"


def memory_space(type_: Type) -> int | None:
    """The address space of a pointer; None for other types."""
    return type_.address_space if is_pointer(type_) else None


def generic_pointer(context: Context) -> Type:
    """`!llvm.ptr`: a pointer into the address space that has all others."""
    made: Type = bindings.llvm_types().PointerType.get(context=context)
    return made


def integer_type(bits: int, context: Context) -> Type:
    """The integer type of so many bits."""
    made: Type = bindings.mlir().IntegerType.get_signless(bits, context=context)
    return made


def byte_size(type_: Type) -> int:
    """The bytes that memory holds a value in: of a number, a pointer, or a vector or array of them."""
    if is_integer(type_) or is_float(type_):  # asked first: it is what most addresses count in
        return max(1, type_.width // 8)
    if is_pointer(type_):
        return _POINTER_BYTES
    if is_vector(type_):
        return prod(type_.shape) * byte_size(type_.element_type)
    assert is_array(type_), type_
    return type_.num_elements * byte_size(type_.element_type)


_INTEGER_WIDTHS = frozenset({8, 16, 32, 64})
_FLOAT_WIDTHS = frozenset({16, 32, 64})


def bits_of(type_: Type) -> int:
    """The bits of a number that instructions move, or of a vector of them; 0 for other types."""
    count, element = count_and_element(type_) or (1, type_)
    if (is_integer(element) and element.width in _INTEGER_WIDTHS) or (
        is_float(element) and element.width in _FLOAT_WIDTHS
    ):
        return count * element.width
    return 0


def type_text(type_: Type) -> str:
    """A type as MLIR writes it: for messages, textual IR, and tables by the name of a scalar type (`f32`)."""
    return str(type_)


# Enumeration attributes of MLIR. The bindings have no class for them: their text is read here only.

_MAY_APPROXIMATE = frozenset({"afn", "fast"})


def word_of(attribute: Attribute) -> str:
    """The word of an enumeration: `x` of `#gpu<dim x>`, `or` of `#vector.kind<or>`."""
    return str(attribute).rstrip(">").replace("<", " ").rpartition(" ")[2]


def may_approximate(operation: Operation) -> bool:
    """Whether a program allows an approximation in the place of an operation of floats."""
    if "fastmath" not in operation.attributes:
        return False
    return not _MAY_APPROXIMATE.isdisjoint(word_of(operation.attributes["fastmath"]).split(","))
