"""LLVM intrinsics that work element by element: the same intrinsic, named for vectors of lanes."""

from __future__ import annotations

import re
from collections.abc import Callable

from triptych.ir.errors import LoweringError
from triptych.ir.handles import Operation
from triptych.ir.location import place_of
from triptych.ir.types import count_and_element
from triptych.targets.cpu.emit.values import Scalar, StructOfArrays, Vector
from triptych.targets.cpu.emit.warp import Warp

_ELEMENTWISE = ("llvm.fptosi.sat.", "llvm.fptoui.sat.", "llvm.fma.", "llvm.canonicalize.")
_TYPE = re.compile(r"(v\d+)?(i\d+|f\d+|bf\d+)")


def _for_lanes(name: str, width: int) -> str:
    """`llvm.fptosi.sat.i64.f32` for vectors: `llvm.fptosi.sat.v32i64.v32f32`."""
    parts = []
    for part in name.split("."):
        found = _TYPE.fullmatch(part)
        parts.append(f"v{width}{found[2]}" if found else part)
    return ".".join(parts)


def call(warp: Warp, operation: Operation) -> None:
    name = str(operation.attributes["intrin"].value)
    result, operands, code = operation.results[0], list(operation.operands), warp.code
    attributes = {key: operation.attributes[key] for key in operation.attributes}
    if warp.analysis.at(result).known and all(isinstance(warp.get(operand), Scalar) for operand in operands):
        scalars = [warp.scalar(operand) for operand in operands]
        warp.set(result, Scalar(code.value("llvm.call_intrinsic", scalars, result.type, attributes)))
        return
    if not name.startswith(_ELEMENTWISE):
        raise LoweringError(f"the CPU target cannot run {name} in a kernel", span=place_of(operation))
    attributes["intrin"] = code.string(_for_lanes(name, code.width))
    counted = count_and_element(result.type)
    if counted is None:
        kind, vectors = code.wide(result.type), [warp.vector(operand) for operand in operands]
        warp.set(result, Vector(code.value("llvm.call_intrinsic", vectors, kind, attributes)))
        return
    kind = code.wide(counted[1])
    rows = zip(*(warp.rows(operand) for operand in operands), strict=True)
    warp.set(result, StructOfArrays([code.value("llvm.call_intrinsic", row, kind, attributes) for row in rows]))


HANDLERS: dict[str, Callable[[Warp, Operation], None]] = {"llvm.call_intrinsic": call}
