"""UMMA and tensor memory on a CPU: a product is done when it is issued, or by the queue of asynchronous operations.

The tensor memory of a block is memory of its own, column after column, 128 words each. A warp's registers of one column
are neighbouring words of it.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from functools import cache, partial
from itertools import product
from typing import Any

from triptych.ir.handles import Operation, Value
from triptych.kernel_ir.dialects.block_scales import CHUNK, CHUNK_FACTORS, word_step
from triptych.kernel_ir.dialects.mma import WIDTHS
from triptych.kernel_ir.dialects.smem_operands import SmemOperand
from triptych.kernel_ir.dialects.tensor_memory import (
    ACCESSES,
    COLUMN_MASK,
    COLUMNS,
    LANE_MASK,
    LANE_SHIFT,
    LANES,
    WARP_LANES,
    WORD_BITS,
    TmemAccess,
)
from triptych.kernel_ir.dialects.tile import (
    TMEM_ALLOC,
    TMEM_COPY,
    TMEM_DEALLOC,
    TMEM_FENCE,
    TMEM_LOAD,
    TMEM_LOAD_REDUCE,
    TMEM_PERMIT,
    TMEM_STORE,
    TMEM_WAIT,
    UMMA,
    UMMA_COMMIT,
)
from triptych.kernel_ir.dialects.umma import DEPTH_BITS, LONG_DEPTH_BITS, Umma, umma
from triptych.targets.cpu.abi.system import has_wide_registers
from triptych.targets.cpu.emit.async_queue import defer_umma
from triptych.targets.cpu.emit.barrier_state import TENSOR_MEMORY, State
from triptych.targets.cpu.emit.collectives import no_op, require_whole_warp
from triptych.targets.cpu.emit.mbarriers import Word
from triptych.targets.cpu.emit.mma import table
from triptych.targets.cpu.emit.packed_product import Operand
from triptych.targets.cpu.emit.tensor_columns import (
    allocate,
    first_lane,
    free,
    give_up_permit,
    of_first,
    require_own_lanes,
    require_taken,
    state_of,
)
from triptych.targets.cpu.emit.tma import each_bit, first_of_pair, own_rank
from triptych.targets.cpu.emit.umma_tiles import (
    function_name,
    long_function_name,
    long_product_function,
    product_function,
    scaled_function_name,
    scaled_product_function,
)
from triptych.targets.cpu.emit.values import Vector
from triptych.targets.cpu.emit.warp import Warp

TENSOR_BYTES = 4 * LANES * COLUMNS


def _base(warp: Warp) -> Value:
    """Where the tensor memory of the block is."""
    return warp.code.load(state_of(warp).place(TENSOR_MEMORY), "!llvm.ptr", 8)


def _place(warp: Warp, base: Value, address: Value) -> Value:
    """Where the word of an address (i32) is in tensor memory that begins at `base`."""
    code = warp.code
    lane = code.value("arith.shrui", (address, code.constant(LANE_SHIFT, "i32")), "i32")
    lane = code.value("arith.andi", (lane, code.constant(LANE_MASK, "i32")), "i32")
    column = code.value("arith.andi", (address, code.constant(COLUMN_MASK, "i32")), "i32")
    words = code.value("arith.muli", (column, code.constant(LANES, "i32")), "i32")
    return code.offset(base, code.resized(code.value("arith.addi", (words, lane), "i32"), "i64"), "i32")


# loads and stores ---------------------------------------------------------------------------------------------------
# A register of all threads is a vector, and so is a column of the lanes that an instruction reaches.
def load(warp: Warp, operation: Operation) -> None:
    """Each register of all threads out of the words of its columns."""
    _load(warp, operation, list(operation.results))


def load_and_reduce(warp: Warp, operation: Operation) -> None:
    """The same, and the largest or smallest number of each thread."""
    *registers, number = operation.results
    _load(warp, operation, registers)
    code, name = warp.code, f"arith.{operation.attributes['kind'].value}numf"
    numbers, words = (f"vector<{code.width}x{kind}>" for kind in ("f32", "i32"))
    found, *others = (code.value("arith.bitcast", (warp.vector(each),), numbers) for each in registers)
    for other in others:
        found = code.value(name, (found, other), numbers)
    warp.set(number, Vector(code.value("arith.bitcast", (found,), words)))


def _load(warp: Warp, operation: Operation, results: list[Value]) -> None:
    access, repeat, packs = _access(warp, operation)
    code = warp.code
    start = _start(warp, operation, access, packs)

    @cache
    def word(number: int) -> Value:
        return code.load(code.offset(start, LANES * number, "i32"), f"vector<{access.lanes}xi32>", 64)

    @cache
    def column(number: int) -> Value:
        return _halves_joined(warp, word(2 * number), word(2 * number + 1), access.lanes) if packs else word(number)

    for places, result in zip(_words(access, repeat), results, strict=True):
        used = sorted({place // LANES for place in places})
        where = [access.lanes * used.index(place // LANES) + place % LANES for place in places]
        warp.set(result, Vector(_chosen(warp, [(column(number), access.lanes) for number in used], where)))


def store(warp: Warp, operation: Operation) -> None:
    """Each column out of the registers that have words of it."""
    access, repeat, packs = _access(warp, operation)
    code = warp.code
    words = list(operation.operands)[1:]
    start = _start(warp, operation, access, packs)
    held = [warp.vector(word) for word in words]
    owners = {
        place: (register, thread)
        for register, places in enumerate(_words(access, repeat))
        for thread, place in enumerate(places)
    }
    for number in range(len(owners) // access.lanes):
        sources = [owners[LANES * number + lane] for lane in range(access.lanes)]
        used = sorted({register for register, _ in sources})
        where = [code.width * used.index(register) + thread for register, thread in sources]
        column = _chosen(warp, [(held[register], code.width) for register in used], where)
        for index, part in enumerate(_halves(warp, column, access.lanes) if packs else (column,)):
            place = code.offset(start, LANES * ((1 + packs) * number + index), "i32")
            code.store(part, place, 64)


def _access(warp: Warp, operation: Operation) -> tuple[TmemAccess, int, bool]:
    """The shape of a load or store, how often it is repeated, and whether words are halves of two."""
    require_whole_warp(warp, operation)
    attributes = operation.attributes
    return ACCESSES[str(attributes["shape"].value)], int(attributes["repeat"].value), bool(attributes["pack"].value)


@cache
def _words(access: TmemAccess, repeat: int) -> Sequence[Sequence[int]]:
    """By register the word of each thread. Asked once for each shape: a kernel has dozens of accesses of the same."""
    layout, registers = access.layout(repeat), range(access.registers_of(repeat))
    return [[layout((thread, register)) for thread in range(WARP_LANES)] for register in registers]


def _start(warp: Warp, operation: Operation, access: TmemAccess, packs: bool) -> Value:
    """Where the words begin that a warp reaches by a load or store."""
    address = of_first(warp, operation.operands[0])
    columns = access.columns * int(operation.attributes["repeat"].value) * (1 + packs)
    require_taken(warp, operation, address, columns, [state_of(warp)])
    require_own_lanes(warp, operation, address)
    warp.arrays.observer.tensor(warp, operation, own_rank(warp), address, columns)
    return _place(warp, _base(warp), address)


def _chosen(warp: Warp, vectors: list[tuple[Value, int]], where: list[int]) -> Value:
    """The vector of the elements `where` of neighbouring vectors."""
    code = warp.code
    if len(vectors) == 1 and where == list(range(vectors[0][1])):
        return vectors[0][0]
    joined = code.joined(vectors, code.type("i32"))
    return code.shuffle(joined, joined, where, "i32")


def _halves_joined(warp: Warp, low: Value, high: Value, lanes: int) -> Value:
    """The low halves of two columns as one."""
    code, kind = warp.code, f"vector<{lanes}xi32>"
    shifted = code.value("arith.shli", (high, code.constants([16] * lanes, "i32")), kind)
    return code.value("arith.ori", (_low_halves(warp, low, lanes), shifted), kind)


def _low_halves(warp: Warp, words: Value, lanes: int) -> Value:
    code = warp.code
    return code.value("arith.andi", (words, code.constants([0xFFFF] * lanes, "i32")), f"vector<{lanes}xi32>")


def _halves(warp: Warp, words: Value, lanes: int) -> tuple[Value, Value]:
    """The halves of the words of a column, each in a word of its own."""
    code = warp.code
    high = code.value("arith.shrui", (words, code.constants([16] * lanes, "i32")), f"vector<{lanes}xi32>")
    return _low_halves(warp, words, lanes), high


# products -----------------------------------------------------------------------------------------------------------
def multiply(warp: Warp, operation: Operation) -> None:
    """Begin a product, by one thread for its warp."""
    attributes = operation.attributes
    given = [of_first(warp, operand) for operand in operation.operands]
    instruction = umma(str(attributes["instruction"].value))
    assert instruction is not None, "checked where it was emitted"
    d, a, b, accumulate, *rest = given
    in_tensor = not list(attributes["a_operand"])
    ranks, states, factors = _of_blocks(warp, operation, instruction.ctas, (b,) if in_tensor else (a, b))
    if in_tensor:
        _are_read(warp, operation, a, DEPTH_BITS // WORD_BITS, attributes["a"], ranks, states)
    for address in _sums(warp, operation, d):
        require_taken(warp, operation, address, instruction.columns, states)
        for rank in ranks:
            warp.arrays.observer.tensor(warp, operation, rank, address, instruction.columns, accumulate)
    if instruction.scale:
        _scales_are_read(warp, operation, instruction, rest[:2], ranks, states)
    for low, size in _ranges(warp, operation, instruction, factors, rest[2:]):
        warp.arrays.observer.begins(warp, operation, first_lane(warp), low, size)
    bases = [warp.code.load(state.place(TENSOR_MEMORY), "!llvm.ptr", 8) for state in states]
    values = [*bases, d, *[a] * (instruction.ctas if in_tensor else 0), *factors, accumulate, *rest]
    defer_umma(warp, values, partial(_product, warp, operation, instruction))


def _scales_are_read(
    warp: Warp,
    operation: Operation,
    instruction: Umma,
    scales: Sequence[Value],
    ranks: Sequence[Value],
    states: Sequence[State],
) -> None:
    """The columns of scales are taken, in every block: those of its own rows, and of all columns."""
    m, n, _ = instruction.shape_mnk
    for name, start, rows in zip(("sfa", "sfb"), scales, (m // instruction.ctas, n), strict=True):
        _are_read(
            warp, operation, start, -(-rows // WARP_LANES), operation.attributes[name], ranks, states, scales=True
        )


def _are_read(
    warp: Warp,
    operation: Operation,
    start: Value,
    columns: int,
    steps: Iterable[int],
    ranks: Sequence[Value],
    states: Sequence[State],
    *,
    scales: bool = False,
) -> None:
    """So many columns from each step on are taken, in every block."""
    code = warp.code
    for step in sorted({step & COLUMN_MASK for step in steps}):
        address = code.value("arith.addi", (start, code.constant(step, "i32")), "i32")
        require_taken(warp, operation, address, columns, states)
        for rank in ranks:
            warp.arrays.observer.reads(warp, operation, rank, address, columns, scales)


def _of_blocks(
    warp: Warp, operation: Operation, ctas: int, places: Sequence[Value]
) -> tuple[list[Value], list[State], list[Value]]:
    """The blocks that an operation works in, this one or those of its pair: their ranks, their states, and each of the
    places in shared memory in all of them."""
    if ctas == 1:
        return [own_rank(warp)], [state_of(warp)], list(places)
    code, cluster = warp.code, warp.arrays.cluster
    assert cluster is not None, "a kernel with pairs of blocks has clusters"
    first = first_of_pair(code, cluster.rank())
    ranks = [first, code.value("arith.ori", (first, code.constant(1, "i32")), "i32")]
    there = [warp.arrays.of_rank(warp, operation, place, rank) for place in places for rank in ranks]
    return ranks, [cluster.state(rank) for rank in ranks], there


def _sums(warp: Warp, operation: Operation, d: Value) -> list[Value]:
    """The address of each tile (m, n)."""
    code = warp.code
    return [code.value("arith.addi", (d, code.constant(step, "i32")), "i32") for step in operation.attributes["d"]]


def _ranges(
    warp: Warp, operation: Operation, instruction: Umma, factors: Sequence[Value], seconds: Sequence[Value]
) -> list[tuple[Value, int]]:
    """Where factors lie in shared memory, with their bytes, if anybody wants to know."""
    if not warp.arrays.observer.observes(operation):
        return []
    attributes, ctas, found = operation.attributes, instruction.ctas, []
    m, n, k = instruction.shape_mnk
    operands = [("a", instruction.a, m), ("b", instruction.b, n)]
    for i, (name, kind, rows) in enumerate(operands[-(len(factors) // ctas) :]):
        size, places = max(1, WIDTHS[kind] // 8), list(attributes[name])
        if instruction.is_long:
            found += _two_buffers(warp, factors[i * ctas : (i + 1) * ctas], seconds[i], rows // ctas)
            continue
        depth = k * WIDTHS[kind] // 8 // size
        last = SmemOperand(*attributes[f"{name}_operand"]).plain_address(rows // ctas - 1, depth - 1, size) + size
        for start in factors[i * ctas : (i + 1) * ctas]:
            found.append((warp.code.offset(start, min(places), "i8"), max(places) - min(places) + last))
    return found


def _two_buffers(warp: Warp, starts: Sequence[Value], second: Value, rows: int) -> list[tuple[Value, int]]:
    """Whole rows of the buffer that chunks begin in, and of the one that they end in."""
    code, found = warp.code, []
    number = partial(code.constant, kind="i64")
    for start in starts:
        address = code.value("llvm.ptrtoint", (start,), "i64")
        inside = code.value("arith.andi", (address, number(_ROW_BYTES - 1)), "i64")
        first = code.value("arith.subi", (address, inside), "i64")
        after = code.value("arith.addi", (address, code.resized(second, "i64")), "i64")
        fits = code.compare("ule", inside, number(_ROW_BYTES - LONG_DEPTH_BITS // 8))
        for low in (first, code.select(fits, first, after, "i64")):
            found.append((code.value("llvm.inttoptr", (low,), "!llvm.ptr"), rows * _ROW_BYTES))
    return found


def _tile_function(instruction: Umma, lies: Sequence[Sequence[Any]]) -> tuple[str, str]:
    """The function that multiplies a tile: its name and its text."""
    left, right = (
        Operand(kind, *one[:2], *((1,) if instruction.is_long else ()))
        for kind, one in zip((instruction.a, instruction.b), lies, strict=True)
    )
    wide = has_wide_registers()
    if instruction.scale:
        scaled = (left, right, instruction.scale, instruction.vector)
        if instruction.is_long:
            return long_function_name(*scaled), long_product_function(*scaled, wide)
        return scaled_function_name(*scaled), scaled_product_function(*scaled, wide)
    m = instruction.shape_mnk[0]
    ctas = instruction.ctas
    kind = (left, right, instruction.accumulator, m // ctas, 32 if m == LANES // 2 else 16, ctas)
    return function_name(*kind), product_function(*kind, wide)


def _product(warp: Warp, operation: Operation, instruction: Umma, state: State | None, given: list[Value]) -> None:
    """One call for each tile (m, n), over all k; of a pair with scales, for the rows of each block with the columns of
    each."""
    code, attributes, ctas = warp.code, operation.attributes, instruction.ctas
    *bases, d = given[: ctas + 1]
    a, b, accumulate = given[ctas + 1 : 2 * ctas + 1], given[2 * ctas + 1 : 3 * ctas + 1], given[3 * ctas + 1]
    addresses, seconds = given[3 * ctas + 2 : 3 * ctas + 4], given[3 * ctas + 4 :]
    _, n, _ = instruction.shape_mnk
    lies: list[list[Any]] = [list(attributes[f"{name}_operand"]) or _IN_COLUMNS for name in "ab"]
    name, text = _tile_function(instruction, lies)
    warp.arrays.define(text)
    tiles, steps = list(attributes["tiles"]), list(attributes["d"])
    places = {name: list(attributes[name]) for name in "ab"}
    if lies[0] is _IN_COLUMNS:
        places["a"] = [4 * LANES * (step & COLUMN_MASK) for step in places["a"]]
        a = [_place(warp, base, address) for base, address in zip(bases, a, strict=True)]
    tables = {name: table(warp, found) for name, found in places.items()}
    number = partial(code.constant, kind="i64")
    distances = [number(part) for one in lies for part in one[2:]]
    callee = {"callee": code.attribute(f'@"{name}"')}
    slices = 3 if instruction.is_long else tiles[2]
    blocks = product(range(ctas), repeat=2) if instruction.scale else [(0, 0)]
    for row, column, (block, half) in product(range(tiles[0]), range(tiles[1]), blocks):
        step = steps[row + tiles[0] * column] + half * _second_half(instruction)
        address = code.value("arith.addi", (d, code.constant(step, "i32")), "i32")
        factors = [a[block], code.offset(tables["a"], row, "i32"), number(tiles[0])]
        factors += [b[half], code.offset(tables["b"], column, "i32"), number(tiles[1])]
        sums = [_place(warp, bases[block], address), accumulate, number(n // ctas // 8), number(slices)]
        more = []
        if instruction.scale:
            more = [
                *_scales(warp, operation, instruction, bases[block], addresses, half * n // ctas),
                *seconds,
            ]
        elif ctas == 2:
            away = _second_half(instruction)
            words = (away & COLUMN_MASK) * LANES + (away >> LANE_SHIFT)
            more = [_place(warp, bases[1], address), a[1], b[1], number(words)]
        code.operation("func.call", [*sums, *factors, *distances, *more], attributes=callee)


def _scales(
    warp: Warp, operation: Operation, instruction: Umma, base: Value, addresses: Sequence[Value], columns: int
) -> list[Value]:
    """Of A and of B from a column on: the word of the first row in the tensor memory of a block, which of its bytes,
    and how much further slices are, or words of four scales. Of B, a block of a pair has the scales of all columns."""
    code, found = warp.code, []
    m, n, _ = instruction.shape_mnk
    rows = {"sfa": m // instruction.ctas, "sfb": n}
    for name, address, first in (("sfa", addresses[0], 0), ("sfb", addresses[1], columns)):
        away = first % WARP_LANES << LANE_SHIFT | first // WARP_LANES
        moved = code.value("arith.addi", (address, code.constant(away, "i32")), "i32")
        byte = code.value("arith.shrui", (address, code.constant(_BYTE_SHIFT, "i32")), "i32")
        steps = [step & 0xFFFFFFFF for step in operation.attributes[name]]
        further = [part for step in steps for part in ((step & COLUMN_MASK) * LANES, step >> _BYTE_SHIFT)]
        if instruction.is_long:
            further = [word_step(rows[name]) * LANES]
        found += [_place(warp, base, moved), byte, table(warp, further)]
    return found


def copy_scales(warp: Warp, operation: Operation) -> None:
    """Begin to copy a chunk, 32 rows of 16 bytes, to four columns of each quarter of the lanes, in order with
    products; of a pair, by both blocks."""
    address, source = (of_first(warp, operand) for operand in operation.operands)
    ranks, states, sources = _of_blocks(warp, operation, int(operation.attributes["ctas"].value), (source,))
    require_taken(warp, operation, address, CHUNK_FACTORS, states)
    fresh = warp.code.constant(0, "i1")
    for rank, state, start in zip(ranks, states, sources, strict=True):
        warp.arrays.observer.tensor(warp, operation, rank, address, CHUNK_FACTORS, fresh)
        warp.arrays.observer.begins(warp, operation, first_lane(warp), start, CHUNK)
        base = warp.code.load(state.place(TENSOR_MEMORY), "!llvm.ptr", 8)
        defer_umma(warp, [base, address, start], partial(_copied, warp))


def _copied(warp: Warp, _: State | None, given: list[Value]) -> None:
    base, address, source = given
    code = warp.code
    start = _place(warp, base, address)
    rows = code.load(source, f"vector<{WARP_LANES * CHUNK_FACTORS}xi32>", 16)
    for column in range(CHUNK_FACTORS):
        words = code.shuffle(rows, rows, [CHUNK_FACTORS * row + column for row in range(WARP_LANES)], "i32")
        for quarter in range(LANES // WARP_LANES):
            code.store(words, code.offset(start, LANES * column + WARP_LANES * quarter, "i32"), 64)


def _second_half(instruction: Umma) -> int:
    """From the address of the first column to that of column N / 2, which the second block of a pair has of B."""
    m, n, _ = instruction.shape_mnk
    return LANES // 2 << LANE_SHIFT if m == LANES else n // 2


def commit(warp: Warp, operation: Operation) -> None:
    """Arrive on an mbarrier, or on those of several blocks, when the products before are complete."""
    barrier, blocks = (of_first(warp, operand) for operand in operation.operands)
    lane = warp.code.value("arith.index_castui", (first_lane(warp),), "index")

    def arrive(state: State | None, given: list[Value]) -> None:
        word = Word(warp.code, given[0])
        word.arrive(warp.code.constant(1, "i64"))
        word.settle(state)

    def once(counter: Value) -> None:
        warp.arrays.observer.phase(warp, operation, counter, lane)
        defer_umma(warp, [counter], arrive)

    if operation.attributes["multicast"].value:
        each_bit(warp.code, blocks, lambda rank: once(warp.arrays.of_rank(warp, operation, barrier, rank)))
    else:
        once(barrier)


def wait(warp: Warp, operation: Operation) -> None:
    """Loads and stores are done when they are issued."""
    require_whole_warp(warp, operation)
    warp.arrays.observer.sync(warp, operation)


_ROW_BYTES = 128
"""Of a buffer that an instruction of K = 96 reads."""
_IN_COLUMNS: list[Any] = [None, 0, 0, 0]
"""In the place of how an operand lies in shared memory."""
_BYTE_SHIFT = 30
"""Where the byte of a word is in an address of scales."""
HANDLERS: dict[str, Callable[[Warp, Operation], None]] = {
    UMMA: multiply,
    UMMA_COMMIT: commit,
    TMEM_ALLOC: allocate,
    TMEM_DEALLOC: free,
    TMEM_PERMIT: give_up_permit,
    TMEM_LOAD: load,
    TMEM_LOAD_REDUCE: load_and_reduce,
    TMEM_STORE: store,
    TMEM_COPY: copy_scales,
    TMEM_WAIT: wait,
    TMEM_FENCE: no_op,
}
TENSOR_MEMORY_USES = frozenset(HANDLERS)
"""Kernels with one of these have tensor memory, and its warps wait for each other."""
