"""Emission of one kernel operation as vector code of a warp: a segment without barriers, for all lanes at once.

Uniform values stay scalars. Where lanes take different ways, both ways run under a mask; a way that no lane takes is
skipped when it does more than compute. A loop runs until no lane is active.
"""

from __future__ import annotations

import re
from dataclasses import replace

from triptych.ir.errors import LoweringError
from triptych.ir.handles import Operation, Value
from triptych.ir.location import place_of
from triptych.ir.types import count_and_element, int_width
from triptych.kernel_ir.analysis import addresses
from triptych.kernel_ir.analysis.lanes import Lanes
from triptych.kernel_ir.dialects.check import CHECK_ADDRESS, CHECK_STOP, CHECK_STOPPED
from triptych.kernel_ir.dialects.kernel_operations import dimension, is_pure, pointee
from triptych.kernel_ir.dialects.simt import PREFETCH
from triptych.targets.cpu.emit import (
    atomics,
    bfloat16,
    clusters,
    collectives,
    control_flow,
    launch_control,
    matrix_moves,
    mbarriers,
    memory,
    mma,
    multicast,
    scaled_mma,
    thread_vectors,
    tma,
    umma,
    wgmma,
)
from triptych.targets.cpu.emit.memory import lane_address, row_address
from triptych.targets.cpu.emit.values import Emitted, Scalar, StackSlot, StructOfArrays, Vector, plain_pointer
from triptych.targets.cpu.emit.warp import Warp

# Breakpoint calls for the threads of a warp at once: where each stores its values, and which switch it reads.

INDEX_BITS = 64
"""Of a run-time place in an array."""
SIZE_BITS = 32
"""Of the second word of an address: bytes of an element, above the bytes from one element to the next. Zero: memory is
what it is anywhere else."""


def address(warp: Warp, operation: Operation) -> None:
    """`check.address`: an array of the thread may lie element by element, with the other lanes' in between."""
    code, (pointer,) = warp.code, operation.operands
    found = warp.get(pointer)
    word, wide = code.constant(0, "i64"), code.wide("i64")
    if isinstance(found, StackSlot):
        word = code.constant(found.size << SIZE_BITS | found.size * code.width, "i64")
        start = code.broadcast(code.value("llvm.ptrtoint", (_first(warp, found),), "i64"), "i64")
        lanes = code.constants([lane * found.size for lane in range(code.width)], "i64")
        places = code.value("arith.addi", (start, lanes), wide)
        if isinstance(found.dynamic, Vector):
            steps = code.constants([found.size * code.width] * code.width, "i64")
            moved = code.value("arith.muli", (found.dynamic.value, steps), wide)
            places = code.value("arith.addi", (places, moved), wide)
    else:
        places = code.value("llvm.ptrtoint", (warp.vector(pointer),), wide)
    warp.set(operation.results[0], Vector(places))
    warp.set(operation.results[1], Vector(code.broadcast(word, "i64")))


def _first(warp: Warp, found: StackSlot) -> Value:
    """The address of the row that an address in an array begins at, as far as lanes have it in common."""
    if not isinstance(found.dynamic, Vector):
        return row_address(warp, found, 0)
    return row_address(warp, StackSlot(found.root, found.index, None, found.size), 0)


def stop(warp: Warp, operation: Operation) -> None:
    """`check.stop`: one call for the warp; a later pass knows the launch."""
    code = warp.code
    found = warp.get(operation.operands[0])
    assert isinstance(found, StackSlot), "the array is only stored to, in whole words"
    memory = code.value("llvm.ptrtoint", (row_address(warp, found, 0),), "i64")
    every = (1 << code.width) - 1 if code.width < 64 else -1
    active = code.constant(every, "i64") if warp.mask is None else code.resized(code.bits(warp.mask), "i64")
    narrow = [warp.first_thread(), code.constant(code.width, "i32"), *warp.position.block_ids, *warp.position.block]
    numbers = [memory, code.constant(8 * code.width, "i64"), active]
    numbers += [code.resized(number, "i64") for number in narrow]
    attributes = {name: operation.attributes[name] for name in ("site", "switch")}
    code.operation(CHECK_STOPPED, numbers, attributes=attributes)


# LLVM intrinsics that work element by element: the same intrinsic, named for vectors of lanes.

_ELEMENTWISE = ("llvm.fptosi.sat.", "llvm.fptoui.sat.", "llvm.fma.", "llvm.canonicalize.")
_TYPE = re.compile(r"(v\d+)?(i\d+|f\d+|bf\d+)")


def _for_lanes(name: str, width: int) -> str:
    """`llvm.fptosi.sat.i64.f32` for vectors: `llvm.fptosi.sat.v32i64.v32f32`."""
    parts = []
    for part in name.split("."):
        found = _TYPE.fullmatch(part)
        parts.append(f"v{width}{found[2]}" if found else part)
    return ".".join(parts)


def call(warp: Warp, operation: Operation) -> None:
    name = str(operation.attributes["intrin"].value)
    result, operands, code = operation.results[0], list(operation.operands), warp.code
    attributes = {key: operation.attributes[key] for key in operation.attributes}
    if warp.analysis.at(result).known and all(isinstance(warp.get(operand), Scalar) for operand in operands):
        scalars = [warp.scalar(operand) for operand in operands]
        warp.set(result, Scalar(code.value("llvm.call_intrinsic", scalars, result.type, attributes)))
        return
    if not name.startswith(_ELEMENTWISE):
        raise LoweringError(f"the CPU target cannot run {name} in a kernel", span=place_of(operation))
    attributes["intrin"] = code.string(_for_lanes(name, code.width))
    counted = count_and_element(result.type)
    if counted is None:
        kind, vectors = code.wide(result.type), [warp.vector(operand) for operand in operands]
        warp.set(result, Vector(code.value("llvm.call_intrinsic", vectors, kind, attributes)))
        return
    kind = code.wide(counted[1])
    rows = zip(*(warp.rows(operand) for operand in operands), strict=True)
    warp.set(result, StructOfArrays([code.value("llvm.call_intrinsic", row, kind, attributes) for row in rows]))


# Memory that is asked for ahead: one request for each line of the cache that the lanes of a warp mean.

_LINE = 64
"""Bytes of a line on every machine that LLVM compiles this for with vectors; a guess costs a request too many."""
_MOST = 16
"""Requests of a warp: with more, lanes are scattered and the requests would cost more than they save."""


def prefetch(warp: Warp, operation: Operation) -> None:
    """Inactive lanes ask too: it does no harm. Lanes whose addresses are known only at run time do not."""
    (pointer,) = operation.operands
    known = warp.analysis.at(pointer)
    if isinstance(warp.get(pointer), StackSlot) or not known.known:
        return
    lanes = _one_of_each_line(known)
    if len(lanes) > _MOST:
        return
    attribute = warp.code.integer
    attributes = {"rw": attribute("i32", 0), "hint": attribute("i32", 3), "cache": attribute("i32", 1)}
    for lane in lanes:
        warp.code.operation("llvm.intr.prefetch", (lane_address(warp, pointer, lane),), attributes=attributes)


def _one_of_each_line(known: Lanes) -> list[int]:
    """Lanes no two of which are known to be nearer than a line, the last ones of each.

    What lanes access together rarely begins with a line: NumPy's arrays begin 16 bytes after one. The tile before has
    brought the line in which this one begins.
    """
    found: list[int] = []
    for lane in reversed(range(len(known.offsets or ()))):
        distances = (known.distance(other, lane) for other in found)
        if all(distance is None or abs(distance) >= _LINE for distance in distances):
            found.append(lane)
    return found


_HANDLERS = {
    **control_flow.HANDLERS,
    **memory.HANDLERS,
    PREFETCH: prefetch,
    **atomics.HANDLERS,
    **collectives.HANDLERS,
    **tma.HANDLERS,
    **matrix_moves.HANDLERS,
    **mma.HANDLERS,
    **scaled_mma.HANDLERS,
    "llvm.call_intrinsic": call,
    **mbarriers.HANDLERS,
    **clusters.HANDLERS,
    **thread_vectors.HANDLERS,
    **wgmma.HANDLERS,
    **umma.HANDLERS,
    **launch_control.HANDLERS,
    **multicast.HANDLERS,
    CHECK_ADDRESS: address,
    CHECK_STOP: stop,
}
_THREAD = frozenset({"gpu.thread_id", "gpu.block_id", "gpu.block_dim", "gpu.grid_dim", "gpu.lane_id"})


def convert(warp: Warp, operation: Operation) -> None:
    """Convert one operation; its results get their values."""
    name, observer = operation.name, warp.arrays.observer
    if _is_number(warp, operation):
        return
    if name in _HANDLERS:
        _HANDLERS[name](warp, operation)
    elif name in observer.handlers:
        observer.handlers[name](warp, operation)
    elif name in _THREAD:
        _index(warp, operation, name)
    elif name == addresses.INDEXING:
        _address(warp, operation)
    elif name == "arith.constant" or (is_pure(operation) and not len(operation.operands)):
        _copy_constant(warp, operation)
    elif name == "arith.select":
        _select(warp, operation)
    elif is_pure(operation):
        if not bfloat16.round_many(warp, operation):
            _elementwise(warp, operation)
    else:
        raise LoweringError(
            f"the CPU target cannot run {name} in a kernel", span=place_of(operation), found=str(operation)[:200]
        )


def _is_number(warp: Warp, operation: Operation) -> bool:
    """Whether the analysis knows the number of lane 0, so that nothing need be computed."""
    if not is_pure(operation) or len(operation.results) != 1:
        return False
    result = operation.results[0]
    number, kind = warp.analysis.at(result).constant, result.type
    if number is None or int_width(kind) is None:
        return False
    warp.set(result, Scalar(warp.code.constant(number, kind)))
    return True


def _elementwise(warp: Warp, operation: Operation) -> None:
    """The same operation on scalars, or on one element for each lane."""
    result, operands = operation.results[0], list(operation.operands)
    kind = plain_pointer(result.type)
    name, attributes = operation.name, {name: operation.attributes[name] for name in operation.attributes}
    if warp.analysis.at(result).known and all(isinstance(warp.values[o], Scalar) for o in operands):
        warp.set(result, Scalar(warp.code.value(name, [warp.scalar(o) for o in operands], kind, attributes)))
    elif count_and_element(kind) or any(count_and_element(o.type) for o in operands):
        thread_vectors.elementwise(warp, operation, attributes)
    else:
        vectors = [warp.vector(operand) for operand in operands]
        if name in control_flow.DIVISIONS and warp.mask is not None and not warp.analysis.at(operands[1]).uniform:
            ones = warp.code.dense(", ".join(["1"] * warp.code.width), warp.code.wide(kind))
            vectors[1] = warp.code.select(warp.mask, vectors[1], ones, warp.code.wide(kind))
        warp.set(result, Vector(warp.code.value(name, vectors, warp.code.wide(kind), attributes)))


def _copy_constant(warp: Warp, operation: Operation) -> None:
    result = operation.results[0]
    kind = plain_pointer(result.type)
    attributes = {name: operation.attributes[name] for name in operation.attributes}
    if operation.name == "llvm.mlir.addressof":
        assert warp.arrays.shared is not None, "shared memory is there when its address is taken"
        warp.set(result, Scalar(warp.arrays.shared))
        return
    made = warp.code.value(operation.name, (), kind, attributes)
    warp.set(result, Scalar(made))


def _select(warp: Warp, operation: Operation) -> None:
    result, (condition, chosen, other) = operation.results[0], operation.operands
    decided = warp.analysis.at(condition)
    if decided.uniform and decided.constant is not None:
        warp.set(result, warp.get(chosen if decided.constant else other))
    elif isinstance(warp.get(chosen), StackSlot):
        raise LoweringError("a choice between two register tensors at run time", span=place_of(operation))
    elif isinstance(warp.get(condition), Scalar) and not count_and_element(condition.type):
        _choose(warp, operation, condition, chosen, other)
    else:
        _elementwise(warp, operation)


def _choose(warp: Warp, operation: Operation, condition: Value, chosen: Value, other: Value) -> None:
    """One condition for all lanes."""
    result = operation.results[0]
    if warp.analysis.at(result).known and all(isinstance(warp.get(v), Scalar) for v in (chosen, other)):
        _elementwise(warp, operation)
    elif count_and_element(result.type):
        thread_vectors.elementwise(warp, operation, {})
    else:
        kind = warp.code.wide(plain_pointer(result.type))
        made = warp.code.select(warp.scalar(condition), warp.vector(chosen), warp.vector(other), kind)
        warp.set(result, Vector(made))


def _index(warp: Warp, operation: Operation, name: str) -> None:
    result = operation.results[0]
    if name == "gpu.lane_id":
        warp.set(result, _lane_id(warp))
        return
    axis = dimension(operation)
    if name == "gpu.thread_id":
        warp.set(result, _thread(warp, result, axis))
        return
    kinds = {"gpu.block_id": "block_ids", "gpu.block_dim": "block", "gpu.grid_dim": "grid"}
    value = getattr(warp.position, kinds[name])[axis]
    warp.set(result, Scalar(warp.code.value("arith.index_castui", (value,), "index")))


def _lane_id(warp: Warp) -> Emitted:
    if warp.code.width == warp.analysis.lanes:
        return Scalar(warp.code.constant(0, "index"))
    bits = warp.code.constant(warp.analysis.lanes - 1, "i32")
    inside = warp.code.value("arith.andi", (warp.first_thread(), bits), "i32")
    return Scalar(warp.code.value("arith.index_castui", (inside,), "index"))


def _thread(warp: Warp, result: Value, axis: int) -> Emitted:
    known = warp.analysis.at(result)
    if known.constant is not None:
        return Scalar(warp.code.constant(known.constant, "index"))
    if known.known:
        kind, first = warp.code.type("i32"), warp.first_thread()
        sizes = [warp.position.block[i] for i in range(3)]
    else:
        kind, first = warp.code.wide("i32"), warp.linear().value
        sizes = [warp.code.broadcast(warp.position.block[i], "i32") for i in range(3)]
    for size in sizes[:axis]:
        first = warp.code.value("arith.divui", (first, size), kind)
    if axis < 2:
        first = warp.code.value("arith.remui", (first, sizes[axis]), kind)
    index = "index" if known.known else warp.code.wide("index")
    made = warp.code.value("arith.index_castui", (first,), index)
    return Scalar(made) if known.known else Vector(made)


def _address(warp: Warp, operation: Operation) -> None:
    result, base = operation.results[0], operation.operands[0]
    element, taken = pointee(operation), addresses.step(operation)
    if taken is None:
        raise LoweringError("an address of several indices", span=place_of(operation), found=str(operation)[:200])
    found = warp.get(base)
    index = taken.index
    if isinstance(found, StackSlot):
        warp.set(result, _private_element(warp, found, taken))
    elif warp.analysis.at(result).known:
        step = index if isinstance(index, int) else warp.scalar(index)
        warp.set(result, Scalar(warp.code.offset(warp.scalar(base), step, element)))
    elif isinstance(index, int):
        start = warp.vector(base)
        steps = warp.code.constants([index] * warp.code.width, "i64")
        warp.set(result, Vector(warp.code.offset(start, steps, element)))
    else:
        steps = warp.vector(index)
        from_scalar = isinstance(found, Scalar) and warp.analysis.at(base).uniform
        start = warp.scalar(base) if from_scalar else warp.vector(base)
        warp.set(result, Vector(warp.code.offset(start, steps, element)))


def _private_element(warp: Warp, base: StackSlot, taken: addresses.Step) -> StackSlot:
    """The element that a step leads to."""
    index, together = taken.index, taken.size // base.size
    if isinstance(index, int):
        return replace(base, index=base.index + index * taken.size // base.size)
    uniform = warp.analysis.at(index).uniform
    added: Scalar | Vector = Scalar(warp.scalar(index)) if uniform else Vector(warp.vector(index))
    if int_width(index.type) != INDEX_BITS:  # an index is a signed number
        kind = warp.code.type("i64") if uniform else warp.code.wide("i64")
        added = replace(added, value=warp.code.value("arith.extsi", (added.value,), kind))
    if together > 1:
        added = _times(warp, added, together)
    if base.dynamic is None:
        return replace(base, dynamic=added)
    if isinstance(added, Scalar) and isinstance(base.dynamic, Scalar):
        total = warp.code.value("arith.addi", (base.dynamic.value, added.value), "i64")
        return replace(base, dynamic=Scalar(total))
    sides = [
        part.value if isinstance(part, Vector) else warp.code.broadcast(part.value, "i64")
        for part in (base.dynamic, added)
    ]
    return replace(base, dynamic=Vector(warp.code.value("arith.addi", sides, warp.code.wide("i64"))))


def _times(warp: Warp, number: Scalar | Vector, factor: int) -> Scalar | Vector:
    if isinstance(number, Scalar):
        return Scalar(warp.code.value("arith.muli", (number.value, warp.code.constant(factor, "i64")), "i64"))
    factors = warp.code.constants([factor] * warp.code.width, "i64")
    return Vector(warp.code.value("arith.muli", (number.value, factors), warp.code.wide("i64")))
