"""Passes `simplify-bounds`, `drop-repeated-checks`: what a debug build need not ask while it runs.

The distance of an address from the memory that it begins in is a sum of indices, whose ranges later passes know: most
accesses of shared memory are then known to be inside. An address is aligned as what it begins in is, if each step is a
multiple. A condition that has been checked need not be checked again. Release builds are left alone.
"""

from __future__ import annotations

from triptych.ir.builder import Builder
from triptych.ir.handles import Block, Module, Operation, Value
from triptych.ir.modules import kernels, operations_named
from triptych.ir.types import int_width
from triptych.kernel_ir.analysis.addresses import step, steps
from triptych.kernel_ir.dialects.kernel_operations import body, constant_of, defining_op, operations
from triptych.sanitizer.checkers import BOUNDS, checkers
from triptych.targets.cpu.abi.memory_sizes import SHARED_ALIGNMENT

_SHARED_MEMORY = "llvm.mlir.addressof"


def simplify_bounds(module: Module) -> bool:
    """Distances as sums, alignments as those of the memory."""
    if BOUNDS not in checkers():
        return False
    for kernel in kernels(module):
        for operation in operations_named(kernel, "arith.subi", "arith.andi"):
            (_distance if operation.name == "arith.subi" else _alignment)(operation)
    return True


def _pointer_of(value: Value) -> Value | None:
    """The address that a number is."""
    made = defining_op(value)
    return made.operands[0] if made is not None and made.name == "llvm.ptrtoint" else None


def _distance(subtraction: Operation) -> None:
    """One address minus another in the same memory, neither of which the program has as a number."""
    pointers = [_pointer_of(operand) for operand in subtraction.operands]
    if pointers[0] is None or pointers[1] is None:
        return
    (here, taken), (start, before) = steps(pointers[0]), steps(pointers[1])
    if here != start or any(not isinstance(each.index, int) for each in before):
        return
    if any(not isinstance(each.index, int) and int_width(each.index.type) != 64 for each in taken):
        return
    builder = Builder(subtraction.context)
    builder.insertion = builder.before(subtraction)
    kind, place = subtraction.results[0].type, subtraction.location

    def number(value: int) -> Value:
        return builder.value("arith.constant", (), kind, {"value": builder.integer("i64", value)}, location=place)

    known = sum(each.index * each.size for each in taken if isinstance(each.index, int))
    known -= sum(each.index * each.size for each in before if isinstance(each.index, int))
    total = number(known)
    for each in taken:
        if not isinstance(each.index, int):
            scaled = builder.value("arith.muli", (each.index, number(each.size)), kind, location=place)
            total = builder.value("arith.addi", (total, scaled), kind, location=place)
    subtraction.results[0].replace_all_uses_with(total)
    subtraction.erase()


def _alignment(masking: Operation) -> None:
    """The low bits of an address: steps of a multiple change nothing, and memory of a kernel's own begins aligned."""
    pointer, mask = _pointer_of(masking.operands[0]), constant_of(masking.operands[1])
    if pointer is None or mask is None or mask & (mask + 1):
        return
    while (taken := step(defining_op(pointer))) is not None:
        distance = taken.size * taken.index if isinstance(taken.index, int) else taken.size
        if distance % (mask + 1):
            break
        pointer = taken.base
    builder = Builder(masking.context)
    builder.insertion = builder.before(masking)
    made, kind = defining_op(pointer), masking.results[0].type
    if mask < _alignment_of(made):
        zero = {"value": builder.integer("i64", 0)}
        masking.results[0].replace_all_uses_with(
            builder.value("arith.constant", (), kind, zero, location=masking.location)
        )
        masking.erase()
        return
    masking.operands[0] = builder.value("llvm.ptrtoint", (pointer,), kind, location=masking.location)


def _alignment_of(made: Operation | None) -> int:
    """Of memory that begins there: shared memory, or registers, which stay registers if no address becomes a number."""
    if made is None or made.name not in (_SHARED_MEMORY, "llvm.alloca"):
        return 1
    if made.name == _SHARED_MEMORY:
        return SHARED_ALIGNMENT
    return int(made.attributes["alignment"].value) if "alignment" in made.attributes else 1


def drop_repeated_checks(module: Module) -> bool:
    """A check of what was checked before, in the same block or around it."""
    if BOUNDS not in checkers():
        return False
    for kernel in kernels(module):
        _drop(body(kernel), frozenset())
    return True


def _drop(block: Block, around: frozenset[Value]) -> None:
    known = set(around)
    for operation in operations(block):
        if operation.name == "cf.assert":
            if operation.operands[0] in known:
                operation.erase()
            else:
                known.add(operation.operands[0])
            continue
        for region in operation.regions:
            for inside in region.blocks:
                _drop(inside, frozenset(known))
