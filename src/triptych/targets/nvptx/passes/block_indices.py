"""Pass `read-block-indices-again`: each block of code reads the index of its thread block itself.

TMA and UMMA take their operands from uniform registers. An index that a part of the kernel keeps for another part,
which lanes may reach apart, lies in a register of every lane instead: a main loop then moves it to a uniform register
in each turn. Reading it costs one instruction. LLVM merges what was read in a block that leads to the other one anyway.
"""

from __future__ import annotations

from triptych.ir.builder import Builder
from triptych.ir.handles import Block, Module, Operation
from triptych.ir.modules import kernels, operations_named

_BLOCK_INDEX = "gpu.block_id"
_CONVERSIONS = frozenset({"arith.index_cast", "arith.index_castui"})


def read_block_indices_again(module: Module) -> None:
    """Give every block of code its own operations for indices that it uses, instead of those of a block around it."""
    for kernel in kernels(module):
        for index in operations_named(kernel, _BLOCK_INDEX):
            converted = [use.owner.operation for use in index.results[0].uses if use.owner.name in _CONVERSIONS]
            for operation in (*converted, index):  # what is converted first: it uses the index in its own block
                _repeat(operation)


def _repeat(operation: Operation) -> None:
    value = operation.results[0]
    uses = [(use.owner.operation, use.operand_number) for use in value.uses]
    repeated: dict[Block, Operation] = {}
    for owner, place in uses:
        if owner.block == operation.block:
            continue
        if owner.block not in repeated:
            builder = Builder(operation.context)
            repeated[owner.block] = operation.clone(ip=builder.at_start(owner.block))
        owner.operands[place] = repeated[owner.block].results[0]
