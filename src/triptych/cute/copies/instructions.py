"""Copy instructions: asynchronous copies into shared memory, matrix loads and stores of a warp, and their operands.

Each copy is one `simt.async_copy`, `tile.load_matrix` or `tile.store_matrix`. Registers of matrices are words of 32
bits in the fragment of a thread, whatever its element type. Operands are tensors (values of an instruction,
instructions) that must lie as the instruction moves them; an error says which of the two is wrong and what to write.
"""

from __future__ import annotations

import math
from typing import Any

from triptych.cute.copies.atoms import CopyAtom
from triptych.cute.copies.dispatch import only_if
from triptych.cute.memory.access import accessed
from triptych.cute.memory.address_spaces import AddressSpace
from triptych.cute.memory.addresses import check_access, checks_bounds, reached
from triptych.cute.memory.element_storage import storage_of
from triptych.cute.tensors.tensor import Tensor, static_size
from triptych.cute.tracing.device import device_function, tracing
from triptych.cute.tracing.errors import CopyAlignmentError, CopyLayoutError, CopyMemoryError
from triptych.ir.handles import Value
from triptych.kernel_ir.dialects.matrix_copies import REGISTER_BITS, ROW_BITS, MatrixCopy
from triptych.kernel_ir.dialects.simt import ASYNC_COPY
from triptych.kernel_ir.dialects.tile import LOAD_MATRIX, STORE_MATRIX
from triptych.layout import ComposedLayout, Int, Layout, Swizzle, coalesce, divisibility
from triptych.layout.coordinates import all_indices
from triptych.metastage.trace.trace import Trace, place
from triptych.metastage.values.binding_time import truth
from triptych.metastage.values.scalars import Int32


def require_memory(atom: CopyAtom, role: str, tensor: Tensor, space: AddressSpace) -> None:
    """Refuse a tensor in another memory than the instruction accesses, or of elements of another size."""
    if tensor.memspace is not space:
        raise CopyMemoryError(
            f"{atom} has its {role} in {space.name}",
            span=place(),
            found=f"the {role} {tensor}",
            expected=f"a tensor in {space.name}",
            instead="nvgpu.CopyUniversalOp(), which copies between any two memories",
        )
    if tensor.pointer.dtype.width != atom.value_type.width:
        raise CopyMemoryError(
            f"{atom} moves elements of {atom.value_type.width} bits",
            span=place(),
            found=f"the {role} {tensor}",
            expected=f"elements of {atom.value_type.width} bits",
            instead="an atom of the element type of the tensor, or `cute.recast_tensor`",
        )


def row_address(atom: CopyAtom, role: str, tensor: Tensor, index: int, in_bytes: int) -> Any:
    """The address of what a thread gives instruction `index`, proven to be aligned and side by side."""
    return accessed(tensor.pointer, _row_offset(atom, role, tensor, index, in_bytes), in_bytes, in_bytes, tensor)


def _row_offset(atom: CopyAtom, role: str, tensor: Tensor, index: int, in_bytes: int) -> Int:
    offset = tensor.offset((0, index))
    _require_side_by_side(atom, role, tensor)
    known = _alignment(tensor, offset)
    if known % in_bytes:
        raise CopyAlignmentError(
            f"{atom} needs a {role} that is aligned to {in_bytes} bytes",
            span=place(),
            found=f"{known} bytes are known of the {role} {tensor}",
            expected=f"a pointer and offsets that are known to be multiples of {in_bytes} bytes",
            instead=_remedy(tensor, in_bytes),
        )
    return offset


def word_offsets(atom: CopyAtom, role: str, tensor: Tensor, index: int, in_bytes: int) -> list[Int]:
    """Where the registers of instruction `index` begin in a tensor of them: each is elements side by side."""
    count, together = static_size(tensor.layout[0], tensor), in_bytes * 8 // tensor.pointer.dtype.width
    offsets = _value_offsets(tensor, index, count)
    for first in range(0, count, together):
        start = offsets[first]
        followers = [offset - start for offset in offsets[first : first + together]]
        if followers != list(range(together)) or _alignment(tensor, start) % in_bytes:
            raise CopyLayoutError(
                f"{atom} moves registers of {together} elements",
                span=place(),
                found=f"the {role} {tensor}, where values {first} to {first + together - 1} are not one register",
                expected=f"elements side by side, {together} by {together}",
                instead="`make_fragment_A`, `make_fragment_B` or `make_fragment_like`, and `retile` of its result",
            )
    return offsets[::together]


def _value_offsets(tensor: Tensor, index: int, count: int) -> list[Int]:
    """Where the values of instruction `index` lie: of a plain layout, all are found by one evaluation."""
    layout = tensor.layout
    if isinstance(layout, Layout) and layout[0].is_static:
        begin = tensor.offset((0, index))
        return [begin + offset for offset in all_indices(layout[0].shape, layout[0].stride)]
    return [tensor.offset((value, index)) for value in range(count)]


def _require_side_by_side(atom: CopyAtom, role: str, tensor: Tensor) -> None:
    """Refuse values of an instruction that do not follow one another; in swizzled layouts they are one stretch."""
    layout = tensor.layout
    values = coalesce(layout.outer[0] if isinstance(layout, ComposedLayout) else layout[0])
    count = static_size(values, tensor)
    follows = count == 1 or (isinstance(values.stride, int) and values.stride == 1)
    if isinstance(layout, ComposedLayout):
        inner = layout.known_inner
        follows = follows and isinstance(inner, Swizzle) and (1 << inner.base) % count == 0
    if not follows:
        raise CopyLayoutError(
            f"{atom} moves {count} elements that lie side by side",
            span=place(),
            found=f"the {role} {tensor}",
            expected=f"a first mode of {count} elements with stride 1",
            instead="threads and values along the mode with stride 1, or fewer bits for each copy",
        )


def _alignment(tensor: Tensor, offset: Int) -> int:
    """The bytes that the address is known to be a multiple of; a swizzle keeps stretches of 2**base bytes."""
    pointer = tensor.pointer
    known = math.gcd(pointer.alignment, divisibility(offset) * pointer.dtype.width // 8)
    return known if pointer.swizzle is None else math.gcd(known, 1 << pointer.swizzle.base)


def _remedy(tensor: Tensor, in_bytes: int) -> str:
    pointer = tensor.pointer
    if pointer.swizzle is not None and (1 << pointer.swizzle.base) % in_bytes:
        return f"a swizzle that keeps {in_bytes} bytes together: make_swizzle(b, {in_bytes.bit_length() - 1}, s)"
    if pointer.alignment % in_bytes == 0:
        return "strides and offsets that are known multiples, such as `cute.assume(n, divby=...)`"
    if tensor.memspace is AddressSpace.smem:
        return f"byte_alignment={in_bytes} where the shared memory is allocated"
    return f"`from_dlpack(array, assumed_align={in_bytes})`, or `pointer.align({in_bytes})` where that holds"


@device_function
def copy_asynchronously(
    cached_in: str, atom: CopyAtom, src: Tensor, dst: Tensor, index: int, allowed: object = None
) -> None:
    """Instruction `index` of tensors (values of an instruction, instructions); zeros arrive where it is not allowed."""
    require_memory(atom, "source", src, AddressSpace.gmem)
    require_memory(atom, "destination", dst, AddressSpace.smem)
    in_bytes, trace = atom.num_bits_per_copy // 8, tracing()
    target = row_address(atom, "destination", dst, index, in_bytes)
    if allowed is None:
        operands = [target, row_address(atom, "source", src, index, in_bytes)]
    else:
        source = reached(trace, src.pointer, _row_offset(atom, "source", src, index, in_bytes), src.pointer.dtype)
        if checks_bounds():
            only_if(allowed, lambda: check_access(trace, src.pointer, source, in_bytes, in_bytes, src))
        choice = (truth(allowed).ir_value(), Int32(in_bytes).ir_value(), Int32(0).ir_value())
        operands = [target, source, trace.value("arith.select", choice, "i32")]
    attributes = {
        "size": trace.builder.integer("i32", in_bytes),
        "cache": trace.builder.string(cached_in),
    }
    trace.operation(ASYNC_COPY, operands, attributes=attributes)


_WORD, _ROW = REGISTER_BITS // 8, ROW_BITS // 8


@device_function
def load_matrices(instruction: MatrixCopy, atom: CopyAtom, src: Tensor, dst: Tensor, index: int) -> None:
    """Instruction `index` of tensors (values of an instruction, instructions)."""
    require_memory(atom, "source", src, AddressSpace.smem)
    row = row_address(atom, "source", src, index, _ROW)
    load_words(atom, dst, index, _loaded(tracing(), instruction, row))


def load_words(atom: CopyAtom, dst: Tensor, index: int, words: list[Value]) -> None:
    """Registers of 32 bits that instruction `index` has loaded, in the fragment of a thread."""
    require_memory(atom, "destination", dst, AddressSpace.rmem)
    for start, word in zip(word_offsets(atom, "destination", dst, index, _WORD), words, strict=True):
        _write_word(dst, start, word)


def words_of(atom: CopyAtom, src: Tensor, index: int) -> list[Value]:
    """Registers of 32 bits that instruction `index` stores, of the fragment of a thread."""
    require_memory(atom, "source", src, AddressSpace.rmem)
    return [_read_word(src, start) for start in word_offsets(atom, "source", src, index, _WORD)]


@device_function
def store_matrices(instruction: MatrixCopy, atom: CopyAtom, src: Tensor, dst: Tensor, index: int) -> None:
    """Instruction `index` of tensors (values of an instruction, instructions)."""
    require_memory(atom, "destination", dst, AddressSpace.smem)
    words = words_of(atom, src, index)
    row = row_address(atom, "destination", dst, index, _ROW)
    trace = tracing()
    trace.operation(STORE_MATRIX, (row, *words), attributes=_named(trace, instruction))


def _loaded(trace: Trace, instruction: MatrixCopy, row: Value) -> list[Value]:
    """The registers that a load fills."""
    registers = [trace.builder.type("i32")] * instruction.registers
    words = list(trace.operation(LOAD_MATRIX, (row,), registers, _named(trace, instruction)).results)
    if not instruction.exchanges_halves:
        return words
    return [word for i in range(0, len(words), 2) for word in _halves_exchanged(trace, *words[i : i + 2])]


def _halves_exchanged(trace: Trace, first: Value, second: Value) -> tuple[Value, Value]:
    """The low halves of two registers, and the high ones."""

    def apply(name: str, left: Value, right: Value) -> Value:
        return trace.value(name, (left, right), "i32")

    def constant(value: int) -> Any:
        return trace.value("arith.constant", (), "i32", {"value": trace.builder.integer("i32", value)})

    half, low, high = constant(16), constant(0xFFFF), constant(-0x10000)
    lows = apply("arith.ori", apply("arith.andi", first, low), apply("arith.shli", second, half))
    highs = apply("arith.ori", apply("arith.shrui", first, half), apply("arith.andi", second, high))
    return lows, highs


def _named(trace: Trace, instruction: MatrixCopy) -> dict[str, Any]:
    return {"instruction": trace.builder.string(instruction.name)}


def _write_word(registers: Tensor, start: Int, word: Value) -> None:
    trace, unit = tracing(), _unit(registers)
    value = word if unit == "i32" else trace.value("arith.bitcast", (word,), unit)
    trace.operation("llvm.store", (value, _word_address(registers, start)), attributes=_aligned(trace))


def _read_word(registers: Tensor, start: Int) -> Any:
    trace, unit = tracing(), _unit(registers)
    value = trace.value("llvm.load", (_word_address(registers, start),), unit, _aligned(trace))
    return value if unit == "i32" else trace.value("arith.bitcast", (value,), "i32")


def _unit(registers: Tensor) -> str:
    """Arrays of 32-bit elements are accessed as what they are; narrower ones as words."""
    unit = storage_of(registers.pointer.dtype).unit
    return unit if unit == "f32" else "i32"


def _word_address(registers: Tensor, start: Int) -> Any:
    return accessed(registers.pointer, start, _WORD, _WORD, registers)


def _aligned(trace: Trace) -> dict[str, Any]:
    return {"alignment": trace.builder.integer("i64", _WORD), "ordering": trace.builder.integer("i64", 0)}
