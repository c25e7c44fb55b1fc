"""Live values of a kernel: which values others may see something of, also what loops carry from one round to the next.

Input: a kernel of structured control flow. Output: the values that an access, a condition or whatever else is no
computation is given, and all that those are made of. What a loop carries, or a variable of the thread holds, and only
computes its own successor from is not among them.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping

from triptych.ir.handles import Operation, Value
from triptych.kernel_ir.dialects.kernel_operations import (
    body,
    defining_op,
    is_described,
    operations,
    owner_op,
    traits,
    walk,
)

_ENDS = frozenset({"scf.yield", "scf.condition"})
_BOUNDS = 3
"""Of `scf.for`: begin, end and step stand before what it carries."""


def live_values(kernel: Operation) -> set[Value]:
    """All of them."""
    every = list(walk(kernel))
    variables = {each.results[0]: stored for each in every if (stored := _stored(each)) is not None}
    pending = [operand for each in every if not _is_assignment(each, variables) for operand in _decisive(each)]
    live: set[Value] = set()
    while pending:
        value = pending.pop()
        if value not in live:
            live.add(value)
            pending += _made_of(value)
            maker = defining_op(value)
            if maker is not None and maker.name == "llvm.load":
                pending += variables.get(maker.operands[0], ())
    return live


def _stored(variable: Operation) -> list[Value] | None:
    """All that is stored in a variable which is loaded and stored as a whole, and whose address nobody else has."""
    if variable.name != "llvm.alloca":
        return None
    stored = []
    for use in variable.results[0].uses:
        user = use.owner.operation
        if user.name == "llvm.store" and use.operand_number == 1:
            stored.append(user.operands[0])
        elif user.name != "llvm.load" and not _is_unused(user):
            return None
    return stored


def _is_unused(operation: Operation) -> bool:
    return computes(operation) and not any(True for result in operation.results for _ in result.uses)


def _is_assignment(operation: Operation, variables: Mapping[Value, object]) -> bool:
    return operation.name == "llvm.store" and operation.operands[1] in variables


def _decisive(operation: Operation) -> list[Value]:
    """What an operation is given that others see, whatever becomes of its results."""
    operands = list(operation.operands)
    if operation.name == "scf.for":
        return operands[:_BOUNDS]
    if operation.name == "scf.condition":
        return operands[:1]
    if operation.name == "scf.while" or operation.name == "scf.yield" or computes(operation):
        return []
    return operands


def computes(operation: Operation) -> bool:
    """Whether results are made of operands, and nothing else happens."""
    return not len(operation.regions) and is_described(operation) and traits(operation).is_pure()


def _made_of(value: Value) -> Iterator[Value]:
    """The values that one is made of."""
    maker = defining_op(value)
    if maker is None:
        yield from _carried(value)
    elif maker.name == "scf.if":
        at = list(maker.results).index(value)
        yield from (_end(maker, side).operands[at] for side in (0, 1))
    elif maker.name == "scf.for":
        yield from _of_for(maker, list(maker.results).index(value))
    elif maker.name == "scf.while":
        yield _end(maker, 0).operands[list(maker.results).index(value) + 1]
    else:
        yield from maker.operands


def _carried(argument: Value) -> Iterator[Value]:
    """What the argument of a loop's block is, in the first round and in the others."""
    loop = owner_op(argument)
    for region in (0, 1) if loop.name == "scf.while" else (0,) if loop.name == "scf.for" else ():
        arguments = list(body(loop, region).arguments)
        if argument not in arguments:
            continue
        at = arguments.index(argument)
        if loop.name == "scf.for":
            yield from _of_for(loop, at - 1) if at else ()
        elif region == 1:
            yield _end(loop, 0).operands[at + 1]
        else:
            yield loop.operands[at]
            yield _end(loop, 1).operands[at]


def _of_for(loop: Operation, at: int) -> Iterator[Value]:
    yield loop.operands[_BOUNDS + at]
    yield _end(loop, 0).operands[at]


def _end(operation: Operation, region: int) -> Operation:
    end = operations(body(operation, region))[-1]
    assert end.name in _ENDS, "regions of structured control flow end so"
    return end
