"""Matrices that a warp moves and multiplies: the operations of `tile`.

A row of a matrix is 16 bytes at the address of one lane: a matrix is loaded and stored row by row, whole. Which of its
bytes are whose the entries of `triptych.atoms` say; here that becomes shuffles of vectors.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import cache
from hashlib import sha256

from triptych.atoms.matrix_copies import MATRIX_COPIES, REGISTER_BITS, ROW_BITS, MatrixCopy
from triptych.atoms.operations import LOAD_MATRIX, MMA, STORE_MATRIX, WARP_THREADS
from triptych.atoms.warp_mma import WARP_MMAS
from triptych.ir.checks import check_attributes
from triptych.ir.errors import LoweringError
from triptych.ir.handles import Operation, Value
from triptych.ir.location import place_of
from triptych.support.kernel_errors import PartialWarpError
from triptych.targets.cpu.matrix_product import function_name, product_functions
from triptych.targets.cpu.simt.collectives import require
from triptych.targets.cpu.simt.memory import joined, lane_address
from triptych.targets.cpu.simt.values import Private, Wide
from triptych.targets.cpu.simt.warp import Warp

ROW_BYTES = ROW_BITS // 8
ROW_WORDS = ROW_BITS // REGISTER_BITS
ROW = f"vector<{ROW_WORDS}xi32>"
_REGISTER_BYTES = REGISTER_BITS // 8
_WHOLE_ELEMENTS = ("b8", "b16")


def require_whole_warp(warp: Warp, operation: Operation) -> None:
    """Lanes that are missing have no part in the result of the others: on a GPU it is undefined."""
    code = warp.code
    if code.width != WARP_THREADS:
        raise LoweringError(
            f"an instruction of {WARP_THREADS} threads on a machine whose warps have {code.width} lanes",
            span=place_of(operation),
            found=operation.name.partition(".")[2],
            expected="an instruction that the machine has",
        )
    if warp.mask is None:
        return
    every = code.compare("eq", code.bits(warp.mask), code.constant(-1, "i32"))
    attributes = check_attributes(
        code.builder,
        PartialWarpError,
        "only some threads of a warp execute an instruction of the whole warp",
        span=place_of(operation),
        found=operation.name.partition(".")[2],
        expected=f"all {WARP_THREADS} threads to come here together",
        instead="the instruction outside the branch, or a condition that is the same for a whole warp",
    )
    missing = code.first(code.invert(warp.mask))
    require(warp, every, missing, attributes)


# moving ---------------------------------------------------------------------------------------------------------
def load_matrices(warp: Warp, operation: Operation) -> None:
    require_whole_warp(warp, operation)
    (pointer,) = operation.operands
    copy = _instruction(operation)
    registers = [register for matrix in range(copy.count) for register in _load_matrix(warp, copy, pointer, matrix)]
    for result, register in zip(operation.results, registers, strict=True):
        warp.set(result, Wide(register))


def _load_matrix(warp: Warp, copy: MatrixCopy, pointer: Value, matrix: int) -> list[Value]:
    """Its registers, each of all lanes."""
    lanes = range(matrix * copy.rows, (matrix + 1) * copy.rows)
    rows = [warp.code.load(lane_address(warp, pointer, lane), ROW, ROW_BYTES) for lane in lanes]
    memory = joined(warp, [(row, ROW_WORDS) for row in rows], warp.code.builder.type("i32"))
    places = _places(copy)
    return _cut(warp, memory, places, len(places) // (WARP_THREADS * _REGISTER_BYTES))


def store_matrices(warp: Warp, operation: Operation) -> None:
    require_whole_warp(warp, operation)
    pointer, *values = operation.operands
    copy = _instruction(operation)
    places = _places(copy)
    inverse = sorted(range(len(places)), key=places.__getitem__)
    each = len(values) // copy.count
    for matrix in range(copy.count):
        parts = [(warp.vector(value), WARP_THREADS) for value in values[matrix * each : (matrix + 1) * each]]
        rows = _cut(warp, joined(warp, parts, warp.code.builder.type("i32")), inverse, copy.rows)
        for row, part in enumerate(rows):
            warp.code.store(part, lane_address(warp, pointer, matrix * copy.rows + row), ROW_BYTES)


def _instruction(operation: Operation) -> MatrixCopy:
    """The entry that an operation is made from."""
    copy = MATRIX_COPIES[operation.attributes["instruction"].value]
    if copy.element not in _WHOLE_ELEMENTS:
        raise LoweringError(
            "the CPU target moves matrices of elements of 8 and 16 bits that stay as they are",
            span=place_of(operation),
            found=copy.name,
        )
    return copy


@cache
def _places(copy: MatrixCopy) -> tuple[int, ...]:
    """For every byte of the registers of a matrix, lane by lane in each, which byte of its rows it is."""
    each = copy.registers // copy.count
    return tuple(
        copy.held(lane, REGISTER_BITS * register + 8 * byte) // 8
        for register in range(each)
        for lane in range(WARP_THREADS)
        for byte in range(_REGISTER_BYTES)
    )


def _cut(warp: Warp, words: Value, places: Sequence[int], count: int) -> list[Value]:
    """Bytes of a vector of words in another order, cut into vectors of words; moved by the largest units that stay."""
    code = warp.code
    size = next(size for size in (4, 2, 1) if _stays(places, size))
    units = [place // size for place in places[::size]]
    element = f"i{8 * size}"
    source = words if size == 4 else code.value("vector.bitcast", (words,), f"vector<{len(units)}x{element}>")
    length = len(units) // count
    if count == 1 and units == list(range(length)):
        return [words]
    kind = f"vector<{length * size // 4}xi32>"
    parts = [code.shuffle(source, source, units[length * i : length * (i + 1)], element) for i in range(count)]
    return parts if size == 4 else [code.value("vector.bitcast", (part,), kind) for part in parts]


def _stays(places: Sequence[int], size: int) -> bool:
    """Whether so many bytes, from a multiple of that on, are always next to each other."""
    starts = places[::size]
    return all(start % size == 0 for start in starts) and all(
        places[i] == starts[i // size] + i % size for i in range(len(places))
    )


# products -------------------------------------------------------------------------------------------------------
def multiply(warp: Warp, operation: Operation) -> None:
    """All tiles by one call: the arrays of the warp, and where in them the registers of each tile are."""
    require_whole_warp(warp, operation)
    instruction = WARP_MMAS[str(operation.attributes["instruction"].value)]
    warp.arrays.define(product_functions(instruction))
    arrays = [_array(warp, operation, operand) for operand in operation.operands]
    tables = [_table(warp, list(operation.attributes[name])) for name in "dabc"]
    counts = [warp.code.constant(count, "i64") for count in operation.attributes["tiles"]]
    callee = {"callee": warp.code.attribute(f"@{function_name(instruction)}")}
    warp.code.operation("func.call", [*arrays, *tables, *counts], attributes=callee)


def _array(warp: Warp, operation: Operation, operand: Value) -> Value:
    found = warp.get(operand)
    if not isinstance(found, Private) or found.index or found.dynamic is not None:
        raise LoweringError(
            "the CPU target multiplies fragments that are arrays of their own, accessed by whole elements",
            span=place_of(operation),
            found=str(operand),
        )
    return warp.arrays.private(warp, found.root)[1]


def _table(warp: Warp, places: Sequence[int]) -> Value:
    text = ", ".join(map(str, places))
    name, kind = f"registers.{sha256(text.encode()).hexdigest()[:16]}", f"!llvm.array<{len(places)} x i32>"
    warp.arrays.define(
        f"llvm.mlir.global internal constant @{name}(dense<[{text}]> : tensor<{len(places)}xi32>) : {kind}"
    )
    return warp.code.value("llvm.mlir.addressof", (), "!llvm.ptr", {"global_name": warp.code.attribute(f"@{name}")})


HANDLERS: dict[str, Callable[[Warp, Operation], None]] = {
    LOAD_MATRIX: load_matrices,
    STORE_MATRIX: store_matrices,
    MMA: multiply,
}
