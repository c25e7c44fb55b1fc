"""Matrix loads and stores between shared memory and registers: `tile.load_matrix` and `tile.store_matrix`.

A row of a matrix is 16 bytes at the address of one lane: a matrix is loaded and stored row by row, whole. Which of its
bytes are whose the entries of `matrix_copies` say; here that becomes shuffles of vectors. They are in a function for
all operations that move alike: of one address where distances between rows are known, otherwise of one for each row.
Registers pass between it and its callers through memory, which is where fragments are; registers that go elsewhere,
from rows known distances apart, are loaded in place.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import cache

from triptych.ir.errors import LoweringError
from triptych.ir.handles import Operation, Value
from triptych.ir.location import place_of
from triptych.kernel_ir.analysis.addresses import step
from triptych.kernel_ir.dialects.kernel_operations import defining_op
from triptych.kernel_ir.dialects.matrix_copies import MATRIX_COPIES, REGISTER_BITS, ROW_BITS, MatrixCopy
from triptych.kernel_ir.dialects.tile import LOAD_MATRIX, STORE_MATRIX, WARP_THREADS
from triptych.targets.cpu.abi.abi import ALIGNMENT
from triptych.targets.cpu.emit.collectives import require_whole_warp
from triptych.targets.cpu.emit.lane_builder import LaneBuilder
from triptych.targets.cpu.emit.memory import lane_address, row_address
from triptych.targets.cpu.emit.mma import table
from triptych.targets.cpu.emit.values import StackSlot, Vector
from triptych.targets.cpu.emit.warp import Warp

ROW_BYTES = ROW_BITS // 8
ROW_WORDS = ROW_BITS // REGISTER_BITS
ROW = f"vector<{ROW_WORDS}xi32>"
_REGISTER_BYTES = REGISTER_BITS // 8
_WHOLE_ELEMENTS = ("b8", "b16")


# loads ----------------------------------------------------------------------------------------------------------
def load_matrices(warp: Warp, operation: Operation) -> None:
    require_whole_warp(warp, operation)
    (pointer,) = operation.operands
    copy = _instruction(operation)
    if _fill_fragment(warp, copy, operation):
        return
    if warp.analysis.at(pointer).known:
        addresses = [lane_address(warp, pointer, lane) for lane in range(copy.count * copy.rows)]
        registers = _load(warp.code, copy, addresses)
    else:
        slots = _slots(warp, copy.registers)
        _call_load(warp, copy, pointer, slots, _REGISTER_BYTES)
        registers = [warp.code.load(slot, warp.code.wide("i32"), ALIGNMENT) for slot in slots]
    for result, register in zip(operation.results, registers, strict=True):
        warp.set(result, Vector(register))


def _load(code: LaneBuilder, copy: MatrixCopy, addresses: Sequence[Value]) -> list[Value]:
    """The registers, each of all lanes, of matrices whose rows are at these addresses."""
    places = _places(copy)
    registers: list[Value] = []
    for matrix in range(copy.count):
        mine = addresses[matrix * copy.rows : (matrix + 1) * copy.rows]
        rows = [(code.load(address, ROW, ROW_BYTES), ROW_WORDS) for address in mine]
        memory = code.joined(rows, code.type("i32"))
        registers += _cut(code, memory, places, len(places) // (WARP_THREADS * _REGISTER_BYTES))
    return registers


def _fill_fragment(warp: Warp, copy: MatrixCopy, operation: Operation) -> bool:
    """Load and store by one call, if the registers go where the place of each is known."""
    stores = warp.arrays.fragment_stores.of(operation)
    if stores is None:
        return False
    places = [_place(warp, store.operands[1]) for store in stores]
    known = [place for place in places if place is not None]
    if len(known) < len(places) or len({place.size for place in known}) > 1:
        return False
    _call_load(warp, copy, operation.operands[0], [row_address(warp, place, 0) for place in known], known[0].size)
    warp.done.update(stores)
    return True


def _place(warp: Warp, pointer: Value) -> StackSlot | None:
    """The place in an array of the thread that an address of constants is; such addresses take no code."""
    if pointer not in warp.values:
        made_by = defining_op(pointer)
        taken = step(made_by)
        if made_by is None or taken is None or not isinstance(taken.index, int) or _place(warp, taken.base) is None:
            return None
        warp.convert(made_by)
    found = warp.get(pointer)
    return found if isinstance(found, StackSlot) and found.dynamic is None else None


def _call_load(warp: Warp, copy: MatrixCopy, pointer: Value, rows: Sequence[Value], size: int) -> None:
    """Load registers into memory, cut into rows of elements of so many bytes."""
    code, known, count = warp.code, warp.analysis.at(pointer), copy.count * copy.rows
    at_distances = known.fixed
    given = [warp.vector(pointer)]
    if at_distances:
        given = [warp.scalar(pointer), table(warp, (known.offsets or ())[:count])]

    def write(arguments: Sequence[Value]) -> None:
        address, targets = arguments[0], arguments[len(given) :]
        if at_distances:
            distances = [code.load(code.offset(arguments[1], row, "i32"), "i32", 4) for row in range(1, count)]
            lanes = [address, *(code.offset(address, distance, "i8") for distance in distances)]
        else:
            lanes = [code.extract(address, lane, "!llvm.ptr") for lane in range(count)]
        for register, target in zip(_load(code, copy, lanes), targets, strict=True):
            _store_register(code, register, target, size)

    name = f"{copy.name}.to{8 * size}{'.at_distances' if at_distances else ''}"
    warp.arrays.call(code, name, [*given, *rows], write)


def _store_register(code: LaneBuilder, register: Value, target: Value, size: int) -> None:
    """A word in every lane as rows of its parts."""
    together, part = _REGISTER_BYTES // size, f"i{8 * size}"
    every = code.value("vector.bitcast", (register,), code.vector(together * code.width, part))
    for i in range(together):
        row = code.shuffle(every, every, range(i, together * code.width, together), part) if together > 1 else every
        code.store(row, code.offset(target, i, code.wide(part)), min(ALIGNMENT, size * code.width))


# stores ---------------------------------------------------------------------------------------------------------
def store_matrices(warp: Warp, operation: Operation) -> None:
    require_whole_warp(warp, operation)
    pointer, *values = operation.operands
    copy, code = _instruction(operation), warp.code
    registers = [warp.vector(value) for value in values]
    if warp.analysis.at(pointer).known:
        addresses = [lane_address(warp, pointer, lane) for lane in range(copy.count * copy.rows)]
        _store(code, copy, registers, addresses)
        return

    def write(given: Sequence[Value]) -> None:
        addresses, *sources = given
        lanes = [code.extract(addresses, lane, "!llvm.ptr") for lane in range(copy.count * copy.rows)]
        _store(code, copy, [code.load(source, code.wide("i32"), ALIGNMENT) for source in sources], lanes)

    slots = _slots(warp, copy.registers)
    for register, slot in zip(registers, slots, strict=True):
        code.store(register, slot, ALIGNMENT)
    warp.arrays.call(code, copy.name, [warp.vector(pointer), *slots], write)


def _store(code: LaneBuilder, copy: MatrixCopy, registers: Sequence[Value], addresses: Sequence[Value]) -> None:
    places = _places(copy)
    inverse = sorted(range(len(places)), key=places.__getitem__)
    each = len(registers) // copy.count
    for matrix in range(copy.count):
        parts = [(register, WARP_THREADS) for register in registers[matrix * each : (matrix + 1) * each]]
        rows = _cut(code, code.joined(parts, code.type("i32")), inverse, copy.rows)
        for row, part in enumerate(rows):
            code.store(part, addresses[matrix * copy.rows + row], ROW_BYTES)


# both -----------------------------------------------------------------------------------------------------------
def _slots(warp: Warp, registers: int) -> list[Value]:
    """Memory for registers between a function and its caller."""
    return [warp.arrays.scratch(warp.code.wide("i32"), f"register {i}") for i in range(registers)]


def _instruction(operation: Operation) -> MatrixCopy:
    """The entry that an operation is made from."""
    copy = MATRIX_COPIES[operation.attributes["instruction"].value]
    if copy.element not in _WHOLE_ELEMENTS:
        raise LoweringError(
            "the CPU target moves matrices of elements of 8 and 16 bits that stay as they are",
            span=place_of(operation),
            found=copy.name,
        )
    return copy


@cache
def _places(copy: MatrixCopy) -> tuple[int, ...]:
    """For every byte of the registers of a matrix, lane by lane in each, which byte of its rows it is."""
    each = copy.registers // copy.count
    return tuple(
        copy.held(lane, REGISTER_BITS * register + 8 * byte) // 8
        for register in range(each)
        for lane in range(WARP_THREADS)
        for byte in range(_REGISTER_BYTES)
    )


def _cut(code: LaneBuilder, words: Value, places: Sequence[int], count: int) -> list[Value]:
    """Bytes of a vector of words in another order, cut into vectors of words; moved by the largest units that stay."""
    size = next(size for size in (4, 2, 1) if _stays(places, size))
    units = [place // size for place in places[::size]]
    element = f"i{8 * size}"
    source = words if size == 4 else code.value("vector.bitcast", (words,), f"vector<{len(units)}x{element}>")
    length = len(units) // count
    if count == 1 and units == list(range(length)):
        return [words]
    kind = f"vector<{length * size // 4}xi32>"
    parts = [code.shuffle(source, source, units[length * i : length * (i + 1)], element) for i in range(count)]
    return parts if size == 4 else [code.value("vector.bitcast", (part,), kind) for part in parts]


def _stays(places: Sequence[int], size: int) -> bool:
    """Whether so many bytes, from a multiple of that on, are always next to each other."""
    starts = places[::size]
    return all(start % size == 0 for start in starts) and all(
        places[i] == starts[i // size] + i % size for i in range(len(places))
    )


HANDLERS: dict[str, Callable[[Warp, Operation], None]] = {
    LOAD_MATRIX: load_matrices,
    STORE_MATRIX: store_matrices,
}
