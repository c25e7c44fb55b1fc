"""Pass `call-libm`: functions that upstream lowers to an inexact formula call the C mathematics library instead.

Input: what vector formulas leave, scalars and `f64` lanes. Upstream lowers `expm1(x)` to `exp(x) - 1` and `log1p(x)`
to `log(1 + x)`, which lose every digit near zero, where these functions are for. Narrow floats are computed in `f32`.
"""

from __future__ import annotations

from triptych.ir.expressions import element_and_lanes
from triptych.ir.handles import Module, Value
from triptych.ir.modules import append_ir, operations_named
from triptych.ir.passes import Replacement, Rule, replace_each

_FUNCTIONS = {"math.expm1": "expm1", "math.log1p": "log1p"}
INEXACT = frozenset(_FUNCTIONS)
"""What upstream has such a formula for."""


def call_libm(module: Module) -> None:
    """Replace every such operation by a call, a vector by one call for each lane."""
    for name, function in _FUNCTIONS.items():
        found = operations_named(module, name)
        if found:
            append_ir(module, _declarations(function))
        replace_each(found, _calling(function))


def _declarations(function: str) -> str:
    return f"func.func private @{function}f(f32) -> f32\nfunc.func private @{function}(f64) -> f64\n"


def _calling(function: str) -> Rule:
    def rule(op: Replacement) -> list[Value]:
        (argument,) = op.operands
        element, count = element_and_lanes(argument.type)
        if count is None:
            return [_call(op, function, argument, element)]
        lanes = [op.element(argument, i, element) for i in range(count)]
        called = [_call(op, function, lane, element) for lane in lanes]
        return [op.value("vector.from_elements", called, argument.type)]

    return rule


def _call(op: Replacement, function: str, argument: Value, element: str) -> Value:
    if element not in ("f32", "f64"):
        wide = _call(op, function, op.value("arith.extf", (argument,), "f32"), "f32")
        return op.value("arith.truncf", (wide,), element)
    callee = op.attribute(f"@{function}{'f' if element == 'f32' else ''}")
    return op.value("func.call", (argument,), element, {"callee": callee})
