"""Columns of tensor memory on a CPU: who has taken which, and what is required of whoever uses them.

A word of the block has a bit for each 32 columns that are taken. Where an allocation begins, another word has how many
parts of 32 columns it has, which warp has made it, and where in the program.
"""

from __future__ import annotations

from collections.abc import Sequence
from functools import partial

from triptych.diagnostics.kernel_errors import TensorMemoryError
from triptych.ir.errors import LoweringError
from triptych.ir.handles import Operation, Value
from triptych.ir.location import place_of
from triptych.kernel_ir.dialects.kernel_operations import enclosing, walk
from triptych.kernel_ir.dialects.tensor_memory import (
    COLUMN_MASK,
    COLUMNS,
    FEWEST_COLUMNS,
    LANE_MASK,
    LANE_SHIFT,
    WARP_LANES,
)
from triptych.kernel_ir.dialects.tile import TMEM_ALLOC, TMEM_COPY, TMEM_DEALLOC, TMEM_PERMIT, UMMA, UMMA_COMMIT
from triptych.kernel_ir.dialects.umma import umma
from triptych.targets.cpu.emit.barrier_state import (
    TENSOR_LAST,
    TENSOR_OWNERS,
    TENSOR_PARTS,
    TENSOR_USED,
    State,
    when,
)
from triptych.targets.cpu.emit.collectives import require_of, require_whole_warp
from triptych.targets.cpu.emit.lane_builder import LaneBuilder
from triptych.targets.cpu.emit.launch_frame import LaunchFrame
from triptych.targets.cpu.emit.tma import own_rank
from triptych.targets.cpu.emit.values import plain_pointer
from triptych.targets.cpu.emit.warp import LaunchCoordinates, Warp

_SITE_SHIFT = 16
_NO_MORE = -1
"""In place of how many columns the last allocation had."""
_ADDRESS_COLUMN = (1 << LANE_SHIFT) - 1
_QUARTERS = 4

_require = partial(require_of, TensorMemoryError)


def state_of(warp: Warp) -> State:
    """What the warps of the block share."""
    assert warp.arrays.state is not None, "kernels with tensor memory have warps that wait"
    return warp.arrays.state


def of_first(warp: Warp, value: Value) -> Value:
    """The value of the first active lane."""
    code = warp.code
    index = code.value("arith.index_castui", (first_lane(warp),), "index")
    return warp.lane(value, index, plain_pointer(value.type))


def first_lane(warp: Warp) -> Value:
    """The number (i32) of the first active lane."""
    return warp.code.constant(0, "i32") if warp.mask is None else warp.code.first(warp.mask)


# allocations --------------------------------------------------------------------------------------------------------
def allocate(warp: Warp, operation: Operation) -> None:
    """The first columns that are free, at a multiple of how many they are."""
    require_whole_warp(warp, operation)
    code, state = warp.code, state_of(warp)
    word, columns = (of_first(warp, operand) for operand in operation.operands)
    _require_allowed(warp, operation, state, columns)
    used = state.get(TENSOR_USED)
    many = _parts(code, columns)
    mask = _bits(code, many)
    found = code.constant(-1, "i32")
    for start in reversed(range(TENSOR_PARTS)):
        place = code.constant(start, "i32")
        here = code.value("arith.shli", (mask, place), "i32")
        free = code.compare("eq", code.value("arith.andi", (used, here), "i32"), code.constant(0, "i32"))
        end = code.value("arith.addi", (place, many), "i32")
        fits = code.compare("ule", end, code.constant(TENSOR_PARTS, "i32"))
        aligned = code.compare("eq", code.value("arith.remui", (place, many), "i32"), code.constant(0, "i32"))
        found = code.select(code.both(code.both(free, fits, "i1"), aligned, "i1"), place, found, "i32")
    _require(
        warp,
        operation,
        code.compare("sge", found, code.constant(0, "i32")),
        code.constant(0, "i32"),
        "tensor memory has no columns left",
        expected=f"allocations of a block of at most {COLUMNS} columns together",
    )
    state.set(TENSOR_USED, code.value("arith.ori", (used, code.value("arith.shli", (mask, found), "i32")), "i32"))
    state.set(_owner(code, found), _entry(code, many, _number(operation)))
    address = code.value("arith.muli", (found, code.constant(FEWEST_COLUMNS, "i32")), "i32")
    warp.arrays.observer.tensor(warp, operation, own_rank(warp), address, columns)
    code.store(address, word, 4)


def _require_allowed(warp: Warp, operation: Operation, state: State, columns: Value) -> None:
    """Allocations of a block never become larger, and end with the permit."""
    code, zero = warp.code, warp.code.constant(0, "i32")
    last = state.get(TENSOR_LAST)
    _require(
        warp,
        operation,
        code.compare("ne", last, code.constant(_NO_MORE, "i32")),
        zero,
        "tensor memory is allocated after the block has given up its permit",
        expected="`relinquish_alloc_permit` after the last allocation",
    )
    first, smaller = code.compare("eq", last, zero), code.compare("ule", columns, last)
    _require(
        warp,
        operation,
        code.value("arith.ori", (first, smaller), "i1"),
        zero,
        "an allocation of tensor memory is larger than the one before it",
        expected="allocations of a block whose numbers of columns do not grow, in the order in which they are made",
        instead="the largest first, or one allocation whose columns the tensors share",
    )
    state.set(TENSOR_LAST, columns)


def free(warp: Warp, operation: Operation) -> None:
    require_whole_warp(warp, operation)
    code, state = warp.code, state_of(warp)
    address, columns = (of_first(warp, operand) for operand in operation.operands)
    column = code.value("arith.andi", (address, code.constant(COLUMN_MASK, "i32")), "i32")
    start = _parts(code, column)
    entry = state.get(_owner(code, start))
    taken = code.value("arith.andi", (entry, code.constant((1 << _SITE_SHIFT) - 1, "i32")), "i32")
    many = _parts(code, columns)
    _require(
        warp,
        operation,
        code.compare("eq", taken, many),
        code.constant(0, "i32"),
        "columns of tensor memory are given back that are not taken",
        expected="the address and the number of columns of an allocation, once",
    )
    rank = own_rank(warp)
    ranks = [rank, code.value("arith.xori", (rank, code.constant(1, "i32")), "i32")]
    for each in ranks[: int(operation.attributes["ctas"].value)]:
        warp.arrays.observer.tensor(warp, operation, each, column, columns)
    mask = code.value("arith.shli", (_bits(code, many), start), "i32")
    state.set(TENSOR_USED, code.value("arith.xori", (state.get(TENSOR_USED), mask), "i32"))
    state.set(_owner(code, start), 0)


def give_up_permit(warp: Warp, operation: Operation) -> None:
    require_whole_warp(warp, operation)
    state_of(warp).set(TENSOR_LAST, _NO_MORE)


def _parts(code: LaneBuilder, columns: Value) -> Value:
    return code.value("arith.divui", (columns, code.constant(FEWEST_COLUMNS, "i32")), "i32")


def _bits(code: LaneBuilder, parts: Value) -> Value:
    """So many bits, from bit 0 on."""
    one = code.constant(1, "i32")
    return code.value("arith.subi", (code.value("arith.shli", (one, parts), "i32"), one), "i32")


def _owner(code: LaneBuilder, part: Value) -> Value:
    """The index (i64) of the word of an allocation that begins with a part."""
    return code.value("arith.addi", (code.resized(part, "i64"), code.constant(TENSOR_OWNERS, "i64")), "i64")


def _entry(code: LaneBuilder, parts: Value, site: int) -> Value:
    """How many parts, and where they were taken."""
    return code.value("arith.ori", (parts, code.constant(site + 1 << _SITE_SHIFT, "i32")), "i32")


def _number(operation: Operation) -> int:
    """Which allocation of its kernel it is."""
    kernel = enclosing(operation)
    while kernel.name != "gpu.func":
        kernel = enclosing(kernel)
    return [each for each in walk(kernel) if each.name == TMEM_ALLOC].index(operation)


def require_nothing_left(
    code: LaneBuilder, kernel: Operation, state: State, frame: LaunchFrame, first: LaunchCoordinates
) -> None:
    """The block has ended: every allocation was given back."""
    zero = code.constant(0, "i32")
    for number, operation in enumerate(each for each in walk(kernel) if each.name == TMEM_ALLOC):
        left = code.constant(0, "i1")
        for part in range(TENSOR_PARTS):
            site = code.value(
                "arith.shrui", (state.get(TENSOR_OWNERS + part), code.constant(_SITE_SHIFT, "i32")), "i32"
            )
            here = code.compare("eq", site, code.constant(number + 1, "i32"))
            left = code.value("arith.ori", (left, here), "i1")
        when(code, left, lambda: frame.memory.write_fault(first.block_ids, zero))
        attributes = code.check_attributes(
            TensorMemoryError,
            "columns of tensor memory are still taken when the block ends",
            span=place_of(operation),
            expected="every allocation to be given back before the kernel ends",
            instead="`TmemAllocator.free` or `dealloc_tmem`, by the warp that has taken them",
        )
        code.operation("cf.assert", (code.negated(left),), attributes=attributes)


def require_one_group(kernel: Operation, blocks: int) -> None:
    """All operations of a kernel are of one CTA, or all of pairs, in clusters of so many blocks."""
    found = [(each, ctas) for each in walk(kernel) if (ctas := _ctas(each))]
    for operation, ctas in found:
        if ctas != found[0][1]:
            raise LoweringError(
                "operations of one CTA and of pairs of CTAs in one kernel",
                span=place_of(operation),
                found=f"{operation.name.partition('.')[2]} of {ctas} after {found[0][0].name.partition('.')[2]} "
                f"of {found[0][1]}",
                expected="one CtaGroup for all products, commits and allocations of tensor memory of a kernel",
            )
        if blocks % ctas:
            raise LoweringError(
                "operations of pairs of CTAs in a kernel whose clusters have no pairs",
                span=place_of(operation),
                found="a launch without clusters" if blocks == 1 else f"clusters of {blocks} blocks",
                expected="clusters of an even number of blocks",
                instead="launch(..., cluster=(2, 1, 1)), or CtaGroup.ONE",
            )


def _ctas(operation: Operation) -> int:
    if operation.name == UMMA:
        instruction = umma(str(operation.attributes["instruction"].value))
        return 0 if instruction is None else instruction.ctas
    named = operation.name in (UMMA_COMMIT, TMEM_COPY, TMEM_ALLOC, TMEM_DEALLOC, TMEM_PERMIT)
    return int(operation.attributes["ctas"].value) if named else 0


# uses ---------------------------------------------------------------------------------------------------------------
def require_taken(warp: Warp, operation: Operation, address: Value, columns: int, states: Sequence[State]) -> None:
    """These columns are taken, in all of these blocks."""
    code = warp.code
    column = code.value("arith.andi", (address, code.constant(_ADDRESS_COLUMN, "i32")), "i32")
    last = code.value("arith.addi", (column, code.constant(columns - 1, "i32")), "i32")
    begin, end = _parts(code, column), _parts(code, last)
    bits = code.value("arith.subi", (_bits(code, end), _bits(code, begin)), "i32")
    last_bit = code.value("arith.shli", (code.constant(1, "i32"), end), "i32")
    mask = code.value("arith.ori", (bits, last_bit), "i32")
    holds = code.compare("ult", last, code.constant(COLUMNS, "i32"))
    for state in states:
        missing = code.value("arith.andi", (mask, _inverted(code, state.get(TENSOR_USED))), "i32")
        holds = code.both(holds, code.compare("eq", missing, code.constant(0, "i32")), "i1")
    _require(
        warp,
        operation,
        holds,
        first_lane(warp),
        "columns of tensor memory are used that are not taken",
        found=f"{columns} columns, of which some were never taken, were given back, or lie behind the last one",
        expected="columns of an allocation of this block, from when its address is written until they are given back",
    )


def _inverted(code: LaneBuilder, word: Value) -> Value:
    return code.value("arith.xori", (word, code.constant(-1, "i32")), "i32")


def require_own_lanes(warp: Warp, operation: Operation, address: Value) -> None:
    """A warp reaches the lanes of its place among four warps."""
    code = warp.code
    lane = code.value("arith.shrui", (address, code.constant(LANE_SHIFT, "i32")), "i32")
    lane = code.value("arith.andi", (lane, code.constant(LANE_MASK, "i32")), "i32")
    quarter = code.value("arith.divui", (lane, code.constant(WARP_LANES, "i32")), "i32")
    mine = code.value("arith.andi", (warp.number, code.constant(_QUARTERS - 1, "i32")), "i32")
    _require(
        warp,
        operation,
        code.compare("eq", quarter, mine),
        code.constant(0, "i32"),
        "a warp reaches lanes of tensor memory that are not its own",
        expected=f"warp w to reach the lanes from {WARP_LANES} * (w % {_QUARTERS}) on",
        instead="the slice of the thread's own number: `tiled_copy.get_slice(thread)` of 128 threads",
    )
