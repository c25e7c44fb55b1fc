"""MMA of a warp on operands in registers: calls of functions that are made for each instruction."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from hashlib import sha256

from triptych.ir.errors import LoweringError
from triptych.ir.handles import Operation, Value
from triptych.ir.location import place_of
from triptych.kernel_ir.dialects.mma import WARP_MMAS
from triptych.kernel_ir.dialects.tile import MMA
from triptych.targets.cpu.emit.mma_tiles import function_name, product_functions
from triptych.targets.cpu.emit.values import StackSlot
from triptych.targets.cpu.emit.warp import Warp
from triptych.targets.cpu.emit.whole_warps import require_whole_warp


def multiply(warp: Warp, operation: Operation) -> None:
    """All tiles by one call: the arrays of the warp, and where in them the registers of each tile are."""
    require_whole_warp(warp, operation)
    instruction = WARP_MMAS[str(operation.attributes["instruction"].value)]
    warp.arrays.define(product_functions(instruction))
    arrays = [array_of(warp, operation, operand) for operand in operation.operands]
    tables = [table(warp, list(operation.attributes[name])) for name in "dabc"]
    counts = [warp.code.constant(count, "i64") for count in operation.attributes["tiles"]]
    callee = {"callee": warp.code.attribute(f"@{function_name(instruction)}")}
    warp.code.operation("func.call", [*arrays, *tables, *counts], attributes=callee)


def array_of(warp: Warp, operation: Operation, operand: Value) -> Value:
    """The address of this warp's part of an array that an instruction takes whole."""
    found = warp.get(operand)
    if not isinstance(found, StackSlot) or found.index or found.dynamic is not None:
        raise LoweringError(
            "the CPU target multiplies fragments that are arrays of their own, accessed by whole elements",
            span=place_of(operation),
            found=str(operand),
        )
    return warp.arrays.private(warp, found.root)[1]


def table(warp: Warp, places: Sequence[int]) -> Value:
    """A constant array of numbers."""
    text = ", ".join(map(str, places))
    name, kind = f"registers.{sha256(text.encode()).hexdigest()[:16]}", f"!llvm.array<{len(places)} x i32>"
    warp.arrays.define(
        f"llvm.mlir.global internal constant @{name}(dense<[{text}]> : tensor<{len(places)}xi32>) : {kind}"
    )
    return warp.code.value("llvm.mlir.addressof", (), "!llvm.ptr", {"global_name": warp.code.attribute(f"@{name}")})


HANDLERS: dict[str, Callable[[Warp, Operation], None]] = {MMA: multiply}
