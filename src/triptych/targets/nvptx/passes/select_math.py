"""Pass `select-math`: mathematics that a GPU has instructions for becomes what LLVM selects them for.

Input: kernels with `math` operations. Output: kernels in which only functions of libdevice are left as such. Exact
functions (roots, roundings, extremes) have an instruction for every type; where the program allows approximations
(`afn`), so have the transcendental ones of 32 bits. Intrinsics are called by name, because upstream's pass refuses the
operations of those that it would have sent to libdevice.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence

from triptych.ir.expressions import element_and_lanes
from triptych.ir.handles import Module, Type, Value
from triptych.ir.modules import kernels, operations_named
from triptych.ir.passes import Replacement, replace_each
from triptych.ir.types import TypeOrText, may_approximate

_EXACT = {
    "arith.maxnumf": "maxnum",
    "arith.minnumf": "minnum",
    "math.absf": "fabs",
    "math.ceil": "ceil",
    "math.copysign": "copysign",
    "math.floor": "floor",
    "math.fma": "fma",
    "math.round": "round",
    "math.roundeven": "roundeven",
    "math.sqrt": "sqrt",
    "math.trunc": "trunc",
}
_BITS: dict[str, tuple[str, dict[str, str]]] = {
    "math.ctlz": ("llvm.intr.ctlz", {"is_zero_poison": "false"}),
    "math.ctpop": ("llvm.intr.ctpop", {}),
    "math.cttz": ("llvm.intr.cttz", {"is_zero_poison": "false"}),
}
_APPROXIMATE, _EXACTLY = "#llvm.fastmath<afn>", "#llvm.fastmath<none>"
_WIDENED = frozenset({"f16", "bf16"})


def select_math(module: Module) -> None:
    """Replace the operations of every kernel."""
    for kernel in kernels(module):
        replace_each(operations_named(kernel, *SELECTED), _selected)


def _selected(op: Replacement) -> list[Value] | None:
    name, kind = op.operation.name, op.operation.results[0].type
    if name in _EXACT:
        return [_by_intrinsic(op, _EXACT[name], kind)]
    if name in _BITS:
        operation, attributes = _BITS[name]
        return [op.value(operation, op.operands, kind, {key: op.attribute(text) for key, text in attributes.items()})]
    formula = (_FORMULAS if may_approximate(op.operation) else _SAME_IN_LIBDEVICE).get(name)
    return None if formula is None else _by_lanes(op, formula, kind)


def _by_intrinsic(op: Replacement, function: str, kind: Type) -> Value:
    """The same operands go to an intrinsic, with the liberties that the program allows."""
    element, lanes = element_and_lanes(kind)
    suffix = element if lanes is None else f"v{lanes}{element}"
    attributes = op.operation.attributes
    flags = str(attributes["fastmath"]).replace("#arith", "#llvm") if "fastmath" in attributes else _EXACTLY
    return _call(op, f"llvm.{function}.{suffix}", op.operands, kind, flags)


def _by_lanes(op: Replacement, formula: _Formula, kind: Type) -> list[Value] | None:
    """A formula over numbers of 32 bits goes to each lane; other types keep the function of libdevice."""
    element, count = element_and_lanes(kind)
    if element not in (*_WIDENED, "f32"):
        return None
    operand = op.operands[0]
    if count is None:
        return [_lane(op, formula, operand, element)]
    lanes = [op.element(operand, i, element) for i in range(count)]
    return [op.value("vector.from_elements", [_lane(op, formula, lane, element) for lane in lanes], kind)]


def _lane(op: Replacement, formula: _Formula, lane: Value, element: str) -> Value:
    if element not in _WIDENED:
        return formula(op, lane)
    wide = op.value("arith.extf", (lane,), "f32")
    return op.value("arith.truncf", (formula(op, wide),), element)


# what formulas are made of --------------------------------------------------------------------------------------
def _approximate(op: Replacement, intrinsic: str, operand: Value) -> Value:
    return _call(op, intrinsic, (operand,), "f32", _APPROXIMATE)


def _times(op: Replacement, operand: Value, factor: float) -> Value:
    constant = op.value("arith.constant", (), "f32", {"value": op.builder.float("f32", factor)})
    return op.value("arith.mulf", (operand, constant), "f32")


def _call(op: Replacement, intrinsic: str, operands: Sequence[Value], result: TypeOrText, flags: str) -> Value:
    name, liberties = op.builder.string(intrinsic), op.attribute(flags)
    attributes = op.builder.call_attributes(len(operands), intrin=name, fastmathFlags=liberties)
    return op.value("llvm.call_intrinsic", operands, result, attributes)


_Formula = Callable[[Replacement, Value], Value]

_FORMULAS: dict[str, _Formula] = {
    "math.cos": lambda op, x: _approximate(op, "llvm.cos.f32", x),
    "math.exp": lambda op, x: _approximate(op, "llvm.nvvm.ex2.approx.ftz.f", _times(op, x, math.log2(math.e))),
    "math.exp2": lambda op, x: _approximate(op, "llvm.nvvm.ex2.approx.ftz.f", x),
    "math.log": lambda op, x: _times(op, _approximate(op, "llvm.nvvm.lg2.approx.f", x), math.log(2)),
    "math.log10": lambda op, x: _times(op, _approximate(op, "llvm.nvvm.lg2.approx.f", x), math.log10(2)),
    "math.log2": lambda op, x: _approximate(op, "llvm.nvvm.lg2.approx.f", x),
    "math.rsqrt": lambda op, x: _approximate(op, "llvm.nvvm.rsqrt.approx.f", x),
    "math.sin": lambda op, x: _approximate(op, "llvm.sin.f32", x),
    "math.tanh": lambda op, x: _approximate(op, "llvm.tanh.f32", x),
}
"""Approximations of 32-bit numbers, each an instruction or two. Subnormal results of powers of two would take three
more instructions each and are zeros."""

_SAME_IN_LIBDEVICE: dict[str, _Formula] = {
    "math.exp2": lambda op, x: _approximate(op, "llvm.exp2.f32", x),
    "math.rsqrt": _FORMULAS["math.rsqrt"],
}
"""What libdevice has no better way to compute, approximations allowed or not."""
SELECTED = frozenset((*_EXACT, *_BITS, *_FORMULAS))
"""What is replaced, as far as its type allows."""
