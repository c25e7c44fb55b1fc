"""Reductions of register tensors: which elements combine, in which order, with which operation.

Input: a vector and the modes to reduce. Output: a vector of what is kept, or one number. The order is part of the
language: the second half is folded onto the first until one is left, so that N numbers take log2(N) dependent steps
and rounding errors grow with log2(N); of an odd number the last one waits for the end. Every target keeps it, and no
product is contracted into a sum here, so that the result is the same everywhere.
"""

from __future__ import annotations

from collections.abc import Callable
from enum import Enum
from typing import Any, Literal, TypeAlias

from triptych.cute.dynamic.static_values import positions_of
from triptych.cute.memory.vectors import pick
from triptych.ir.handles import Value
from triptych.layout import Shape, dice, make_layout, slice_
from triptych.metastage.trace.errors import OperandTypeError
from triptych.metastage.trace.trace import Trace, place
from triptych.metastage.values import arithmetic
from triptych.metastage.values.promotion import TypeInfo
from triptych.support.dataclass import dataclass

Extreme = Literal["min", "max"]


def extreme(
    emitter: Trace, which: Extreme, info: TypeInfo, left: Value, right: Value, *, propagate_nan: bool = False
) -> Value:
    """The smaller or larger one. Of a NaN and a number it is the number, unless NaNs propagate."""
    return emitter.value(_operation(which, info, propagate_nan), (left, right), info.mlir)


def _operation(which: Extreme, info: TypeInfo, propagate_nan: bool) -> str:
    if info.kind == "float":
        return f"arith.{which}imumf" if propagate_nan else f"arith.{which}numf"
    return f"arith.{which}{'s' if info.kind == 'int' else 'u'}i"


Profile: TypeAlias = "int | tuple[Profile, ...] | None"


class ReductionOp(Enum):
    """How two elements become one."""

    ADD = "add"
    MUL = "mul"
    MAX = "max"
    MIN = "min"
    # Only copies that reduce into memory have the following.
    INC = "inc"
    DEC = "dec"
    AND = "and"
    OR = "or"
    XOR = "xor"

    def combine(self, emitter: Trace, info: TypeInfo, left: Value, right: Value) -> Value:
        """Two partial results as one."""
        match self:
            case ReductionOp.ADD | ReductionOp.MUL:
                with emitter.contraction.forbidden():
                    return arithmetic.binary(emitter, _OPERATORS[self], info, left, right, None)
            case ReductionOp.MAX:
                return extreme(emitter, "max", info, left, right)
            case ReductionOp.MIN:
                return extreme(emitter, "min", info, left, right)
            case _:
                raise OperandTypeError(
                    f"{self.name} reduces memory, not values",
                    span=place(),
                    found=str(self),
                    expected="ReductionOp.ADD, MUL, MAX or MIN",
                )


_OPERATORS = {ReductionOp.ADD: "+", ReductionOp.MUL: "*"}


@dataclass(frozen=True, slots=True)
class ReductionPlan:
    """The elements of a tensor in the order of reduction: for each reduced coordinate, all that is kept."""

    kept: Shape
    positions: tuple[int, ...]
    kept_count: int
    reduced_count: int


def plan_reduction(shape: Shape, profile: Profile) -> ReductionPlan:
    """Modes at which the profile has None are kept; a number, whichever it is, reduces the whole mode."""
    layout, zero = make_layout(shape), _zeros(profile)
    kept, reduced = slice_(layout, zero), dice(layout, zero)
    starts, steps = positions_of(reduced), positions_of(kept)
    positions = tuple(start + step for start in starts for step in steps)
    return ReductionPlan(_kept(shape, profile), positions, len(steps), len(starts))


def fold(
    trace: Trace, vector: Value, plan: ReductionPlan, element: str, combine: Callable[[int, Value, Value], Value]
) -> Value:
    """What is kept, each element the fold of those that were reduced; `combine` takes the number of elements first."""
    total, kept, count = len(plan.positions), plan.kept_count, plan.reduced_count
    vector = pick(trace, vector, total, plan.positions, element)
    waiting = []

    def part(begin: int, end: int) -> Any:
        return pick(trace, vector, total, range(begin * kept, end * kept), element)

    while count > 1:
        if count % 2:
            count -= 1
            waiting.append(part(count, count + 1))
        count //= 2
        vector, total = combine(count * kept, part(0, count), part(count, 2 * count)), count * kept
    for last in waiting:
        vector = combine(kept, vector, last)
    return vector


def _zeros(profile: Profile) -> Any:
    if isinstance(profile, tuple):
        return tuple(map(_zeros, profile))
    return None if profile is None else 0


def _kept(shape: Shape, profile: Profile) -> Any:
    """The kept modes, nested as they were; () when nothing is."""
    if not isinstance(profile, tuple) or not isinstance(shape, tuple):
        return shape if profile is None else ()
    parts = [_kept(mode, inner) for mode, inner in zip(shape, profile, strict=True)]
    return tuple(part for part in parts if part != ())
