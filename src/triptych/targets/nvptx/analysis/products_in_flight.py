"""WGMMAs in flight: which may still run where something waits, and which begin after a fence.

A forward and a backward walk over the blocks of a kernel, until nothing changes. Of each product it is kept how many
groups have been closed since, at least: a wait that leaves `n` groups ends those with more than `n`.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field

from triptych.ir.handles import Block, Operation
from triptych.kernel_ir.dialects.tile import WGMMA, WGMMA_COMMIT, WGMMA_FENCE, WGMMA_WAIT

WGMMA_OPERATIONS = frozenset({WGMMA, WGMMA_WAIT, WGMMA_FENCE, WGMMA_COMMIT})
_MOST_GROUPS = 8
"""Groups are counted up to here; a product with more behind it stays at this number."""

State = dict[Operation, int]
"""Products by the number of groups that have been closed since."""


@dataclass(slots=True)
class Products:
    """The answer for one kernel."""

    waited: dict[Operation, list[Operation]] = field(default_factory=dict)
    """By wait, the products that may be unfinished when it begins."""
    fenced: dict[Operation, list[Operation]] = field(default_factory=dict)
    """By fence, the products that may come after it without another fence between."""


def products_in_flight(kernel: Operation) -> Products:
    """Of a function of LLVM."""
    blocks = list(kernel.regions[0].blocks)
    numbers = {block: number for number, block in enumerate(blocks)}
    contents = [_contents(block) for block in blocks]
    after = [[numbers[successor] for successor in _terminator(block).successors] for block in blocks]
    before: list[list[int]] = [[] for _ in blocks]
    for number, successors in enumerate(after):
        for successor in successors:
            before[successor].append(number)
    found = Products()
    _solved(contents, before, after, lambda state, operation: _run(state, operation, found))
    reversed_contents = [list(reversed(each)) for each in contents]
    _solved(reversed_contents, after, before, lambda state, operation: _run_back(state, operation, found))
    return found


def _contents(block: Block) -> list[Operation]:
    return [operation.operation for operation in block.operations if operation.operation.name in WGMMA_OPERATIONS]


def _terminator(block: Block) -> Operation:
    *_, last = block.operations
    return last.operation


def _solved(
    contents: list[list[Operation]],
    sources: list[list[int]],
    targets: list[list[int]],
    step: Callable[[State, Operation], State],
) -> list[State]:
    """The state at the end of every block."""
    ends: list[State] = [{} for _ in contents]
    waiting = list(range(len(contents)))
    while waiting:
        block = waiting.pop(0)
        state = _joined([ends[source] for source in sources[block]])
        for operation in contents[block]:
            state = step(state, operation)
        if state != ends[block]:
            ends[block] = state
            waiting += [target for target in targets[block] if target not in waiting]
    return ends


def _joined(states: list[State]) -> State:
    joined: State = {}
    for state in states:
        for product, groups in state.items():
            joined[product] = min(groups, joined.get(product, groups))
    return joined


def _run(state: Mapping[Operation, int], operation: Operation, found: Products) -> State:
    match operation.name:
        case "tile.wgmma":
            return {**state, operation: 0}
        case "tile.wgmma_commit":
            return {product: min(groups + 1, _MOST_GROUPS) for product, groups in state.items()}
        case "tile.wgmma_wait":
            found.waited[operation] = list(state)
            left = operation.attributes["groups"].value
            return {product: groups for product, groups in state.items() if groups <= left}
    return dict(state)


def _run_back(state: Mapping[Operation, int], operation: Operation, found: Products) -> State:
    if operation.name == WGMMA:
        return {**state, operation: 0}
    if operation.name == WGMMA_FENCE:
        found.fenced[operation] = list(state)
        return {}
    return dict(state)
