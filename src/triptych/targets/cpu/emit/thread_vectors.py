"""Thread vectors (TensorSSA): element by element over the lanes, or packed as memory has them."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence

from triptych.ir.handles import Attribute, Operation, Type, Value
from triptych.ir.types import count_and_element, is_float, word_of
from triptych.targets.cpu.emit.memory import packed_value
from triptych.targets.cpu.emit.values import ArrayOfStructs, Scalar, StructOfArrays, Vector
from triptych.targets.cpu.emit.warp import Warp

_DYNAMIC = -(2**63)


def elementwise(warp: Warp, operation: Operation, attributes: Mapping[str, Attribute]) -> None:
    """Arithmetic on vectors: packed if all operands can be, element by element otherwise."""
    result, operands = operation.results[0], list(operation.operands)
    counted = count_and_element(result.type)
    assert counted is not None, "the result is a vector of the thread"
    count, element = counted
    name = operation.name
    found = [warp.get(operand) for operand in operands]
    vectors = [count_and_element(operand.type) for operand in operands]
    if (
        any(isinstance(f, ArrayOfStructs) for f in found)
        and all(isinstance(f, ArrayOfStructs | Scalar) for f in found)
        and all(vectors)
    ):
        packed = [packed_value(warp, o, *(v or counted)) for o, v in zip(operands, vectors, strict=True)]
        kind = warp.code.vector(count * warp.code.width, element)
        warp.set(result, ArrayOfStructs(warp.code.value(name, packed, kind, attributes), count))
        return
    parts = [warp.rows(o) if v else _same(warp, o, count) for o, v in zip(operands, vectors, strict=True)]
    kind = warp.code.wide(element)
    made = [warp.code.value(name, row, kind, attributes) for row in zip(*parts, strict=True)]
    warp.set(result, StructOfArrays(made))


def _same(warp: Warp, value: Value, count: int) -> list[Value]:
    """A scalar operand (the condition of a select) for each element."""
    found = warp.get(value)
    one = found.value if isinstance(found, Scalar) and warp.analysis.at(value).uniform else warp.vector(value)
    return [one] * count


def _scalars(warp: Warp, operation: Operation) -> bool:
    """Whether the operation is uniform: then it stays as it is."""
    return warp.analysis.at(operation.results[0]).known and all(
        isinstance(warp.get(operand), Scalar) for operand in operation.operands
    )


def _copy(warp: Warp, operation: Operation) -> None:
    attributes = {name: operation.attributes[name] for name in operation.attributes}
    operands = [warp.scalar(operand) for operand in operation.operands]
    results = list(operation.results)
    made = warp.code.operation(operation.name, operands, [result.type for result in results], attributes)
    for result, value in zip(results, made.results, strict=True):
        warp.set(result, Scalar(value))


def _unless_uniform(convert: Callable[[Warp, Operation], None]) -> Callable[[Warp, Operation], None]:
    def run(warp: Warp, operation: Operation) -> None:
        if _scalars(warp, operation):
            _copy(warp, operation)
        else:
            convert(warp, operation)

    return run


def _broadcast(warp: Warp, operation: Operation) -> None:
    source, result = operation.operands[0], operation.results[0]
    count, _ = count_and_element(result.type) or (1, "")
    if count_and_element(source.type):
        only = warp.rows(source)
        warp.set(result, StructOfArrays(only * (count // len(only))))
    else:
        warp.set(result, StructOfArrays([warp.vector(source)] * count))


def _position(operation: Operation) -> list[int]:
    return list(operation.attributes["static_position"])


def _extract(warp: Warp, operation: Operation) -> None:
    source, result = operation.operands[0], operation.results[0]
    (place,) = _position(operation)
    if place != _DYNAMIC:
        warp.set(result, Vector(warp.row(source, place)))
        return
    warp.set(result, Vector(_chosen(warp, warp.rows(source), operation.operands[1], result.type)))


def _is_at(warp: Warp, index: Value, place: int) -> Value:
    """Whether a run-time index is `place`, in each lane."""
    kind = index.type
    return warp.code.compare_lanes("eq", warp.vector(index), warp.code.constants([place] * warp.code.width, kind))


def _chosen(warp: Warp, every: Sequence[Value], index: Value, kind: Type) -> Value:
    found = every[0]
    for place in range(1, len(every)):
        found = warp.code.select(_is_at(warp, index, place), every[place], found, warp.code.wide(kind))
    return found


def _insert(warp: Warp, operation: Operation) -> None:
    value, target, *dynamic = operation.operands
    result = operation.results[0]
    every = list(warp.rows(target))
    (place,) = _position(operation)
    kind = value.type
    if place != _DYNAMIC:
        every[place] = warp.vector(value)
    else:
        every = [
            warp.code.select(_is_at(warp, dynamic[0], i), warp.vector(value), row, warp.code.wide(kind))
            for i, row in enumerate(every)
        ]
    warp.set(result, StructOfArrays(every))


def _from_elements(warp: Warp, operation: Operation) -> None:
    warp.set(operation.results[0], StructOfArrays([warp.vector(operand) for operand in operation.operands]))


def _shuffle(warp: Warp, operation: Operation) -> None:
    """Only what is chosen is computed: most shuffles that join vectors have one of them that nothing is chosen of."""
    left, right = operation.operands
    count, _ = count_and_element(left.type) or (1, "")
    chosen = [max(place, 0) for place in operation.attributes["mask"]]
    rows = {i: warp.row(left, i) if i < count else warp.row(right, i - count) for i in dict.fromkeys(chosen)}
    warp.set(operation.results[0], StructOfArrays([rows[i] for i in chosen]))


def _interleave(warp: Warp, operation: Operation) -> None:
    left, right = (warp.rows(operand) for operand in operation.operands)
    warp.set(operation.results[0], StructOfArrays([row for pair in zip(left, right, strict=True) for row in pair]))


def _deinterleave(warp: Warp, operation: Operation) -> None:
    every = warp.rows(operation.operands[0])
    for i, result in enumerate(operation.results):
        warp.set(result, StructOfArrays(every[i::2]))


def _to_elements(warp: Warp, operation: Operation) -> None:
    for result, row in zip(operation.results, warp.rows(operation.operands[0]), strict=True):
        warp.set(result, Vector(row))


def _slice(warp: Warp, operation: Operation) -> None:
    (offset,) = (int(a.value) for a in operation.attributes["offsets"])
    (size,) = (int(a.value) for a in operation.attributes["sizes"])
    (stride,) = (int(a.value) for a in operation.attributes["strides"])
    places = range(offset, offset + size * stride, stride)
    warp.set(operation.results[0], StructOfArrays([warp.row(operation.operands[0], i) for i in places]))


_REDUCTIONS = {
    "add": ("arith.addi", "arith.addf"),
    "mul": ("arith.muli", "arith.mulf"),
    "minsi": ("arith.minsi", ""),
    "maxsi": ("arith.maxsi", ""),
    "minui": ("arith.minui", ""),
    "maxui": ("arith.maxui", ""),
    "and": ("arith.andi", ""),
    "or": ("arith.ori", ""),
    "xor": ("arith.xori", ""),
    "minnumf": ("", "arith.minnumf"),
    "maxnumf": ("", "arith.maxnumf"),
    "minimumf": ("", "arith.minimumf"),
    "maximumf": ("", "arith.maximumf"),
}


def _reduce(warp: Warp, operation: Operation) -> None:
    """From the first element to the last, as the operation is defined."""
    source, *start = operation.operands
    result = operation.results[0]
    kind = result.type
    name = word_of(operation.attributes["kind"])
    combine = _REDUCTIONS[name][is_float(kind)]
    every = warp.rows(source)
    total = warp.vector(start[0]) if start else every[0]
    for row in every if start else every[1:]:
        total = warp.code.value(combine, (total, row), warp.code.wide(kind))
    warp.set(result, Vector(total))


def _bitcast(warp: Warp, operation: Operation) -> None:
    source, result = operation.operands[0], operation.results[0]
    old, new = count_and_element(source.type), count_and_element(result.type)
    assert old is not None, "the source is a vector of the thread"
    assert new is not None, "the result is a vector of the thread"
    packed = packed_value(warp, source, *old)
    kind = warp.code.vector(new[0] * warp.code.width, new[1])
    warp.set(result, ArrayOfStructs(warp.code.value("vector.bitcast", (packed,), kind), new[0]))


HANDLERS: dict[str, Callable[[Warp, Operation], None]] = {
    "vector.broadcast": _unless_uniform(_broadcast),
    "vector.extract": _unless_uniform(_extract),
    "vector.insert": _unless_uniform(_insert),
    "vector.from_elements": _unless_uniform(_from_elements),
    "vector.shuffle": _unless_uniform(_shuffle),
    "vector.interleave": _unless_uniform(_interleave),
    "vector.deinterleave": _unless_uniform(_deinterleave),
    "vector.to_elements": _unless_uniform(_to_elements),
    "vector.extract_strided_slice": _unless_uniform(_slice),
    "vector.reduction": _unless_uniform(_reduce),
    "vector.bitcast": _unless_uniform(_bitcast),
}
