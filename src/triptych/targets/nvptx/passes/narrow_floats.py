"""Passes `expand-narrow-floats`, `widen-bfloats` for NVIDIA GPUs: conversion instructions that give the right numbers.

Input: a traced module. Output: the same module without fp8, fp6, fp4 and TF32, and without saturating conversions.

The instructions to 8, 6 and 4 bits convert two numbers at once and always saturate; where a conversion is not to, what
is too large is told apart before (`overflows`). Conversions from these formats go through Float16, which holds every
number of them. Of the two roundings to TF32 only the one to nearest even is ours, and what it leaves in the bits
that TF32 does not have is nowhere promised.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import reduce

from triptych.ir.builder import Builder
from triptych.ir.expressions import Expression, gather, select, vector_type
from triptych.ir.handles import Module, Operation, Value
from triptych.ir.modules import kernels, operations_named
from triptych.ir.passes import Replacement, replace_each
from triptych.ir.types import count_and_element, element_type, is_integer, lanes
from triptych.kernel_ir.dialects.kernel_operations import defining_op
from triptych.kernel_ir.transforms.narrow_floats.expansion import expand_narrow_floats
from triptych.kernel_ir.transforms.narrow_floats.operations import FloatMachine
from triptych.kernel_ir.transforms.narrow_floats.rounding import clamped, overflows, pack, unpack
from triptych.support.dataclass import dataclass
from triptych.support.float_formats import SATURATE, FloatFormat
from triptych.targets.nvptx.description.architectures import Architecture

_FROM_INTEGERS = frozenset({"arith.sitofp", "arith.uitofp"})
_BFLOAT16_FROM_INTEGERS_SINCE = 90
"""LLVM goes through Float32 for older ones, and rounds large integers twice."""
_TF32_SINCE, _FINITE_TF32_SINCE = 90, 100
_TF32_BITS = -(1 << 13)


@dataclass(frozen=True, slots=True)
class _Pairs:
    """Intrinsics that convert two numbers, from Float32 and to a 16-bit float, and the first GPUs that have them."""

    narrow: str
    widen: str
    since: int
    half: str = "f16"


_PAIRS = {
    "f8E4M3FN": _Pairs("ff.to.e4m3x2.rn", "e4m3x2.to.f16x2.rn", 89),
    "f8E5M2": _Pairs("ff.to.e5m2x2.rn", "e5m2x2.to.f16x2.rn", 89),
    "f6E2M3FN": _Pairs("ff.to.e2m3x2.rn.satfinite", "e2m3x2.to.f16x2.rn", 100),
    "f6E3M2FN": _Pairs("ff.to.e3m2x2.rn.satfinite", "e3m2x2.to.f16x2.rn", 100),
    "f4E2M1FN": _Pairs("ff.to.e2m1x2.rn.satfinite", "e2m1x2.to.f16x2.rn", 100),
    "f8E8M0FNU": _Pairs("", "ue8m0x2.to.bf16x2", 100, "bf16"),  # no instruction rounds to nearest
}
_SATURATING = {"f16": "f2f16.rn.satfinite", "bf16": "f2bf16.rn.satfinite"}


def expanding(architecture: Architecture) -> Callable[[Module], bool]:
    """The pass for one architecture."""
    machine = NvidiaFloats(architecture)

    def expand(module: Module) -> bool:
        return expand_narrow_floats(module, machine)

    return expand


class NvidiaFloats(FloatMachine):
    """16-bit floats are the machine's own; narrower ones it converts, as far as the architecture can."""

    name = "the GPU"

    def __init__(self, architecture: Architecture) -> None:
        self._generation = architecture.generation

    def does(self, operation: Operation, formats: frozenset[str]) -> bool:
        if SATURATE in operation.attributes:
            return False
        if operation.name in _FROM_INTEGERS:
            is_wide = is_integer(element_type(operation.operands[0].type), 128)
            return not is_wide and ("bf16" not in formats or self._generation >= _BFLOAT16_FROM_INTEGERS_SINCE)
        return True

    def widen(self, value: Expression, form: FloatFormat, wide: str = "f32") -> Expression:
        pairs = self._pairs(form)
        if pairs is None:
            return super().widen(value, form, wide)
        halves = [self.instruction(value.builder, pairs.widen, (word,), pairs.half, 2) for word in _words(value, form)]
        joined = reduce(lambda left, right: left.join(right), halves)
        found = joined.at(0) if value.lanes is None else joined.pick(range(value.lanes))
        return found.convert("extf", wide)

    def narrow_single(self, value: Expression, form: FloatFormat, saturate: bool) -> Expression:
        pairs = self._pairs(form)
        if pairs is not None and pairs.narrow:
            return self._narrow_pairs(value, form, pairs.narrow, saturate)
        if form.mlir in _SATURATING:
            return self._narrow_half(value, form, saturate)
        if form.mlir == "tf32" and self._generation >= _TF32_SINCE:
            return self._narrow_tf32(value, form, saturate)
        return super().narrow_single(value, form, saturate)

    def instruction(
        self, builder: Builder, name: str, operands: Sequence[Expression], element: str, lanes: int | None = None
    ) -> Expression:
        """Call an intrinsic of NVIDIA's."""
        given, kind = [operand.value for operand in operands], vector_type(element, lanes)
        made = builder.intrinsic(f"llvm.nvvm.{name}", given, [kind]).result
        return Expression(builder, made, element, lanes)

    def _pairs(self, form: FloatFormat) -> _Pairs | None:
        pairs = _PAIRS.get(form.mlir)
        return pairs if pairs is not None and self._generation >= pairs.since else None

    def _narrow_pairs(self, value: Expression, form: FloatFormat, intrinsic: str, saturate: bool) -> Expression:
        numbers = value.each()
        if len(numbers) % 2:
            numbers.append(numbers[0].filled(0.0))
        words = []
        for low, high in zip(numbers[::2], numbers[1::2], strict=True):
            word = self.instruction(value.builder, intrinsic, (high, low), "i16")
            if not saturate and form.nan is not None:
                word = word + _steps(overflows(low, form), overflows(high, form), word)
            words.append(word)
        return _bytes(words, form, value.lanes)

    def _narrow_half(self, value: Expression, form: FloatFormat, saturate: bool) -> Expression:
        if not saturate:
            return value.convert("truncf", form.mlir)
        made = [
            self.instruction(value.builder, _SATURATING[form.mlir], (number,), form.mlir) for number in value.each()
        ]
        return made[0] if value.lanes is None else gather(made)

    def _narrow_tf32(self, value: Expression, form: FloatFormat, saturate: bool) -> Expression:
        finite = saturate and self._generation >= _FINITE_TF32_SINCE
        intrinsic = "f2tf32.rn.satfinite" if finite else "f2tf32.rn"
        made = [self.instruction(value.builder, intrinsic, (number,), "i32") for number in value.each()]
        bits = made[0] if value.lanes is None else gather(made)
        rounded = (bits & _TF32_BITS).bits_as("f32")
        return clamped(rounded, form) if saturate and not finite else rounded


def _steps(low: Expression, high: Expression, word: Expression) -> Expression:
    """One more for each half of a word whose number overflows: the pattern after the largest number."""
    return select(low, 1, word.filled(0)) + select(high, 1 << 8, word.filled(0))


def _words(value: Expression, form: FloatFormat) -> list[Expression]:
    """Stored numbers as the instructions take them: two in 16 bits, or in the low 8 of them."""
    if value.lanes is None:
        return [value.convert("extui", "i16")]
    even = value if value.lanes % 2 == 0 else value.pick([*range(value.lanes), value.lanes - 1])
    assert even.lanes is not None, "vectors picked from are vectors"
    if form.width < 5:
        return pack(even, form.width).convert("extui", "i16").each()
    return even.recast("i16", even.lanes // 2).each()


def _bytes(words: Sequence[Expression], form: FloatFormat, lanes: int | None) -> Expression:
    """The other way round."""
    if lanes is None:
        byte = words[0].convert("trunci", "i8")
        return byte & ((1 << form.width) - 1) if form.width < 5 else byte
    together = gather(words)
    if form.width < 5:
        return unpack(together.convert("trunci", "i8"), form.width).pick(range(lanes))
    return together.recast("i8", 2 * len(words)).pick(range(lanes))


# Pass `widen-bfloats`: a pair of BFloat16 in one register becomes two Float32 by one instruction each.
#
# A BFloat16 is the upper half of a Float32. LLVM takes the two of a register apart before it converts each: of the
# upper one nothing has to be moved, only the lower one has to go.

WIDENINGS = frozenset({"arith.extf"})
_PAIR = "vector<2xbf16>"
_UPPER_HALF = 0xFFFF0000


def widen_bfloats(module: Module) -> None:
    """Replace the conversions of vectors; one number by itself is in no pair."""
    for kernel in kernels(module):
        replace_each(operations_named(kernel, *WIDENINGS), _by_pairs)


def _by_pairs(op: Replacement) -> list[Value] | None:
    result = op.operation.results[0].type
    source, wide = (count_and_element(kind) for kind in (op.operands[0].type, result))
    if source is None or wide is None or (str(source[1]), str(wide[1])) != ("bf16", "f32") or source[0] % 2:
        return None
    numbers = [number for first in range(0, source[0], 2) for number in _pair(op, first)]
    return [op.value("vector.from_elements", numbers, result)]


def _pair(op: Replacement, first: int) -> list[Value]:
    both = op.value("llvm.bitcast", (_register(op, first),), "i32")
    halves = (
        op.value("arith.shli", (both, op.integer("i32", 16)), "i32"),
        op.value("arith.andi", (both, op.integer("i32", _UPPER_HALF)), "i32"),
    )
    return [op.value("arith.bitcast", (half,), "f32") for half in halves]


def _register(op: Replacement, first: int) -> Value:
    """Two neighbours of the vector; LLVM need not look for the elements of one that was made of them here."""
    vector = op.operands[0]
    if lanes(vector.type) == 2:
        return vector
    made_by = defining_op(vector)
    if made_by is not None and made_by.name == "vector.from_elements":
        return op.value("vector.from_elements", tuple(made_by.operands)[first : first + 2], _PAIR)
    mask = {"mask": op.attribute(f"array<i64: {first}, {first + 1}>")}
    return op.value("vector.shuffle", (vector, vector), _PAIR, mask)
