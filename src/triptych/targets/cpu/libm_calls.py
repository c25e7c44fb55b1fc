"""Pass `call-libm`: functions that upstream lowers to an inexact formula call the C mathematics library instead.

Input: what vector formulas leave, scalars and `f64` lanes. Upstream lowers `expm1(x)` to `exp(x) - 1` and `log1p(x)`
to `log(1 + x)`, which lose every digit near zero, where these functions are for. Narrow floats are computed in `f32`.
"""

from __future__ import annotations

import re
from typing import Any

from triptych.ir import bindings
from triptych.ir.builder import Builder
from triptych.ir.modules import graft, operations_named

_FUNCTIONS = {"math.expm1": "expm1", "math.log1p": "log1p"}
INEXACT = frozenset(_FUNCTIONS)
"""What upstream has such a formula for."""
_VECTOR = re.compile(r"vector<(\d+)x(\w+)>")


def call_libm(module: Any) -> None:
    """Replace every such operation by a call, a vector by one call for each lane."""
    for name, function in _FUNCTIONS.items():
        found = operations_named(module, name)
        if found:
            graft(module, _declarations(function))
        for operation in found:
            _replace(operation, function)


def _declarations(function: str) -> str:
    return f"func.func private @{function}f(f32) -> f32\nfunc.func private @{function}(f64) -> f64\n"


def _replace(operation: Any, function: str) -> None:
    call = _Call(operation, function)
    argument = operation.operands[0]
    vector = _VECTOR.fullmatch(str(argument.type))
    if vector is None:
        value = call.of(argument, str(argument.type))
    else:
        lanes = [call.lane(argument, i, vector[2]) for i in range(int(vector[1]))]
        value = call.emit("vector.from_elements", [call.of(lane, vector[2]) for lane in lanes], vector[0])
    operation.results[0].replace_all_uses_with(value)
    operation.erase()


class _Call:
    """Builds calls of one function in front of the operation that they replace, at its place in the source."""

    def __init__(self, operation: Any, function: str) -> None:
        self._builder = Builder(operation.context)
        self._builder.insertion = bindings.mlir().InsertionPoint(operation)
        self._location = operation.location
        self._function = function

    def of(self, argument: Any, element: str) -> Any:
        if element not in ("f32", "f64"):
            wide = self.of(self.emit("arith.extf", (argument,), "f32"), "f32")
            return self.emit("arith.truncf", (wide,), element)
        callee = self._builder.attribute(f"@{self._function}{'f' if element == 'f32' else ''}")
        return self.emit("func.call", (argument,), element, {"callee": callee})

    def lane(self, vector: Any, position: int, element: str) -> Any:
        where = {"static_position": self._builder.attribute(f"array<i64: {position}>")}
        return self.emit("vector.extract", (vector,), element, where)

    def emit(self, name: str, operands: Any, result: str, attributes: dict[str, Any] | None = None) -> Any:
        return self._builder.value(name, operands, self._builder.type(result), self._location, attributes)
