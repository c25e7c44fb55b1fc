"""UMMA and tensor memory on a CPU: a product is done when it is issued, or by the queue of asynchronous operations.

The tensor memory of a block is memory of its own, column after column, 128 words each. A warp's registers of one column
are neighbouring words of it.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import cache, partial
from itertools import product

from triptych.diagnostics.kernel_errors import TensorMemoryError
from triptych.ir.handles import Operation, Value
from triptych.ir.location import place_of
from triptych.kernel_ir.dialects.smem_operands import SmemOperand
from triptych.kernel_ir.dialects.tensor_memory import (
    ACCESSES,
    COLUMN_MASK,
    COLUMNS,
    FEWEST_COLUMNS,
    LANE_MASK,
    LANE_SHIFT,
    LANES,
    TmemAccess,
)
from triptych.kernel_ir.dialects.tile import (
    TMEM_ALLOC,
    TMEM_DEALLOC,
    TMEM_FENCE,
    TMEM_LOAD,
    TMEM_PERMIT,
    TMEM_STORE,
    TMEM_WAIT,
    UMMA,
    UMMA_COMMIT,
)
from triptych.kernel_ir.dialects.umma import Umma, umma
from triptych.layout import Layout
from triptych.targets.cpu.abi.system import has_wide_registers
from triptych.targets.cpu.emit.async_queue import defer_umma
from triptych.targets.cpu.emit.barrier_state import TENSOR_MEMORY, TENSOR_USED, State
from triptych.targets.cpu.emit.collectives import no_op, require, require_whole_warp
from triptych.targets.cpu.emit.mbarriers import Word
from triptych.targets.cpu.emit.mma import table
from triptych.targets.cpu.emit.packed_product import Factor
from triptych.targets.cpu.emit.tma import each_bit, first_of_pair
from triptych.targets.cpu.emit.umma_tiles import function_name, product_function
from triptych.targets.cpu.emit.values import Vector, plain_pointer
from triptych.targets.cpu.emit.warp import Warp

TENSOR_BYTES = 4 * LANES * COLUMNS
_GRANULES = COLUMNS // FEWEST_COLUMNS
"""Bits of the word that says which columns are taken."""


def _state(warp: Warp) -> State:
    assert warp.arrays.state is not None, "kernels with tensor memory have warps that wait"
    return warp.arrays.state


def _of_first(warp: Warp, value: Value) -> Value:
    """The value of the first active lane."""
    code = warp.code
    lane = code.constant(0, "i32") if warp.mask is None else code.first(warp.mask)
    index = code.value("arith.index_castui", (lane,), "index")
    return warp.lane(value, index, plain_pointer(value.type))


# columns ------------------------------------------------------------------------------------------------------------
def allocate(warp: Warp, operation: Operation) -> None:
    """The first columns that are free, at a multiple of how many they are."""
    require_whole_warp(warp, operation)
    code, state = warp.code, _state(warp)
    word, columns = (_of_first(warp, operand) for operand in operation.operands)
    used = state.get(TENSOR_USED)
    mask = _granules(warp, columns)
    many = code.value("arith.divui", (columns, code.constant(FEWEST_COLUMNS, "i32")), "i32")
    found = code.constant(-1, "i32")
    for start in reversed(range(_GRANULES)):
        place = code.constant(start, "i32")
        here = code.value("arith.shli", (mask, place), "i32")
        free = code.compare("eq", code.value("arith.andi", (used, here), "i32"), code.constant(0, "i32"))
        end = code.value("arith.addi", (place, many), "i32")
        fits = code.compare("ule", end, code.constant(_GRANULES, "i32"))
        aligned = code.compare("eq", code.value("arith.remui", (place, many), "i32"), code.constant(0, "i32"))
        found = code.select(code.both(code.both(free, fits, "i1"), aligned, "i1"), place, found, "i32")
    attributes = code.check_attributes(
        TensorMemoryError,
        "tensor memory has no columns left",
        span=place_of(operation),
        expected=f"allocations of a block of at most {COLUMNS} columns together",
    )
    require(warp, code.compare("sge", found, code.constant(0, "i32")), code.constant(0, "i32"), attributes)
    state.set(TENSOR_USED, code.value("arith.ori", (used, code.value("arith.shli", (mask, found), "i32")), "i32"))
    address = code.value("arith.muli", (found, code.constant(FEWEST_COLUMNS, "i32")), "i32")
    code.store(address, word, 4)


def _granules(warp: Warp, columns: Value) -> Value:
    """A bit for each 32 of so many columns, from bit 0 on."""
    code = warp.code
    many = code.value("arith.divui", (columns, code.constant(FEWEST_COLUMNS, "i32")), "i32")
    one = code.constant(1, "i32")
    return code.value("arith.subi", (code.value("arith.shli", (one, many), "i32"), one), "i32")


def free(warp: Warp, operation: Operation) -> None:
    require_whole_warp(warp, operation)
    code, state = warp.code, _state(warp)
    address, columns = (_of_first(warp, operand) for operand in operation.operands)
    column = code.value("arith.andi", (address, code.constant(COLUMN_MASK, "i32")), "i32")
    start = code.value("arith.divui", (column, code.constant(FEWEST_COLUMNS, "i32")), "i32")
    mask = code.value("arith.shli", (_granules(warp, columns), start), "i32")
    used = state.get(TENSOR_USED)
    taken = code.compare("eq", code.value("arith.andi", (used, mask), "i32"), mask)
    attributes = code.check_attributes(
        TensorMemoryError,
        "columns of tensor memory are given back that are not taken",
        span=place_of(operation),
        expected="the address and the number of columns of an allocation, once",
    )
    require(warp, taken, code.constant(0, "i32"), attributes)
    state.set(TENSOR_USED, code.value("arith.xori", (used, mask), "i32"))


def _base(warp: Warp) -> Value:
    """Where the tensor memory of the block is."""
    return warp.code.load(_state(warp).place(TENSOR_MEMORY), "!llvm.ptr", 8)


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
    access, layout, packs = _access(warp, operation)
    code = warp.code
    start = _place(warp, _base(warp), _of_first(warp, operation.operands[0]))

    @cache
    def word(number: int) -> Value:
        return code.load(code.offset(start, LANES * number, "i32"), f"vector<{access.lanes}xi32>", 64)

    @cache
    def column(number: int) -> Value:
        return _halves_joined(warp, word(2 * number), word(2 * number + 1), access.lanes) if packs else word(number)

    for register, result in enumerate(operation.results):
        places = [layout((thread, register)) for thread in range(code.width)]
        used = sorted({place // LANES for place in places})
        where = [access.lanes * used.index(place // LANES) + place % LANES for place in places]
        warp.set(result, Vector(_chosen(warp, [(column(number), access.lanes) for number in used], where)))


def store(warp: Warp, operation: Operation) -> None:
    """Each column out of the registers that have words of it."""
    access, layout, packs = _access(warp, operation)
    code = warp.code
    address, *words = operation.operands
    start = _place(warp, _base(warp), _of_first(warp, address))
    held = [warp.vector(word) for word in words]
    owners = {layout((thread, register)): (register, thread) for register in range(len(words)) for thread in range(32)}
    for number in range(len(owners) // access.lanes):
        sources = [owners[LANES * number + lane] for lane in range(access.lanes)]
        used = sorted({register for register, _ in sources})
        where = [code.width * used.index(register) + thread for register, thread in sources]
        column = _chosen(warp, [(held[register], code.width) for register in used], where)
        for index, part in enumerate(_halves(warp, column, access.lanes) if packs else (column,)):
            place = code.offset(start, LANES * ((1 + packs) * number + index), "i32")
            code.store(part, place, 64)


def _access(warp: Warp, operation: Operation) -> tuple[TmemAccess, Layout, bool]:
    """The shape of a load or store, (thread, register) -> word, and whether words are halves of two."""
    require_whole_warp(warp, operation)
    attributes = operation.attributes
    access = ACCESSES[str(attributes["shape"].value)]
    return access, access.layout(int(attributes["repeat"].value)), bool(attributes["pack"].value)


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
    given = [_of_first(warp, operand) for operand in operation.operands]
    instruction = umma(str(attributes["instruction"].value))
    assert instruction is not None, "checked where it was emitted"
    d, a, b, accumulate = given
    if instruction.ctas == 1:
        values = [_base(warp), d, a, b, accumulate]
    else:
        cluster = warp.arrays.cluster
        assert cluster is not None, "a kernel with pairs of blocks has clusters"
        first = first_of_pair(warp.code, cluster.rank())
        ranks = [first, warp.code.value("arith.ori", (first, warp.code.constant(1, "i32")), "i32")]
        bases = [warp.code.load(cluster.state(rank).place(TENSOR_MEMORY), "!llvm.ptr", 8) for rank in ranks]
        factors = [warp.arrays.of_rank(warp, operation, each, rank) for each in (a, b) for rank in ranks]
        values = [*bases, d, *factors, accumulate]
    defer_umma(warp, values, partial(_product, warp, operation, instruction))


def _product(warp: Warp, operation: Operation, instruction: Umma, state: State | None, given: list[Value]) -> None:
    """One call for each tile (m, n), over all k; of a pair, for the rows of each block with the columns of each."""
    code, attributes, ctas = warp.code, operation.attributes, instruction.ctas
    *bases, d = given[: ctas + 1]
    a, b, accumulate = given[ctas + 1 : 2 * ctas + 1], given[2 * ctas + 1 : -1], given[-1]
    m, n, _ = instruction.shape_mnk
    lies = [SmemOperand(*attributes[f"{name}_operand"]) for name in "ab"]
    left, right = (
        Factor(kind, one.major, one.swizzle) for kind, one in zip((instruction.a, instruction.b), lies, strict=True)
    )
    kind = (left, right, instruction.accumulator, m // ctas, 32 if m == LANES // 2 else 16)
    warp.arrays.define(product_function(*kind, has_wide_registers()))
    tiles, steps = list(attributes["tiles"]), list(attributes["d"])
    tables = {name: table(warp, list(attributes[name])) for name in "ab"}
    number = partial(code.constant, kind="i64")
    distances = [number(part) for one in lies for part in (one.leading, one.stride)]
    callee = {"callee": code.attribute(f'@"{function_name(*kind)}"')}
    for row, column in product(range(tiles[0]), range(tiles[1])):
        for block, half in product(range(ctas), repeat=2):
            step = steps[row + tiles[0] * column] + half * _second_half(instruction)
            start = _place(warp, bases[block], code.value("arith.addi", (d, code.constant(step, "i32")), "i32"))
            factors = [a[block], code.offset(tables["a"], row, "i32"), number(tiles[0])]
            factors += [b[half], code.offset(tables["b"], column, "i32"), number(tiles[1])]
            sums = [start, accumulate, number(n // ctas // 8), number(tiles[2])]
            code.operation("func.call", [*sums, *factors, *distances], attributes=callee)


def _second_half(instruction: Umma) -> int:
    """From the address of the first column to that of column N / 2, which the second block of a pair has of B."""
    m, n, _ = instruction.shape_mnk
    return LANES // 2 << LANE_SHIFT if m == LANES else n // 2


def commit(warp: Warp, operation: Operation) -> None:
    """Arrive on an mbarrier, or on those of several blocks, when the products before are complete."""
    barrier, blocks = (_of_first(warp, operand) for operand in operation.operands)

    def arrive(state: State | None, given: list[Value]) -> None:
        word = Word(warp.code, given[0])
        word.arrive(warp.code.constant(1, "i64"))
        word.settle(state)

    if operation.attributes["multicast"].value:
        of_rank = partial(warp.arrays.of_rank, warp, operation, barrier)
        each_bit(warp.code, blocks, lambda rank: defer_umma(warp, [of_rank(rank)], arrive))
    else:
        defer_umma(warp, [barrier], arrive)


HANDLERS: dict[str, Callable[[Warp, Operation], None]] = {
    UMMA: multiply,
    UMMA_COMMIT: commit,
    TMEM_ALLOC: allocate,
    TMEM_DEALLOC: free,
    TMEM_PERMIT: no_op,
    TMEM_LOAD: load,
    TMEM_STORE: store,
    TMEM_WAIT: no_op,
    TMEM_FENCE: no_op,
}
TENSOR_MEMORY_USES = frozenset(HANDLERS)
"""Kernels with one of these have tensor memory, and its warps wait for each other."""
