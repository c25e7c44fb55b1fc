"""Matrices that a warp moves and multiplies: `ldmatrix`, `stmatrix`, and tiles of `mma`.

A row of a matrix is 16 bytes at the address of one lane, and the lanes' registers are the rows one after the other: a
matrix is loaded and stored row by row, whole.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from hashlib import sha256
from typing import TYPE_CHECKING, Any

from triptych.atoms.operations import MMA
from triptych.atoms.warp_mma import WARP_MMAS
from triptych.ir.errors import LoweringError
from triptych.ir.location import place_of
from triptych.support.render import render
from triptych.support.runtime_errors import PartialWarpError
from triptych.targets.cpu.matrix_product import function_name, product_functions
from triptych.targets.cpu.plain_code import ERROR_ATTRIBUTE
from triptych.targets.cpu.simt.collectives import require
from triptych.targets.cpu.simt.memory import joined, lane_address
from triptych.targets.cpu.simt.values import Private, Rows, Wide

if TYPE_CHECKING:
    from triptych.targets.cpu.simt.warp import Warp

ROWS = 8
ROW_WORDS = 4
ROW = f"vector<{ROW_WORDS}xi32>"
ROW_BYTES = 16
_TRANSPOSED = [(2 * (lane % 4) + half) * ROWS + lane // 4 for lane in range(32) for half in range(2)]
"""Which 16-bit element of the rows goes where, when lanes get columns."""
_UNTRANSPOSED = [_TRANSPOSED.index(place) for place in range(len(_TRANSPOSED))]


def require_whole_warp(warp: Warp, operation: Any) -> None:
    """Lanes that are missing have no part in the result of the others: on a GPU it is undefined."""
    if warp.mask is None:
        return
    code = warp.code
    every = code.compare("eq", code.bits(warp.mask), code.constant(-1, "i32"))
    message = render(
        "only some threads of a warp execute an instruction of the whole warp",
        PartialWarpError.code,
        span=place_of(operation),
        found=operation.name.partition(".")[2],
        expected="all 32 threads to come here together",
    )
    error = code.builder.string(PartialWarpError.__name__)
    attributes = {"msg": code.builder.string(message), ERROR_ATTRIBUTE: error}
    missing = code.value("math.cttz", (code.bits(code.invert(warp.mask)),), "i32")
    require(warp, every, missing, attributes)


def _is_transposed(operation: Any) -> bool:
    return "col" in str(operation.attributes["layout"])


def _check_shape(operation: Any) -> None:
    shape = str(operation.attributes["shape"]) if "shape" in operation.attributes else ""
    if shape and not ("m = 8" in shape and "n = 8" in shape):
        raise LoweringError(
            f"the CPU target has {operation.name} of matrices of 8 x 8 elements of 16 bits only",
            span=place_of(operation),
            found=shape,
        )


def load_matrices(warp: Warp, operation: Any) -> None:
    _check_shape(operation)
    require_whole_warp(warp, operation)
    pointer, result = operation.operands[0], operation.results[0]
    count = int(operation.attributes["num"].value)
    registers = [_load_matrix(warp, operation, pointer, number * ROWS) for number in range(count)]
    warp.set(result, Rows(registers) if len(registers) > 1 else Wide(registers[0]))


def _load_matrix(warp: Warp, operation: Any, pointer: Any, first: int) -> Any:
    """One register of all lanes: the rows at the addresses of eight lanes."""
    code = warp.code
    rows = [code.load(lane_address(warp, pointer, lane), ROW, ROW_BYTES) for lane in range(first, first + ROWS)]
    register = joined(warp, [(row, ROW_WORDS) for row in rows], "i32")
    return _permuted(warp, register, _TRANSPOSED) if _is_transposed(operation) else register


def _permuted(warp: Warp, register: Any, places: Sequence[int]) -> Any:
    code = warp.code
    halves = code.value("vector.bitcast", (register,), "vector<64xi16>")
    return code.value("vector.bitcast", (code.shuffle(halves, halves, places, "i16"),), code.wide("i32"))


def store_matrices(warp: Warp, operation: Any) -> None:
    _check_shape(operation)
    require_whole_warp(warp, operation)
    code, (pointer, *registers) = warp.code, operation.operands
    for number, value in enumerate(registers):
        register = warp.vector(value)
        if _is_transposed(operation):
            register = _permuted(warp, register, _UNTRANSPOSED)
        for row in range(ROWS):
            part = code.shuffle(register, register, range(ROW_WORDS * row, ROW_WORDS * (row + 1)), "i32")
            code.store(part, lane_address(warp, pointer, number * ROWS + row), ROW_BYTES)


# products -------------------------------------------------------------------------------------------------------
def multiply(warp: Warp, operation: Any) -> None:
    """All tiles by one call: the arrays of the warp, and where in them the registers of each tile are."""
    require_whole_warp(warp, operation)
    instruction = WARP_MMAS[str(operation.attributes["instruction"].value)]
    warp.arrays.define(product_functions(instruction))
    arrays = [_array(warp, operation, operand) for operand in operation.operands]
    tables = [_table(warp, list(operation.attributes[name])) for name in "dabc"]
    counts = [warp.code.constant(count, "i64") for count in operation.attributes["tiles"]]
    callee = {"callee": warp.code.attribute(f"@{function_name(instruction)}")}
    warp.code.operation("func.call", [*arrays, *tables, *counts], attributes=callee)


def _array(warp: Warp, operation: Any, operand: Any) -> Any:
    found = warp.get(operand)
    if not isinstance(found, Private) or found.index or found.dynamic is not None:
        raise LoweringError(
            "the CPU target multiplies fragments that are arrays of their own, accessed by whole elements",
            span=place_of(operation),
            found=str(operand),
        )
    return warp.arrays.private(warp, found.root)[1]


def _table(warp: Warp, places: Sequence[int]) -> Any:
    text = ", ".join(map(str, places))
    name, kind = f"registers.{sha256(text.encode()).hexdigest()[:16]}", f"!llvm.array<{len(places)} x i32>"
    warp.arrays.define(
        f"llvm.mlir.global internal constant @{name}(dense<[{text}]> : tensor<{len(places)}xi32>) : {kind}"
    )
    return warp.code.value("llvm.mlir.addressof", (), "!llvm.ptr", {"global_name": warp.code.attribute(f"@{name}")})


HANDLERS: dict[str, Callable[[Any, Any], None]] = {
    "nvvm.ldmatrix": load_matrices,
    "nvvm.stmatrix": store_matrices,
    MMA: multiply,
}
