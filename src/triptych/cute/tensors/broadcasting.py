"""Broadcasting of shapes: NumPy's rule on modes.

Input: shapes of ints. Output: the shape of the result, and which element of a source each element of it is.
Missing modes are added in front, a mode of size 1 stretches to any other, modes of equal nesting meet part by part.
"""

from __future__ import annotations

from typing import Any

from triptych.cute.dynamic.static_values import element_count, positions_of
from triptych.cute.tracing.errors import TensorShapeError
from triptych.layout import Layout, Shape, product, text, transform_leaf
from triptych.layout.tuples import compact_stride, modes_of
from triptych.metastage.trace.trace import place


def broadcast_shape(*shapes: Shape) -> Shape:
    """The shape in which all the given shapes meet."""
    result, *others = shapes
    for shape in others:
        result = result if shape == result else _join(result, shape, (result, shape))
    return result


def broadcast_positions(source: Shape, target: Shape) -> list[int]:
    """For every element of the target, in order, the element of the source that it repeats."""
    if source == target:
        return list(range(element_count(target)))
    modes = modes_of(target)
    strides, _ = _strides(_padded(source, len(modes), (source, target)), modes, 1, (source, target))
    return positions_of(Layout(modes, strides))


def _join(left: Shape, right: Shape, whole: tuple[Shape, Shape]) -> Shape:
    rank = max(len(modes_of(left)), len(modes_of(right)))
    pairs = zip(_padded(left, rank, whole), _padded(right, rank, whole), strict=True)
    return tuple(_join_mode(a, b, whole) for a, b in pairs)


def _join_mode(left: Shape, right: Shape, whole: tuple[Shape, Shape]) -> Shape:
    if left == right or product(right) == 1:
        return left
    if product(left) == 1:
        return right
    if isinstance(left, tuple) and isinstance(right, tuple) and len(left) == len(right):
        return tuple(_join_mode(a, b, whole) for a, b in zip(left, right, strict=True))
    raise _mismatch(*whole)


def _strides(
    source: tuple[Shape, ...], target: tuple[Shape, ...], start: int, whole: tuple[Shape, Shape]
) -> tuple[Any, int]:
    """Strides of the target in the compact source, 0 where it repeats, and where the source goes on."""
    strides: list[Any] = []
    for mode, wanted in zip(source, target, strict=True):
        if mode == wanted:
            strides.append(compact_stride(mode, start))
        elif product(mode) == 1:
            strides.append(transform_leaf(lambda _: 0, wanted))
        elif isinstance(mode, tuple) and isinstance(wanted, tuple) and len(mode) == len(wanted):
            strides.append(_strides(mode, wanted, start, whole)[0])
        else:
            raise _mismatch(*whole)
        start *= element_count(mode)
    return tuple(strides), start


def _padded(shape: Shape, rank: int, whole: tuple[Shape, Shape]) -> tuple[Shape, ...]:
    modes = modes_of(shape)
    if len(modes) > rank:
        raise _mismatch(*whole)
    return (1,) * (rank - len(modes)) + modes


def _mismatch(left: Shape, right: Shape) -> TensorShapeError:
    return TensorShapeError(
        f"tensors of shapes {text(left)} and {text(right)} do not meet",
        span=place(),
        found=f"shapes {text(left)} and {text(right)}",
        expected="modes that are equal or of size 1, counted from the last",
        instead=".reshape(...) or .broadcast_to(...) of one of them",
    )
