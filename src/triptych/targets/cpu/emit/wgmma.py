"""WGMMA of four warps on a CPU: the last warp of the warpgroup that arrives runs it for all of them.

A warp that comes earlier waits there, so that all products that were begun have run when a program waits for them. What
the warps hold lies in their own memory, whose parts are a known distance apart. Factors must be the same for all four:
the first warp writes down which they are, and the others compare.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import partial

from triptych.diagnostics.kernel_errors import DivergentBarrierError
from triptych.ir.handles import Attribute, Operation, Value
from triptych.ir.location import place_of
from triptych.ir.types import is_integer
from triptych.kernel_ir.dialects.mma import WARPGROUP_MMAS, WARPGROUP_WARPS, WIDTHS, WarpgroupMma, elements_per_register
from triptych.kernel_ir.dialects.smem_operands import SmemOperand
from triptych.kernel_ir.dialects.tile import WGMMA, WGMMA_COMMIT, WGMMA_FENCE, WGMMA_WAIT
from triptych.targets.cpu.abi.system import has_wide_registers
from triptych.targets.cpu.emit.async_queue import PRODUCTS, commit_products, defer, wait_for_products
from triptych.targets.cpu.emit.barrier_state import CONTEXT_BYTES, PRODUCT_WORDS, PROGRESS, State, when
from triptych.targets.cpu.emit.collectives import no_op, require, require_whole_warp
from triptych.targets.cpu.emit.mma import array_of, table, values
from triptych.targets.cpu.emit.packed_product import Operand
from triptych.targets.cpu.emit.values import Scalar
from triptych.targets.cpu.emit.warp import Warp
from triptych.targets.cpu.emit.wgmma_tiles import function_name, product_function

_RECORD = "vector<4xi64>"


def multiply(warp: Warp, operation: Operation) -> None:
    """Come to a product: the last warp of the warpgroup runs it, the others wait for it."""
    require_whole_warp(warp, operation)
    code, state = warp.code, warp.arrays.state
    assert state is not None, "a kernel with such a product has warps that wait"
    back = _distance_from_first(warp, state)
    arrived, runs = _words(warp)
    _, a, b, accumulate = operation.operands
    given = [
        _same_in_all_lanes(warp, operation, value) for value in (a, b, accumulate) if not _is_array(operation, value)
    ]
    _compare(warp, operation, state.get(arrived), back, given)
    for low, size in _ranges(warp, operation, given) if warp.arrays.observer.observes(operation) else ():
        for lane in (code.width - 1, 0):
            warp.arrays.observer.begins(warp, operation, code.constant(lane, "i32"), low, size)
    before = state.get(runs)
    last = code.compare("eq", state.add(arrived, 1), code.constant(WARPGROUP_WARPS, "i32"))

    def run() -> None:
        _call(warp, operation, back, given, state.get(runs))
        state.set(arrived, 0)
        state.add(runs, 1)

    when(code, last, run)
    state.add(PROGRESS, 1)
    warp.arrays.wait_until(warp, operation, lambda: code.compare("ne", state.get(runs), before))


def _words(warp: Warp) -> tuple[Value, Value]:
    """Where it is counted how many warps have come to a product, and how many products of this warpgroup were begun."""
    code = warp.code
    group = code.value("arith.shrui", (warp.number, code.constant(2, "i32")), "i32")
    word = code.value("arith.muli", (code.resized(group, "i64"), code.constant(2, "i64")), "i64")
    arrived, runs = (code.value("arith.addi", (word, code.constant(PRODUCT_WORDS + i, "i64")), "i64") for i in range(2))
    return arrived, runs


def _is_array(operation: Operation, value: Value) -> bool:
    return value == operation.operands[1] and not len(operation.attributes["a_operand"])


def _distance_from_first(warp: Warp, state: State) -> Value:
    """Bytes from the memory of the first warp of the warpgroup to that of this one (i64)."""
    code = warp.code
    place = code.value("arith.andi", (warp.number, code.constant(WARPGROUP_WARPS - 1, "i32")), "i32")
    return code.resized(code.value("arith.muli", (place, state.get(CONTEXT_BYTES)), "i32"), "i64")


def _same_in_all_lanes(warp: Warp, operation: Operation, value: Value) -> Value:
    """The value of lane 0, which the others must share."""
    found, code = warp.get(value), warp.code
    if isinstance(found, Scalar) and warp.analysis.at(value).uniform:
        return found.value
    vector = warp.vector(value)
    kind = "!llvm.ptr" if value != operation.operands[3] else "i1"
    first = code.extract(vector, 0, kind)
    if kind == "i1":
        equal = code.compare_lanes("eq", vector, code.broadcast(first, kind))
    else:
        one, other = (
            code.value("llvm.ptrtoint", (pointer,), code.wide("i64"))
            for pointer in (vector, code.broadcast(first, kind))
        )
        equal = code.compare_lanes("eq", one, other)
    differs = code.invert(equal)
    holds = code.negated(code.any(differs))
    require(
        warp, holds, code.first(differs), _not_the_same(warp, operation, "threads of a warp give different operands")
    )
    return first


def _compare(warp: Warp, operation: Operation, arrived: Value, back: Value, given: Sequence[Value]) -> None:
    """The first warp writes down what it was given; the others must have been given the same."""
    code = warp.code
    mine = warp.arrays.scratch(code.type(_RECORD), "factors")
    record = code.offset(mine, _negative(warp, back), "i8")
    site = code.constant(_number(operation), "i64")
    numbers = [site, *(_as_number(warp, value) for value in given)]
    first = code.compare("eq", arrived, code.constant(0, "i32"))

    def write_down() -> None:
        for i, number in enumerate(numbers):
            code.store(number, code.offset(record, i, "i64"), 8)

    when(code, first, write_down)
    same = code.constant(1, "i1")
    for i, number in enumerate(numbers):
        equal = code.compare("eq", number, code.load(code.offset(record, i, "i64"), "i64", 8))
        same = code.both(same, equal, "i1")
    attributes = _not_the_same(warp, operation, "the warps of a warpgroup multiply different operands")
    require(warp, same, code.constant(0, "i32"), attributes)


def _number(operation: Operation) -> int:
    """A number that tells products of a kernel apart by their lines."""
    span = place_of(operation)
    return 0 if span is None else span.line


def _not_the_same(warp: Warp, operation: Operation, found: str) -> dict[str, Attribute]:
    return warp.code.check_attributes(
        DivergentBarrierError,
        "a product that the threads of a warpgroup do not compute together",
        span=place_of(operation),
        found=found,
        expected="all 128 threads at the same product, with the same matrices in shared memory",
        instead="partitions of a thread whose number is a multiple of 128: get_slice(thread // 128 * 128)",
    )


def _as_number(warp: Warp, value: Value) -> Value:
    code = warp.code
    if is_integer(value.type, 1):
        return code.value("arith.extui", (value,), "i64")
    return code.value("llvm.ptrtoint", (value,), "i64")


def _negative(warp: Warp, number: Value) -> Value:
    return warp.code.value("arith.subi", (warp.code.constant(0, "i64"), number), "i64")


# running ------------------------------------------------------------------------------------------------------------
def _call(warp: Warp, operation: Operation, back: Value, given: Sequence[Value], number: Value) -> None:
    """Begin product `number` (i32) of the warpgroup, with the memory of its four warps."""
    code, accumulate = warp.code, given[-1]
    sums, *registers = (
        code.offset(array_of(warp, operation, array), _negative(warp, back), "i8")
        for array in operation.operands
        if array == operation.operands[0] or _is_array(operation, array)
    )
    distance = code.resized(_state(warp).get(CONTEXT_BYTES), "i64")
    values = [sums, distance, accumulate, *registers, *given[:-1]]
    defer(warp, PRODUCTS, values, partial(_begun, warp, operation), number)


def _begun(warp: Warp, operation: Operation, _: State | None, values: list[Value]) -> None:
    _multiply(warp, operation, *values)


def _ranges(warp: Warp, operation: Operation, given: Sequence[Value]) -> list[tuple[Value, int]]:
    """The ranges of shared memory that hold its factors, with their bytes."""
    attributes = operation.attributes
    instruction = WARPGROUP_MMAS[str(attributes["instruction"].value)]
    m, n, k = instruction.shape_mnk
    found, pointers = [], list(given[:-1])
    for name, kind, rows in (("a", instruction.a, m), ("b", instruction.b, n)):
        lies = list(attributes[f"{name}_operand"])
        if lies:
            size = WIDTHS[kind] // 8
            places = list(attributes[name])
            last = SmemOperand(*lies).plain_address(rows - 1, k - 1, size) + size
            first = warp.code.offset(pointers.pop(0), min(places), "i8")
            found.append((first, max(places) - min(places) + last))
    return found


def _multiply(warp: Warp, operation: Operation, d: Value, distance: Value, accumulate: Value, *memory: Value) -> None:
    """One call for each tile (m, n), over all k."""
    code, attributes = warp.code, operation.attributes
    instruction = WARPGROUP_MMAS[str(attributes["instruction"].value)]
    lies = [list(attributes[f"{name}_operand"]) for name in "ab"]
    kinds = (instruction.a, instruction.b)
    a, b = (Operand(kind, *(one[:2] or (None,))) for kind, one in zip(kinds, lies, strict=True))
    warp.arrays.define(product_function(a, b, instruction.accumulator, has_wide_registers()))
    tiles, tables = list(attributes["tiles"]), {name: table(warp, list(attributes[name])) for name in "dab"}
    number = partial(code.constant, kind="i64")
    registers = _registers(instruction, a)
    distances = [number(part) for one in lies for part in (one[2:] or (0, 0))]
    for m in range(tiles[0]):
        for n in range(tiles[1]):
            at = {"d": (m + tiles[0] * n) * registers["d"], "a": m * registers["a"], "b": n}
            place = {name: code.offset(tables[name], at[name], "i32") for name in "dab"}
            steps = {"a": number(tiles[0] * registers["a"]), "b": number(tiles[1])}
            sums = [d, distance, place["d"], accumulate, number(instruction.shape_mnk[1] // 8), number(tiles[2])]
            factors = [memory[0], place["a"], steps["a"], memory[1], place["b"], steps["b"]]
            callee = {"callee": code.attribute(f"@{function_name(a, b, instruction.accumulator)}")}
            code.operation("func.call", [*sums, *factors, *distances], attributes=callee)


def commit(warp: Warp, operation: Operation) -> None:
    """The products that this warpgroup has begun so far are closed groups of this warp."""
    warp.arrays.observer.sync(warp, operation)
    if warp.arrays.queue is not None:
        commit_products(warp, operation, _state(warp).get(_words(warp)[1]))


def _state(warp: Warp) -> State:
    assert warp.arrays.state is not None, "kernels with WGMMA have the state of a block"
    return warp.arrays.state


def _registers(instruction: WarpgroupMma, a: Operand) -> dict[str, int]:
    """Entries of the tables for each tile."""
    d = values(instruction.tv_c) // elements_per_register(instruction.accumulator)
    return {"d": d, "a": 1 if a.major is not None else values(instruction.tv_a) // elements_per_register(a.kind)}


HANDLERS: dict[str, Callable[[Warp, Operation], None]] = {
    WGMMA: multiply,
    WGMMA_FENCE: no_op,
    WGMMA_COMMIT: commit,
    WGMMA_WAIT: wait_for_products,
}
