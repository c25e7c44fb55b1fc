"""Pass `fuse-mma-k-loop`: MMAs of a warp that follow each other on the same accumulators become one over more of k.

Input: `tile.mma` operations, with loads of the next fragments between them. Output: one for each run of them, where the
last one was, with the tables of all. A CPU loads and stores the sums of a product once for several slices of k. What
is between two products may fill registers that the first of them does not read.
"""

from __future__ import annotations

from triptych.ir.builder import Builder
from triptych.ir.handles import Block, Module, Operation, Value
from triptych.ir.modules import operations_named
from triptych.ir.types import byte_size
from triptych.kernel_ir.analysis.addresses import base, private_place
from triptych.kernel_ir.dialects.kernel_operations import is_pure, operations
from triptych.kernel_ir.dialects.mma import WIDTHS, register_bytes
from triptych.kernel_ir.dialects.tile import LOAD_MATRIX, MMA
from triptych.kernel_ir.dialects.wave_mma import mma_of

_FEWEST = 64
"""Registers of sums of a thread: fewer, of all warps, stay in the cache next to a core."""
_DEEPEST = 128
"""Of k: tables of registers are constants of the program."""


def fuse_mma_k_loop(module: Module) -> None:
    builder = Builder(module.context)
    for block in dict.fromkeys(product.block for product in operations_named(module, MMA)):
        for run in _runs(block):
            _join(run, builder)


def _runs(block: Block) -> list[list[Operation]]:
    """Products each of which can wait for the last one of its run."""
    runs: list[list[Operation]] = []
    going: list[Operation] = []
    for operation in operations(block):
        if operation.name == MMA:
            if not (going and _follows(going, operation)):
                going = []
                runs.append(going)
            going.append(operation)
        elif going and not _may_precede(operation, going):
            going = []
    return [run for run in runs if len(run) > 1]


def _follows(run: list[Operation], operation: Operation) -> bool:
    """Whether a product adds to what those of a run have computed, in place. Sums in f16 are rounded by each."""
    first = run[0]
    instruction = mma_of(operation)
    slices = sum(list(one.attributes["tiles"])[2] for one in (*run, operation))
    d, _, _, c = operation.operands
    return (
        instruction.accumulator != "f16"
        and len(list(operation.attributes["d"])) >= _FEWEST
        and d == c
        and list(first.operands) == list(operation.operands)
        and all(first.attributes[name] == operation.attributes[name] for name in ("instruction", "c", "d"))
        and operation.attributes["c"] == operation.attributes["d"]
        and list(first.attributes["tiles"])[:2] == list(operation.attributes["tiles"])[:2]
        and slices * instruction.shape_mnk[2] <= _DEEPEST
    )


def _may_precede(operation: Operation, run: list[Operation]) -> bool:
    """Whether what is done behind the products of a run may be done before them."""
    if is_pure(operation) or operation.name == LOAD_MATRIX:
        return True
    if operation.name != "llvm.store":
        return False
    value, address = operation.operands
    place = private_place(address)
    if place is None:
        return False
    written = range(place.offset, place.offset + byte_size(value.type))
    return not any(_uses(product, place.array, written) for product in run)


def _uses(product: Operation, array: Value, written: range) -> bool:
    """Whether a product has registers in a part of an array of the thread."""
    instruction = mma_of(product)
    kinds = (instruction.accumulator, instruction.a, instruction.b, instruction.accumulator)
    for operand, name, kind in zip(product.operands, "dabc", kinds, strict=True):
        if base(operand) != array:
            continue
        if operand != array:
            return True
        size = WIDTHS[kind] // 8
        starts = (number * size for number in product.attributes[name])
        if any(start < written.stop and written.start < start + register_bytes(kind) for start in starts):
            return True
    return False


def _join(run: list[Operation], builder: Builder) -> None:
    """The last one becomes all of them."""
    last = run[-1]
    tiles = list(last.attributes["tiles"])
    for name in "ab":
        last.attributes[name] = builder.integers([place for product in run for place in product.attributes[name]])
    depth = sum(list(product.attributes["tiles"])[2] for product in run)
    last.attributes["tiles"] = builder.integers([*tiles[:2], depth])
    for product in run[:-1]:
        product.erase()
