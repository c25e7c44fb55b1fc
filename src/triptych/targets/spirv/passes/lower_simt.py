"""Pass `lower-simt`: what threads of a warp and a block do together becomes OpenCL's barriers, ballots and shuffles.

A sub-group is a warp. Two functions carry everything: `sub_group_ballot`, and `sub_group_shuffle`, which reads the
value of any lane. What PTX says of modes, segments and members of its instructions is arithmetic on lane numbers here,
written from the public description of PTX alone: no other target takes part in it.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import reduce

from triptych.ir.expressions import Expression, select
from triptych.ir.handles import Module, Operation
from triptych.ir.modules import kernels, operations_named
from triptych.kernel_ir.dialects import simt
from triptych.targets.spirv import LANES, builtins
from triptych.targets.spirv.passes.warp import SubGroup

_LOW_BITS = LANES - 1
_SEGMENT_BITS = 8
"""Where the mask of segments begins in what a shuffle is given."""


def lower_simt(module: Module) -> None:
    """Replace all of them."""
    for kernel in kernels(module):
        warp = SubGroup(kernel)
        for operation in operations_named(kernel, *_RULES):
            made = _RULES[operation.name](warp.at(operation), operation)
            if made is not None:
                operation.results[0].replace_all_uses_with(made.value)
            operation.erase()


# lanes ----------------------------------------------------------------------------------------------------------------
def _shuffle(warp: SubGroup, operation: Operation) -> Expression:
    """A lane beyond the end of its segment keeps its own value."""
    _, value, offset, clamp = map(warp.of, operation.operands)
    lane, offset = warp.lane, offset & _LOW_BITS
    segment, end = (clamp >> _SEGMENT_BITS) & _LOW_BITS, clamp & _LOW_BITS
    first = lane & segment
    last = first | (end & ~segment)
    kind = operation.attributes["kind"].value
    source = {
        "idx": lambda: first | (offset & ~segment),
        "bfly": lambda: lane ^ offset,
        "up": lambda: lane - offset,
        "down": lambda: lane + offset,
    }[kind]()
    inside = source >= last if kind == "up" else source <= last
    return warp.read(value, select(inside, source, lane))


def _vote(warp: SubGroup, operation: Operation) -> Expression:
    members, predicate = map(warp.of, operation.operands)
    for_it, against = warp.ballot(predicate) & members, warp.ballot(predicate ^ 1) & members
    kind = operation.attributes["kind"].value
    if kind == "ballot":
        return for_it
    if kind == "any":
        return for_it.equals(0) ^ 1
    everybody = against.equals(0)
    return everybody if kind == "all" else everybody | for_it.equals(0)


def _reduce(warp: SubGroup, operation: Operation) -> Expression:
    """The values of the members, one lane after the other."""
    value, mask = map(warp.of, operation.operands)
    members, kind = warp.members(mask), operation.attributes["kind"].value
    if "abs" in operation.attributes:
        value = abs(value)
    combine = _extreme(kind, "nan" in operation.attributes) if kind in _FLOATS else _INTEGERS[kind]
    result, some = value, warp.number(0).equals(1)
    for lane in range(LANES):
        takes_part = ((members >> lane) & 1).equals(1)
        other = warp.read(value, warp.number(lane))
        joined = select(some, combine(result, other), other)
        result, some = select(takes_part, joined, result), some | takes_part
    return result


def _named(operation: str) -> Callable[[Expression, Expression], Expression]:
    return lambda left, right: left.emit(f"arith.{operation}", left, right)


_FLOATS = {"fmin": "minimumf", "fmax": "maximumf"}
_INTEGERS = {
    "add": _named("addi"),
    "and": _named("andi"),
    "or": _named("ori"),
    "xor": _named("xori"),
    "min": _named("minsi"),
    "max": _named("maxsi"),
    "umin": _named("minui"),
    "umax": _named("maxui"),
}


def _extreme(kind: str, keeps_nan: bool) -> Callable[[Expression, Expression], Expression]:
    """-0 is less than 0; NaN wins or is left out."""
    ordered = _named(_FLOATS[kind])
    if keeps_nan:
        return ordered

    def combine(left: Expression, right: Expression) -> Expression:
        either = select(right.differs(right), left, ordered(left, right))
        return select(left.differs(left), right, either)

    return combine


def _match(warp: SubGroup, operation: Operation) -> Expression:
    mask, value = map(warp.of, operation.operands)
    bits = value if value.element.startswith("i") else value.bits()
    alike = [warp.read(bits, warp.number(lane)).equals(bits).convert("extui", "i32") << lane for lane in range(LANES)]
    return reduce(lambda left, right: left | right, alike) & warp.members(mask)


def _elect(warp: SubGroup, operation: Operation) -> Expression:
    """The first of the lanes that come here."""
    del operation
    here = warp.ballot(warp.number(0).equals(0))
    return here.applied("cttz").equals(warp.lane)


# barriers -------------------------------------------------------------------------------------------------------------
def _barrier(warp: SubGroup, operation: Operation) -> None:
    del operation
    warp.fence(builtins.BARRIER)


def _sync_warp(warp: SubGroup, operation: Operation) -> None:
    del operation
    warp.fence(builtins.SUB_GROUP_BARRIER)


def _nothing(warp: SubGroup, operation: Operation) -> None:
    """A hint, or what a launch by itself needs no waiting for."""
    del warp, operation


_RULES: dict[str, Callable[[SubGroup, Operation], Expression | None]] = {
    simt.SHUFFLE: _shuffle,
    simt.VOTE: _vote,
    simt.REDUCE: _reduce,
    simt.MATCH: _match,
    simt.ELECT: _elect,
    simt.SYNC_WARP: _sync_warp,
    simt.BARRIER: _barrier,
    "gpu.barrier": _barrier,
    simt.PREFETCH: _nothing,
    simt.SLEEP: _nothing,
    simt.AWAIT_PREVIOUS_GRID: _nothing,
    simt.LAUNCH_DEPENDENTS: _nothing,
}
LOWERED = frozenset(_RULES)
"""The operations that the pass has a rule for."""
