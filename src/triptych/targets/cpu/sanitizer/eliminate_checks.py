"""Passes `hoist-loop-checks`, `simplify-bounds`, `drop-repeated-checks`: elimination of redundant checks.

What a warp reads again and again between two synchronizations is recorded once. Input: kernels with operations of the
dialect `check`, after simplification. Output: one `check.access` for reads of equal place in the source whose addresses
are a known distance apart, and one before a loop for all its iterations, as `steps` in bytes and as many counts. Reads
commute until somebody writes or threads synchronize, so nothing is recorded too early. Writes stay where they are: what
they write may be looked at.

Bounds: the distance of an address from the memory that it begins in is a sum of indices, whose ranges later passes
know: most accesses of shared memory are then known to be inside. An address is aligned as what it begins in is, if each
step is a multiple. A condition that has been checked need not be checked again. Release builds are left alone.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Sequence
from operator import itemgetter
from typing import Any

from triptych.ir.builder import Builder
from triptych.ir.handles import Block, Module, Operation, Value
from triptych.ir.location import spans_of
from triptych.ir.modules import kernels, operations_named
from triptych.ir.types import int_width
from triptych.kernel_ir.analysis.addresses import AddressForms, step, steps
from triptych.kernel_ir.dialects.check import CHECK_ACCESS, CHECKS_ATTRIBUTE, STEPS_ATTRIBUTE
from triptych.kernel_ir.dialects.kernel_operations import (
    DEFINITIONS,
    body,
    constant_of,
    defining_op,
    inner,
    is_ordered,
    is_pure,
    operations,
)
from triptych.kernel_ir.dialects.simt import PREFETCH
from triptych.kernel_ir.dialects.tile import MMA, MMA_BLOCK_SCALE
from triptych.sanitizer.checkers import BOUNDS, checkers
from triptych.targets.cpu.abi.abi import SHARED_ALIGNMENT
from triptych.targets.cpu.emit.peeling import FirstIteration
from triptych.targets.cpu.sanitizer import shadow_layout as at

_QUIET = frozenset(
    {
        *("llvm.load", "llvm.store", "cf.assert", "scf.if", "scf.for", "scf.yield"),
        *(operation for operation in DEFINITIONS.values() if operation.traits.exchanges()),
        *(PREFETCH, MMA, MMA_BLOCK_SCALE),
    }
)
"""Beside what only computes: operations that order nothing; those that access memory are listed apart from them."""


def hoist_loop_checks(module: Module) -> None:
    for kernel in kernels(module):
        if CHECKS_ATTRIBUTE in kernel.attributes:
            _CheckedKernel(kernel).visit(body(kernel))


class _CheckedKernel:
    """A kernel while its checks are gathered."""

    def __init__(self, kernel: Operation) -> None:
        self._builder = Builder(kernel.context)
        self._forms = AddressForms()

    def visit(self, block: Block) -> None:
        """Gather inside, then before loops of the block, then in the block itself."""
        for operation in operations(block):
            for region in operation.regions:
                for inside in region.blocks:
                    self.visit(inside)
            if operation.name == "scf.for":
                self._leave_loop(operation)
        open_reads: list[Operation] = []
        for operation in operations(block):
            if _is_read(operation):
                open_reads.append(operation)
            elif not _is_quiet(operation):
                self._join(open_reads)
                open_reads = []
        self._join(open_reads)

    # loops -------------------------------------------------------------------------------------------------------
    def _leave_loop(self, loop: Operation) -> None:
        """Reads of every iteration are recorded before the loop, if nothing in it writes or synchronizes."""
        inside = operations(body(loop))
        reads = [each for each in inside if _is_read(each) and len(_steps(each)) < at.LEVELS]
        if not reads or not all(map(_is_quiet, inside)):
            return
        first = FirstIteration(loop)
        moved = [(read, stride) for read in reads if (stride := self._stride(first, read)) is not None]
        count = first.count() if moved else None
        if count is None:
            return
        for read, stride in moved:
            address, *counts = read.operands
            self._builder.insertion = self._builder.before(loop)
            self._write(read, first.first(address), [*_steps(read), stride], [*map(first.first, counts), count])
            read.erase()

    def _stride(self, first: FirstIteration, read: Operation) -> int | None:
        """Of the address; counts of inner loops must not change."""
        address, *counts = read.operands
        if any(constant_of(count) is None for count in counts):
            return None
        return first.stride(address)

    def _write(self, read: Operation, address: Value, steps: Sequence[int], counts: Sequence[Value]) -> None:
        attributes = {name: read.attributes[name] for name in read.attributes}
        attributes[STEPS_ATTRIBUTE] = self._builder.attribute(f"array<i64: {', '.join(map(str, steps))}>")
        self._builder.operation(CHECK_ACCESS, (address, *counts), [], attributes, location=read.location)

    # one after the other -------------------------------------------------------------------------------------------
    def _join(self, reads: Sequence[Operation]) -> None:
        """Reads by the same line of what is a known distance apart are one, where the last of them is."""
        if len(reads) < 2:
            return
        alike: defaultdict[Any, dict[int, tuple[int, Operation]]] = defaultdict(dict)
        for order, read in enumerate(reads):
            place = self._forms.address(read.operands[0])
            known = alike[self._key(read), place.memory, place.terms]
            if place.known in known:
                known[place.known][1].erase()
            known[place.known] = (order, read)
        for found in alike.values():
            _, one = next(iter(found.values()))
            if len(_steps(one)) < at.LEVELS:
                self._join_ranges(found)

    def _join_ranges(self, found: dict[int, tuple[int, Operation]]) -> None:
        for run in _ranges(sorted(found)):
            if len(run) > 1:
                members = [found[known][1] for known in run]
                _, last = max((found[known] for known in run), key=itemgetter(0))
                address, *counts = members[0].operands
                self._builder.insertion = self._builder.before(last)
                number = {"value": self._builder.integer("i64", len(run))}
                count = self._builder.value("arith.constant", (), "i64", number, location=last.location)
                self._write(members[0], address, [*_steps(members[0]), run[1] - run[0]], [*counts, count])
                for member in members:
                    member.erase()

    def _key(self, read: Operation) -> Any:
        """What reads must have in common to be recorded as one."""
        numbers = [constant_of(count) for count in list(read.operands)[1:]]
        counts = tuple(
            count if number is None else number for count, number in zip(list(read.operands)[1:], numbers, strict=True)
        )
        facts = tuple(int(read.attributes[name].value) for name in ("size", "kind", "lanes"))
        return spans_of(read.location), facts, tuple(_steps(read)), counts


def _steps(read: Operation) -> list[int]:
    return list(read.attributes[STEPS_ATTRIBUTE]) if STEPS_ATTRIBUTE in read.attributes else []


def _is_read(operation: Operation) -> bool:
    return (
        operation.name == CHECK_ACCESS
        and int(operation.attributes["kind"].value) & ~(at.IS_COLLECTIVE | at.IS_GLOBAL) == at.READS_MEMORY
    )


def _is_quiet(operation: Operation) -> bool:
    """Whether reads before and after it may change places, for a checker."""
    if operation.name not in _QUIET and not is_pure(operation) and not _is_read(operation):
        return False
    return not is_ordered(operation) and all(map(_is_quiet, inner(operation)))


def _ranges(places: Sequence[int]) -> list[list[int]]:
    """Numbers in rising order, cut where the distance changes."""
    found: list[list[int]] = []
    for place in places:
        last = found[-1] if found else []
        if len(last) == 1 or (len(last) > 1 and place - last[-1] == last[1] - last[0]):
            last.append(place)
        else:
            found.append([place])
    return found


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
