"""Memory accesses of a warp: vector loads where differences are known, gathers and scatters otherwise."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING

from triptych.ir.handles import Operation, Type, Value
from triptych.ir.types import byte_size, count_and_element, element_type, is_pointer
from triptych.kernel_ir.analysis.addresses import is_private
from triptych.kernel_ir.dialects.kernel_operations import access_alignment, defining_op, is_ordered
from triptych.support.runs import Run
from triptych.targets.cpu.emit.bundles import load_from_bundle, store_to_bundle
from triptych.targets.cpu.emit.serialized_lanes import (
    copied_by,
    copy_in_turn,
    in_runs,
    is_bytes,
    is_packed,
    is_regular,
    lane_runs,
    load_in_turn,
    load_rows_in_turn,
    store_in_turn,
    store_rows_in_turn,
)
from triptych.targets.cpu.emit.values import ArrayOfStructs, Scalar, StackSlot, StructOfArrays, Vector, plain_pointer

if TYPE_CHECKING:
    from triptych.targets.cpu.emit.lane_builder import Order
from triptych.targets.cpu.emit.warp import Warp

_LEAST_GATHERED = 4
"""Bytes of the smallest element that machines gather and scatter."""


def _order(operation: Operation) -> Order:
    """How an atomic access is ordered; nothing for others. Each lane does it by itself, or all of them as one."""
    if not is_ordered(operation):
        return {}
    return {name: operation.attributes[name] for name in ("ordering", "volatile_") if name in operation.attributes}


# loads ----------------------------------------------------------------------------------------------------------
def load(warp: Warp, operation: Operation) -> None:
    pointer, result = operation.operands[0], operation.results[0]
    kind = plain_pointer(result.type)
    found = warp.get(pointer)
    if isinstance(found, StackSlot):
        warp.set(result, _load_private(warp, found, kind))
        return
    counted, order = count_and_element(kind), _order(operation)
    alignment = access_alignment(operation, kind)
    if warp.analysis.at(result).known:
        warp.set(result, Scalar(warp.code.load(warp.scalar(pointer), kind, alignment, order)))
    elif order:
        warp.set(result, Vector(load_in_turn(warp, warp.vector(pointer), kind, alignment, order)))
    elif counted and (store := copied_by(warp, operation, counted)) is not None:
        target = store.operands[1]
        both = min(alignment, access_alignment(store, kind))
        copy_in_turn(warp, pointer, target, kind, both)
        warp.done.add(store)
    elif counted:
        warp.set(result, _load_vectors(warp, operation, counted, alignment))
    else:
        warp.set(result, Vector(_load_lanes(warp, pointer, kind, alignment, 0)))


def _load_vectors(
    warp: Warp, operation: Operation, counted: tuple[int, Type], alignment: int
) -> ArrayOfStructs | StructOfArrays:
    count, element = counted
    pointer = operation.operands[0]
    size = byte_size(element)
    known = warp.analysis.at(pointer)
    if is_packed(known, count * size):
        kind = warp.code.vector(count * warp.code.width, element)
        address = warp.scalar(pointer)
        if warp.mask is None:
            return ArrayOfStructs(warp.code.load(address, kind, alignment), count)
        return ArrayOfStructs(masked_load(warp, address, _repeated(warp, warp.mask, count), kind, alignment), count)
    if not in_runs(known, size):
        kind = warp.code.vector(count, element)
        if _by_rows(warp, pointer, counted) and all(
            _takes_rows(use.owner.operation) for use in operation.results[0].uses
        ):
            return StructOfArrays(load_rows_in_turn(warp, warp.vector(pointer), kind, alignment))
        return ArrayOfStructs(load_each(warp, pointer, kind, alignment), count)
    return StructOfArrays([_load_lanes(warp, pointer, element, size, i * size) for i in range(count)])


def _by_rows(warp: Warp, pointer: Value, counted: tuple[int, Type]) -> bool:
    """Whether vectors go through memory between a function and its caller, where they can lie as either wants them."""
    is_called = warp.mask is not None or not warp.analysis.at(pointer).known
    return is_called and counted[0] > 1 and is_bytes(counted[1])


def _takes_rows(user: Operation) -> bool:
    """Whether an operation wants the elements one by one: all but stores to memory that threads share."""
    return user.name != "llvm.store" or is_private(defining_op(user.operands[1]))


def _repeated(warp: Warp, mask: Value, count: int) -> Value:
    """The mask with every lane's bit `count` times."""
    places = [lane for lane in range(warp.code.width) for _ in range(count)]
    return warp.code.shuffle(mask, mask, places, "i1")


def masked_load(warp: Warp, address: Value, mask: Value, kind: Type, alignment: int) -> Value:
    attributes = {"alignment": warp.code.integer("i32", alignment)}
    return warp.code.value("llvm.intr.masked.load", (address, mask, warp.code.zero(kind)), kind, attributes)


def masked_store(warp: Warp, value: Value, address: Value, mask: Value, alignment: int) -> None:
    attributes = {"alignment": warp.code.integer("i32", alignment)}
    warp.code.operation("llvm.intr.masked.store", (value, address, mask), attributes=attributes)


def _load_lanes(warp: Warp, pointer: Value, element: Type, alignment: int, shift: int) -> Value:
    """One element for each lane, `shift` bytes after the lane's address."""
    code, known, size = warp.code, warp.analysis.at(pointer), byte_size(element)
    if is_pointer(element):
        words = _load_lanes(warp, pointer, code.type("i64"), alignment, shift)
        return code.value("llvm.inttoptr", (words,), code.wide("!llvm.ptr"))
    if in_runs(known, size):
        parts = [_load_run(warp, pointer, run, element, alignment, shift) for run in lane_runs(known, size)]
        return code.joined(parts, element)
    addresses = warp.vector(pointer)
    if shift:
        addresses = code.offset(addresses, code.constants([shift] * code.width, "i64"), "i8")
    return gather(warp, addresses, element, alignment)


def lane_address(warp: Warp, pointer: Value, lane: int) -> Value:
    """The address in one lane, whatever is known of it."""
    if warp.analysis.at(pointer).known:
        return _address(warp, pointer, lane, 0)
    return warp.code.extract(warp.vector(pointer), lane, "!llvm.ptr")


def _address(warp: Warp, pointer: Value, lane: int, shift: int) -> Value:
    """The address in one lane, and `shift` bytes more."""
    code, known = warp.code, warp.analysis.at(pointer)
    address, distance = warp.scalar(pointer), (known.offsets or ())[lane] + shift
    for number, times in known.multiples:
        if times[lane]:
            kind = number.type
            rows = code.value("arith.muli", (warp.scalar(number), code.constant(times[lane], kind)), kind)
            address = code.offset(address, rows, "i8")
    return code.offset(address, distance, "i8") if distance else address


def _load_run(warp: Warp, pointer: Value, run: Run, element: Type, alignment: int, shift: int) -> tuple[Value, int]:
    code, first, count = warp.code, run.first, run.count
    address = _address(warp, pointer, first, shift)
    mask = warp.mask
    if mask is not None and count != code.width:
        mask = code.shuffle(mask, mask, range(first, first + count), "i1")
    kind = code.vector(count, element)
    if run.step != 0:
        if mask is None:
            return code.load(address, kind, alignment), count
        return masked_load(warp, address, mask, kind, alignment), count
    if mask is None:
        one = code.load(address, element, alignment)
    else:
        one = _load_if_any(warp, mask, address, element, alignment)
    return code.value("vector.broadcast", (one,), kind), count


def _load_if_any(warp: Warp, mask: Value, address: Value, element: Type, alignment: int) -> Value:
    code = warp.code
    made = code.operation("scf.if", (code.reduce("or", mask, "i1"),), [element], regions=2)
    before = code.enter(code.append_block(made, 0))
    code.operation("scf.yield", (code.load(address, element, alignment),))
    code.leave(before)
    before = code.enter(code.append_block(made, 1))
    code.operation("scf.yield", (code.zero(element),))
    code.leave(before)
    return made.results[0]


def gather(warp: Warp, addresses: Value, element: Type, alignment: int) -> Value:
    code, kind = warp.code, warp.code.wide(element)
    if byte_size(element) < _LEAST_GATHERED:
        return load_in_turn(warp, addresses, element, alignment)
    mask = warp.mask if warp.mask is not None else code.dense(", ".join(["true"] * code.width), code.wide("i1"))
    attributes = {"alignment": code.integer("i32", alignment)}
    return code.value("llvm.intr.masked.gather", (addresses, mask, code.zero(kind)), kind, attributes)


# lane after lane --------------------------------------------------------------------------------------------------
def load_each(warp: Warp, pointer: Value, kind: Type, alignment: int) -> Value:
    """A vector from every lane's own address, lane after lane."""
    code = warp.code
    if warp.mask is not None or not is_regular(warp.analysis.at(pointer)):
        return load_in_turn(warp, warp.vector(pointer), kind, alignment)
    count, element = count_and_element(kind) or (1, kind)
    parts = [code.load(lane_address(warp, pointer, lane), kind, alignment) for lane in range(code.width)]
    return code.joined([(part, count) for part in parts], element)


def store_each(warp: Warp, packed: Value, pointer: Value, kind: Type, alignment: int) -> None:
    """A vector to every lane's own address."""
    code = warp.code
    count, element = count_and_element(kind) or (1, kind)
    if warp.mask is not None or not is_regular(warp.analysis.at(pointer)):
        store_in_turn(warp, packed, warp.vector(pointer), kind, alignment)
        return
    for lane in range(code.width):
        part = code.shuffle(packed, packed, range(lane * count, lane * count + count), element)
        code.store(part, lane_address(warp, pointer, lane), alignment)


# arrays of threads ------------------------------------------------------------------------------------------------
def row_address(warp: Warp, found: StackSlot, index: int) -> Value:
    """The address of a row of a private array: one element of all lanes."""
    place = found.index + index
    if found.dynamic is None:
        return warp.arrays.row(warp, found.root, place)
    assert isinstance(found.dynamic, Scalar), "all lanes index alike"
    array, base = warp.arrays.private(warp, found.root)
    kind = warp.code.wide(array.element)
    moved = warp.code.offset(base, found.dynamic.value, kind)
    return warp.code.offset(moved, place, kind) if place else moved


def _elements(warp: Warp, found: StackSlot, index: int) -> Value:
    """The addresses of one element in each lane, where lanes index differently."""
    code = warp.code
    array, _ = warp.arrays.private(warp, found.root)
    assert isinstance(found.dynamic, Vector), "lanes index differently"
    start = warp.arrays.row(warp, found.root, found.index + index)
    lanes = code.constants([code.width] * code.width, "i64")
    rows = code.value("arith.muli", (found.dynamic.value, lanes), code.wide("i64"))
    places = code.value("arith.addi", (rows, code.constants(range(code.width), "i64")), code.wide("i64"))
    return code.offset(start, places, array.element)


def _load_private(warp: Warp, found: StackSlot, kind: Type) -> Vector | StructOfArrays:
    counted = count_and_element(kind)
    if counted:
        return StructOfArrays([_load_element(warp, found, i, counted[1]) for i in range(counted[0])])
    return Vector(_load_element(warp, found, 0, kind))


def _load_element(warp: Warp, found: StackSlot, index: int, element: Type) -> Value:
    size = byte_size(element)
    together = size // found.size
    if together > 1:
        return _joined_words(warp, found, index * together, together, element)
    if isinstance(found.dynamic, Vector):
        return gather(warp, _elements(warp, found, index), element, size)
    if (slot := warp.arrays.slot(found.root, found.index + index)) is not None:
        return load_from_bundle(warp, found.root, slot, element)
    return warp.code.load(row_address(warp, found, index), warp.code.wide(element), warp.code.row_alignment(size))


# stores ---------------------------------------------------------------------------------------------------------
def store(warp: Warp, operation: Operation) -> None:
    value, pointer = operation.operands
    kind = plain_pointer(value.type)
    found = warp.get(pointer)
    counted = count_and_element(kind)
    if isinstance(found, StackSlot):
        _store_private(warp, found, value, kind)
        return
    known = warp.analysis.at(pointer)
    alignment = access_alignment(operation, kind)
    order = _order(operation)
    if known.uniform:
        _store_once(warp, value, warp.scalar(pointer), kind, alignment, order)
    elif order:
        store_in_turn(warp, warp.vector(value), warp.vector(pointer), kind, alignment, order)
    elif counted:
        _store_vectors(warp, value, pointer, counted, alignment)
    else:
        _store_lanes(warp, warp.vector(value), pointer, kind, alignment, 0)


def _store_once(warp: Warp, value: Value, address: Value, kind: Type, alignment: int, order: Order) -> None:
    """All lanes store to one address: the last active one stays."""
    code = warp.code
    if warp.mask is None and isinstance(warp.get(value), Scalar) and warp.analysis.at(value).uniform:
        code.store(warp.scalar(value), address, alignment, order)
        return
    last = last_active(warp)

    def write() -> None:
        code.store(_value_in(warp, value, last, kind), address, alignment, order)

    when_active(warp, write)


def last_active(warp: Warp) -> Value:
    """The number (`index`) of the last active lane."""
    code = warp.code
    if warp.mask is None:
        return code.constant(code.width - 1, "index")
    kind = f"i{code.width}"
    leading = code.value("math.ctlz", (code.bits(warp.mask),), kind)
    last = code.value("arith.subi", (code.constant(code.width - 1, kind), leading), kind)
    return code.value("arith.index_cast", (last,), "index")


def when_active(warp: Warp, write: Callable[[], None]) -> None:
    """Do something once if any lane is active."""
    code = warp.code
    if warp.mask is None:
        write()
        return
    made = code.operation("scf.if", (code.any(warp.mask),), regions=2)
    outer = warp.region(code.append_block(made, 0), (), warp.mask)
    write()
    code.operation("scf.yield")
    warp.leave(outer)


def _value_in(warp: Warp, value: Value, lane: Value, kind: Type) -> Value:
    """A value (also a vector of elements) in one lane."""
    counted = count_and_element(kind)
    found = warp.get(value)
    if isinstance(found, Scalar) and warp.analysis.at(value).uniform:
        return found.value
    if not counted:
        return warp.code.extract_at(warp.vector(value), lane, kind)
    count, element = counted
    rows = found.rows if isinstance(found, StructOfArrays) else warp.rows(value)
    elements = [warp.code.extract_at(row, lane, element) for row in rows]
    return warp.code.value("vector.from_elements", elements, f"vector<{count}x{element}>")


def _store_vectors(warp: Warp, value: Value, pointer: Value, counted: tuple[int, Type], alignment: int) -> None:
    count, element = counted
    code, size = warp.code, byte_size(element)
    if is_packed(warp.analysis.at(pointer), count * size):
        packed = packed_value(warp, value, count, element)
        if warp.mask is None:
            code.store(packed, warp.scalar(pointer), alignment)
        else:
            masked_store(warp, packed, warp.scalar(pointer), _repeated(warp, warp.mask, count), alignment)
        return
    known = warp.analysis.at(pointer)
    if not (in_runs(known, size) and all(run.step != 0 for run in lane_runs(known, size))):
        kind, found = code.vector(count, element), warp.get(value)
        if isinstance(found, StructOfArrays) and _by_rows(warp, pointer, counted):
            store_rows_in_turn(warp, found.rows, warp.vector(pointer), kind, alignment)
        else:
            store_each(warp, packed_value(warp, value, count, element), pointer, kind, alignment)
        return
    for i, row in enumerate(warp.rows(value)):
        _store_lanes(warp, row, pointer, element, size, i * size)


def packed_value(warp: Warp, value: Value, count: int, element: Type) -> Value:
    """A vector in every lane, lane after lane."""
    found = warp.get(value)
    code = warp.code
    if isinstance(found, ArrayOfStructs):
        return found.value
    if isinstance(found, Scalar):
        return code.shuffle(found.value, found.value, list(range(count)) * code.width, element)
    assert isinstance(found, StructOfArrays), "a vector of the thread is rows, structs or one for all lanes"
    return code.interleaved(found.rows, element)


def _store_lanes(warp: Warp, vector: Value, pointer: Value, element: Type, alignment: int, shift: int) -> None:
    code, known, size = warp.code, warp.analysis.at(pointer), byte_size(element)
    if is_pointer(element):
        words = code.value("llvm.ptrtoint", (vector,), code.wide("i64"))
        _store_lanes(warp, words, pointer, code.type("i64"), alignment, shift)
        return
    found = lane_runs(known, size) if in_runs(known, size) else []
    if found and all(run.step != 0 for run in found):
        for run in found:
            _store_run(warp, vector, pointer, run, element, alignment, shift)
        return
    addresses = warp.vector(pointer)
    if shift:
        addresses = code.offset(addresses, code.constants([shift] * code.width, "i64"), "i8")
    scatter(warp, vector, addresses, alignment)


def _store_run(warp: Warp, vector: Value, pointer: Value, run: Run, element: Type, alignment: int, shift: int) -> None:
    code, first, count = warp.code, run.first, run.count
    address = _address(warp, pointer, first, shift)
    part, mask = vector, warp.mask
    if count != code.width:
        part = code.shuffle(vector, vector, range(first, first + count), element)
        mask = code.shuffle(mask, mask, range(first, first + count), "i1") if mask is not None else None
    if mask is None:
        code.store(part, address, alignment)
    else:
        masked_store(warp, part, address, mask, alignment)


def scatter(warp: Warp, vector: Value, addresses: Value, alignment: int) -> None:
    code, element = warp.code, element_type(vector.type)
    if byte_size(element) < _LEAST_GATHERED:
        store_in_turn(warp, vector, addresses, element, alignment)
        return
    mask = warp.mask if warp.mask is not None else code.dense(", ".join(["true"] * code.width), code.wide("i1"))
    attributes = {"alignment": code.integer("i32", alignment)}
    code.operation("llvm.intr.masked.scatter", (vector, addresses, mask), attributes=attributes)


def _store_private(warp: Warp, found: StackSlot, value: Value, kind: Type) -> None:
    counted = count_and_element(kind)
    rows = warp.rows(value) if counted else [warp.vector(value)]
    element = counted[1] if counted else kind
    for i, row in enumerate(rows):
        _store_element(warp, found, i, row, element)


def _joined_words(warp: Warp, found: StackSlot, index: int, together: int, element: Type) -> Value:
    """Elements side by side as one word in every lane."""
    code, part = warp.code, warp.code.type(f"i{8 * found.size}")
    rows = [_load_element(warp, found, index + i, part) for i in range(together)]
    return code.value("vector.bitcast", (code.interleaved(rows, part),), code.wide(element))


def _store_words(warp: Warp, found: StackSlot, index: int, together: int, row: Value) -> None:
    """A word in every lane into elements side by side."""
    code, part = warp.code, warp.code.type(f"i{8 * found.size}")
    every = code.value("vector.bitcast", (row,), code.vector(together * code.width, part))
    for i in range(together):
        places = [lane * together + i for lane in range(code.width)]
        _store_element(warp, found, index + i, code.shuffle(every, every, places, part), part)


def _store_element(warp: Warp, found: StackSlot, index: int, row: Value, element: Type) -> None:
    code, size = warp.code, byte_size(element)
    together = size // found.size
    if together > 1:
        _store_words(warp, found, index * together, together, row)
        return
    if isinstance(found.dynamic, Vector):
        scatter(warp, row, _elements(warp, found, index), size)
        return
    if (slot := warp.arrays.slot(found.root, found.index + index)) is not None:
        store_to_bundle(warp, found.root, slot, row, element)
        return
    address, alignment = row_address(warp, found, index), code.row_alignment(size)
    if warp.mask is not None:
        kept = code.load(address, code.wide(element), alignment)
        row = code.select(warp.mask, row, kept, code.wide(element))
    code.store(row, address, alignment)


def fence(warp: Warp, operation: Operation) -> None:
    attributes = {name: operation.attributes[name] for name in operation.attributes}
    warp.code.operation("llvm.fence", attributes=attributes)


def allocate(warp: Warp, operation: Operation) -> None:
    """A private array: its memory belongs to the block function."""
    result = operation.results[0]
    array, base = warp.arrays.private(warp, result)
    if warp.analysis.at(result).known:
        warp.set(result, Scalar(base))
    else:
        warp.set(result, StackSlot(result, 0, None, byte_size(array.element)))


HANDLERS: dict[str, Callable[[Warp, Operation], None]] = {
    "llvm.load": load,
    "llvm.store": store,
    "llvm.fence": fence,
    "llvm.alloca": allocate,
}
