"""Meta-stage, copies of matrices by a warp: one `tile.load_matrix` or `tile.store_matrix` each.

Registers are words of 32 bits in the fragment of a thread, whatever its element type.
"""

from __future__ import annotations

from typing import Any

from triptych.cute.copies.atoms import CopyAtom
from triptych.cute.copies.operands import require_memory, row_address, word_offsets
from triptych.cute.memory.access import accessed
from triptych.cute.memory.address_spaces import AddressSpace
from triptych.cute.memory.element_storage import storage_of
from triptych.cute.tensors.tensor import Tensor
from triptych.cute.tracing.current_trace import tracing
from triptych.cute.tracing.device import device_function
from triptych.ir.handles import Value
from triptych.kernel_ir.dialects.matrix_copies import REGISTER_BITS, ROW_BITS, MatrixCopy
from triptych.kernel_ir.dialects.tile import LOAD_MATRIX, STORE_MATRIX
from triptych.layout import Int
from triptych.metastage.trace.trace import Trace

_WORD, _ROW = REGISTER_BITS // 8, ROW_BITS // 8


@device_function
def load_matrices(instruction: MatrixCopy, atom: CopyAtom, src: Tensor, dst: Tensor, index: int) -> None:
    """Instruction `index` of tensors (values of an instruction, instructions)."""
    require_memory(atom, "source", src, AddressSpace.smem)
    require_memory(atom, "destination", dst, AddressSpace.rmem)
    starts = word_offsets(atom, "destination", dst, index, _WORD)
    row = row_address(atom, "source", src, index, _ROW)
    words = _loaded(tracing(), instruction, row)
    for start, word in zip(starts, words, strict=True):
        _write_word(dst, start, word)


@device_function
def store_matrices(instruction: MatrixCopy, atom: CopyAtom, src: Tensor, dst: Tensor, index: int) -> None:
    """Instruction `index` of tensors (values of an instruction, instructions)."""
    require_memory(atom, "destination", dst, AddressSpace.smem)
    require_memory(atom, "source", src, AddressSpace.rmem)
    words = [_read_word(src, start) for start in word_offsets(atom, "source", src, index, _WORD)]
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
