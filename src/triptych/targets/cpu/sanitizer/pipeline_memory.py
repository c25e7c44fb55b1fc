"""Pipeline stages in shared memory: which accesses of a kernel are of which stage (debug builds).

Input: a kernel as it was traced, with the calls of its pipelines (`check.call`). Output: for an operation the numbers
of the pipelines whose stages it accesses. An address that is made of the state of a pipeline is in a stage of it. Of a
pipeline whose state no address is made of, as one of a single stage, it is what stands between a call that takes a
stage and the one that gives it on; where the program lacks one of the two, what stands beside the other one.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterator
from itertools import pairwise

from triptych.ir.handles import Operation, Value
from triptych.kernel_ir.analysis.addresses import base, is_array, sources
from triptych.kernel_ir.dialects import simt
from triptych.kernel_ir.dialects.check import CHECK_CALL
from triptych.kernel_ir.dialects.kernel_operations import body, defining_op, enclosing, is_described, traits, walk
from triptych.sanitizer.pipeline_protocol import CALLS, LOOSE, STORES, TAIL, Call

_BARRIERS = frozenset(
    {each for each in simt.SIMT.operations if each.of_mbarrier or each.traits.is_barrier()} - {simt.ASYNC_ARRIVE}
)
"""What a pipeline does with its own barriers. An arrival for copies stands for them: they access a stage."""


class PipelineMemory:
    """The accesses of one kernel."""

    def __init__(self, kernel: Operation) -> None:
        self._found: dict[Operation, set[int]] = defaultdict(set)
        program = list(walk(kernel))
        calls: dict[int, list[Operation]] = defaultdict(list)
        for operation in program:
            if operation.name == CHECK_CALL and _is_of_a_stage(operation):
                calls[int(operation.attributes["pipeline"].value)].append(operation)
        places = {operation: place for place, operation in enumerate(program)} if calls else {}
        for number, found in calls.items():
            made = _made_of_states(found)
            barriers = {operation for operation in made if operation.name in _BARRIERS}
            stages = made - barriers or {program[place] for place in _between(found, places)}
            for operation in barriers | stages:
                self._found[operation].add(number)

    def pipelines_of(self, operation: Operation) -> list[int]:
        """By their numbers."""
        return sorted(self._found.get(operation, ()))


def _made_of_states(calls: list[Operation]) -> set[Operation]:
    """Accesses by an address that is made of a number which also says the stage of a call."""
    arrays = {array for call in calls for array in _arrays(call.operands[0])}
    seen, pending, found = set[Value](arrays), list(arrays), set[Operation]()
    while pending:
        value = pending.pop()
        for use in value.uses:
            user = use.owner.operation
            for following in _following(user, use.operand_number, value in arrays, arrays):
                if following not in seen:
                    seen.add(following)
                    pending.append(following)
            if value not in arrays and _is_access(user, use.operand_number):
                found.add(user)
    return found


def _arrays(value: Value) -> Iterator[Value]:
    """The arrays of the thread that a number is read from."""
    pending, seen = [value], set[Value]()
    while pending:
        each = pending.pop()
        if each in seen:
            continue
        seen.add(each)
        made = defining_op(each)
        if made is not None and made.name == "llvm.load":
            if is_array(base(made.operands[0])):
                yield base(made.operands[0])
        elif made is not None and is_described(made) and traits(made).is_pure() and not made.regions:
            pending += list(made.operands)
        else:
            pending += sources(each)


def _following(user: Operation, place: int, is_state: bool, arrays: set[Value]) -> list[Value]:
    """The values that an operation makes of one of its operands, as far as they are numbers or addresses."""
    if user.name == "llvm.load":
        return list(user.results) if is_state else []
    if user.name == "llvm.store":
        array = base(user.operands[1])
        if place == 0 and is_array(array) and array not in arrays:
            arrays.add(array)
            return [array]
        return []
    if user.name == "scf.yield":
        return _handed_on(enclosing(user), place)
    if user.name == "scf.condition":
        around = enclosing(user)
        return [around.results[place - 1], body(around, 1).arguments[place - 1]] if place else []
    if user.name == "scf.while":
        return [body(user).arguments[place]]
    if user.name == "scf.for":
        return [body(user).arguments[place - 2]] if place > 2 else []
    return list(user.results) if is_described(user) and traits(user).is_pure() and not list(user.regions) else []


def _handed_on(around: Operation, place: int) -> list[Value]:
    """What the end of a branch or of an iteration gives: a result, or what the next iteration begins with."""
    if around.name == "scf.while":
        return [body(around).arguments[place]]
    return [around.results[place], *([body(around).arguments[place + 1]] if around.name == "scf.for" else [])]


def _is_access(user: Operation, place: int) -> bool:
    """Whether that operand is where memory is accessed."""
    if user.name == "llvm.store":
        return place == 1
    return is_described(user) and (traits(user).reads or traits(user).writes) and user.name != CHECK_CALL


def _between(calls: list[Operation], places: dict[Operation, int]) -> set[int]:
    """The places in the program where a stage of a pipeline is held."""
    sides = [[call for call in calls if _call(call).side == side] for side in range(2)]
    whole = [place for side in sides for place in _whole(side, places)]
    return set(whole or [place for call in calls for place in _beside(call, places)])


def _whole(calls: list[Operation], places: dict[Operation, int]) -> Iterator[int]:
    for one, other in pairwise(calls):
        if _call(one).takes:
            yield from range(places[one] + 1, places[other])
    if calls and calls[0].attributes["kind"].value in LOOSE and all(map(_is_acquired, calls)):
        yield from (place for call in calls for place in _beside(call, places))


def _is_of_a_stage(call: Operation) -> bool:
    return str(call.attributes["kind"].value) != STORES and str(call.attributes["call"].value) != TAIL


def _is_acquired(call: Operation) -> bool:
    """Of a pipeline without commits: what is acquired is filled there."""
    return _call(call).takes and _call(call).side == 0


def _beside(call: Operation, places: dict[Operation, int]) -> Iterator[int]:
    """To the end of what is around the call, or from its beginning."""
    here = places[call]
    for operation in walk(enclosing(call)):
        if (places[operation] > here) == _call(call).takes:
            yield places[operation]


def _call(operation: Operation) -> Call:
    return CALLS[str(operation.attributes["call"].value)]
