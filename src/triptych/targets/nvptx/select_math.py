"""Pass `select-math`: mathematics that a GPU has instructions for becomes what LLVM selects them for.

Input: kernels with `math` operations. Output: kernels in which only functions of libdevice are left as such. Exact
functions (roots, roundings, extremes) have an instruction for every type; where the program allows approximations
(`afn`), so have the transcendental ones of 32 bits. Intrinsics are called by name, because upstream's pass refuses the
operations of those that it would have sent to libdevice.
"""

from __future__ import annotations

import math
import re
from collections.abc import Callable, Mapping, Sequence
from typing import Any

from triptych.ir import bindings
from triptych.ir.builder import Builder
from triptych.ir.modules import operations_named
from triptych.targets.nvptx.kernels import kernels

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
_VECTOR = re.compile(r"vector<(\d+)x(\w+)>")
_APPROXIMATE = "#llvm.fastmath<afn>"
_WIDENED = frozenset({"f16", "bf16"})


def select_math(module: Any) -> None:
    """Replace the operations of every kernel."""
    for kernel in kernels(module):
        for operation in operations_named(kernel, *SELECTED):
            name = operation.name
            if name in _EXACT:
                _Replacement(operation).by_intrinsic(_EXACT[name])
            elif name in _BITS:
                _Replacement(operation).by_operation(*_BITS[name])
            elif _may_approximate(operation):
                _Replacement(operation).by_lanes(_FORMULAS[name])
            elif name in _SAME_IN_LIBDEVICE:
                _Replacement(operation).by_lanes(_SAME_IN_LIBDEVICE[name])


def _may_approximate(operation: Any) -> bool:
    flags = str(operation.attributes["fastmath"]) if "fastmath" in operation.attributes else ""
    return re.search(r"\b(afn|fast)\b", flags) is not None


class _Replacement:
    """Builds what stands for an operation, in front of it and at its place in the source."""

    def __init__(self, operation: Any) -> None:
        self._operation = operation
        self._builder = Builder(operation.context)
        self._builder.insertion = bindings.mlir().InsertionPoint(operation)
        self._type = str(operation.results[0].type)

    def by_intrinsic(self, function: str) -> None:
        """The same operands go to an intrinsic, with the liberties that the program allows."""
        vector = _VECTOR.fullmatch(self._type)
        suffix = f"v{vector[1]}{vector[2]}" if vector else self._type
        flags = "#llvm.fastmath<none>"
        if "fastmath" in self._operation.attributes:
            flags = str(self._operation.attributes["fastmath"]).replace("#arith", "#llvm")
        self._finish(self.call(f"llvm.{function}.{suffix}", tuple(self._operation.operands), self._type, flags))

    def by_operation(self, name: str, attributes: Mapping[str, str]) -> None:
        """The same operands go to an operation of the LLVM dialect."""
        given = {attribute: self._builder.attribute(text) for attribute, text in attributes.items()}
        self._finish(self.value(name, tuple(self._operation.operands), self._type, given))

    def by_lanes(self, formula: _Formula) -> None:
        """A formula over numbers of 32 bits goes to each lane; other types keep the function of libdevice."""
        vector = _VECTOR.fullmatch(self._type)
        element = vector[2] if vector else self._type
        if element not in (*_WIDENED, "f32"):
            return
        operand = self._operation.operands[0]
        if vector is None:
            self._finish(self._lane(formula, operand, element))
            return
        places = [self._builder.attribute(f"array<i64: {i}>") for i in range(int(vector[1]))]
        lanes = [self.value("vector.extract", (operand,), element, {"static_position": at}) for at in places]
        made = [self._lane(formula, lane, element) for lane in lanes]
        self._finish(self.value("vector.from_elements", made, self._type))

    def _lane(self, formula: _Formula, lane: Any, element: str) -> Any:
        if element not in _WIDENED:
            return formula(self, lane)
        wide = self.value("arith.extf", (lane,), "f32")
        return self.value("arith.truncf", (formula(self, wide),), element)

    # what formulas are made of ----------------------------------------------------------------------------------
    def approximate(self, intrinsic: str, operand: Any) -> Any:
        return self.call(intrinsic, (operand,), "f32", _APPROXIMATE)

    def times(self, operand: Any, factor: float) -> Any:
        constant = self.value("arith.constant", (), "f32", {"value": self._builder.float("f32", factor)})
        return self.value("arith.mulf", (operand, constant), "f32")

    def call(self, intrinsic: str, operands: Sequence[Any], result: str, flags: str) -> Any:
        attributes = self._builder.call(
            len(operands), intrin=self._builder.string(intrinsic), fastmathFlags=self._builder.attribute(flags)
        )
        return self.value("llvm.call_intrinsic", operands, result, attributes)

    def value(
        self, name: str, operands: Sequence[Any], result: str, attributes: Mapping[str, Any] | None = None
    ) -> Any:
        builder = self._builder
        return builder.value(name, operands, builder.type(result), self._operation.location, attributes)

    def _finish(self, value: Any) -> None:
        self._operation.results[0].replace_all_uses_with(value)
        self._operation.erase()


_Formula = Callable[[_Replacement, Any], Any]

_FORMULAS: dict[str, _Formula] = {
    "math.cos": lambda use, x: use.approximate("llvm.cos.f32", x),
    "math.exp": lambda use, x: use.approximate("llvm.nvvm.ex2.approx.ftz.f", use.times(x, math.log2(math.e))),
    "math.exp2": lambda use, x: use.approximate("llvm.nvvm.ex2.approx.ftz.f", x),
    "math.log": lambda use, x: use.times(use.approximate("llvm.nvvm.lg2.approx.f", x), math.log(2)),
    "math.log10": lambda use, x: use.times(use.approximate("llvm.nvvm.lg2.approx.f", x), math.log10(2)),
    "math.log2": lambda use, x: use.approximate("llvm.nvvm.lg2.approx.f", x),
    "math.rsqrt": lambda use, x: use.approximate("llvm.nvvm.rsqrt.approx.f", x),
    "math.sin": lambda use, x: use.approximate("llvm.sin.f32", x),
    "math.tanh": lambda use, x: use.approximate("llvm.tanh.f32", x),
}
"""Approximations of 32-bit numbers, each an instruction or two. Subnormal results of powers of two would take three
more instructions each and are zeros."""

_SAME_IN_LIBDEVICE: dict[str, _Formula] = {
    "math.exp2": lambda use, x: use.approximate("llvm.exp2.f32", x),
    "math.rsqrt": _FORMULAS["math.rsqrt"],
}
"""What libdevice has no better way to compute, approximations allowed or not."""
SELECTED = frozenset((*_EXACT, *_BITS, *_FORMULAS))
"""What is replaced, as far as its type allows."""
