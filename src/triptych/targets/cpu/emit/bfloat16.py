"""BFloat16 rounding of thread vectors (TensorSSA): one function with a loop, not a formula for each element.

The formula has eleven operations, and attention rounds hundreds of elements: a fifth of all that LLVM was given. The
elements pass between the function and its callers through memory.
"""

from __future__ import annotations

from collections.abc import Sequence

from triptych.ir.expressions import Expression
from triptych.ir.handles import Operation, Value
from triptych.ir.types import count_and_element, is_float, type_text
from triptych.kernel_ir.dialects.kernel_operations import enclosing
from triptych.kernel_ir.transforms.narrow_floats.rounding import narrow
from triptych.support.float_formats import FLOAT_FORMATS, SATURATE
from triptych.targets.cpu.abi.abi import ALIGNMENT
from triptych.targets.cpu.emit.barrier_state import loop
from triptych.targets.cpu.emit.lane_builder import LaneBuilder
from triptych.targets.cpu.emit.values import ArrayOfStructs, Scalar, StructOfArrays
from triptych.targets.cpu.emit.warp import Warp

_FORMAT = FLOAT_FORMATS["bf16"]
_BITS = "i16"
_MANY = 8
"""Elements from which on a call takes less time to compile than it costs."""


def stays_for_warps(operation: Operation) -> bool:
    """Whether a conversion to BFloat16 is of so many elements of a thread that `round_many` is to emit it."""
    if not _rounds_many(operation) or {SATURATE, "roundingmode"} & set(operation.attributes):
        return False
    while (operation := enclosing(operation)).name not in ("gpu.func", "func.func"):
        pass
    return operation.name == "gpu.func"


def round_many(warp: Warp, operation: Operation) -> bool:
    """Emit such a conversion; whether the operation is one."""
    if not _rounds_many(operation):
        return False
    source, result, code = operation.operands[0], operation.results[0], warp.code
    count, _ = count_and_element(source.type) or (1, "")
    found = warp.get(source)
    if isinstance(found, Scalar):
        warp.set(result, Scalar(_rounded(code, found.value, count).value))
    elif isinstance(found, ArrayOfStructs):
        warp.set(result, ArrayOfStructs(_rounded(code, found.value, count * code.width).value, count))
    else:
        wide = code.wide(_FORMAT.mlir)
        bits = _call(warp, warp.rows(source))
        warp.set(result, StructOfArrays([code.value("arith.bitcast", (row,), wide) for row in bits]))
    return True


def _rounded(code: LaneBuilder, numbers: Value, count: int) -> Expression:
    return narrow(Expression(code, numbers, "f32", count), _FORMAT)


def _rounds_many(operation: Operation) -> bool:
    if operation.name != "arith.truncf":
        return False
    given, made = (count_and_element(value.type) for value in (operation.operands[0], operation.results[0]))
    if given is None or made is None or made[0] < _MANY:
        return False
    return is_float(given[1], 32) and type_text(made[1]) == _FORMAT.mlir


def _call(warp: Warp, rows: Sequence[Value]) -> list[Value]:
    """The bits of the rounded elements."""
    code, count = warp.code, len(rows)
    wide, narrowed = code.wide("f32"), code.wide(_BITS)
    before, after = (min(ALIGNMENT, size * code.width) for size in (4, 2))
    source = warp.arrays.scratch(code.vector(count * code.width, "f32"), "rounded")
    target = warp.arrays.scratch(code.vector(count * code.width, _BITS), "rounded")

    def write(memory: Sequence[Value]) -> None:
        low, high, step = (code.constant(number, "i32") for number in (0, count, 1))

        def round_one(number: Value) -> None:
            row = code.load(code.offset(memory[0], number, wide), wide, before)
            code.store(_rounded(code, row, code.width).bits().value, code.offset(memory[1], number, narrowed), after)

        loop(code, low, high, step, round_one)

    for i, row in enumerate(rows):
        code.store(row, code.offset(source, i, wide), before)
    warp.arrays.call(code, f"bfloat16.{count}x{code.width}", (source, target), write)
    return [code.load(code.offset(target, i, narrowed), narrowed, after) for i in range(count)]
