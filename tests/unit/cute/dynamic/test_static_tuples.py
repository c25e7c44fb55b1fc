"""Integers in arguments annotated as shapes are part of the program; everything else in them is what it always is."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, List, Optional, Tuple, Union  # noqa: UP035 - as public programs write

import numpy as np
import pytest

import triptych as tt
import triptych.cute as cute

ANNOTATIONS = {
    "Shape": cute.Shape,
    "Stride": cute.Stride,
    "Coord": cute.Coord,
    "Tile": cute.Tile,
    "IntTuple": cute.IntTuple,
    "optional": Optional[cute.Shape],  # noqa: UP045
    "alternative": cute.Shape | None,
    "union": Union[cute.Tile, tt.Int32, None],  # noqa: UP007
    "text": "cute.Shape",
}


def asking(annotation: Any) -> Any:
    """A function that gives, of the leaves of its argument, the number and whether each is static."""

    def f(x: Any) -> Any:
        leaves = cute.flatten(x) if isinstance(x, tuple) else (x,)
        return tuple((leaf, cute.is_static(leaf)) for leaf in leaves)

    f.__annotations__["x"] = annotation
    return tt.jit(f)


@pytest.mark.parametrize("annotation", ANNOTATIONS.values(), ids=ANNOTATIONS)
def test_python_ints_are_known_while_tracing(annotation: Any) -> None:
    f = asking(annotation)
    assert f((4, (2, 3))) == ((4, True), (2, True), (3, True))
    assert f(7) == ((7, True),)
    assert f((4, tt.Int32(2))) == ((4, True), (2, False))
    assert f((4, np.int64(2))) == ((4, True), (2, False))
    assert f(()) == ()


def test_other_annotations_keep_nothing() -> None:
    for annotation in (None, Tuple[int, int], tuple[tt.Int32, tt.Int32], cute.Int, Any):  # noqa: UP006
        assert asking(annotation)((4, 2)) == ((4, False), (2, False))


def test_each_shape_is_a_function_of_its_own_and_numbers_are_not() -> None:
    f = asking(cute.Shape)
    keys = {f.explain_key(x).digest for x in ((4, 2), (2, 4), 4, (4,), ((4,), 2), (4, tt.Int32(2)), (tt.Int32(4), 2))}
    assert len(keys) == 7
    assert f.explain_key((4, tt.Int32(2))) == f.explain_key((4, tt.Int32(3)))
    # In any order, and again: nothing of one shape answers for another.
    for _ in range(2):
        for rows in (1, 2, 3):
            assert f((rows, tt.Int32(rows))) == ((rows, True), (rows, False))


def fill_fragment(out: cute.Tensor, tile: cute.Tile, count: Any) -> None:
    fragment = cute.make_rmem_tensor(tile, tt.Int32)
    fragment.fill(0)
    for i in tt.range_constexpr(count):
        fragment[i] = i + 1
    for i in tt.range_constexpr(cute.size(tile)):
        out[i] = fragment[i]


fill_fragment.__annotations__["count"] = cute.Shape
fill_kernel = cute.kernel(fill_fragment)


@cute.jit
def fill(out: cute.Tensor, tile: cute.Tile, count: cute.Shape) -> None:
    fill_kernel(out, tile, count).launch(grid=1, block=1)


def test_layouts_fragments_and_unrolled_loops_are_made_of_them() -> None:
    for tile, count in (((2, 3), 4), ((4, (2, 2)), 16), (5, 2)):
        size = cute.size(tile)
        out = np.full(16, -1, np.int32)
        fill(out, tile, count)
        assert out.tolist() == [i + 1 if i < count else 0 for i in range(size)] + [-1] * (16 - size)


@dataclass
class Plan:
    tile: cute.Tile
    rows: int
    more: List[cute.Shape]  # noqa: UP006


@cute.jit
def of_fields(plan: Plan) -> Any:
    return plan.tile[0], cute.is_static(plan.tile), cute.is_static(plan.rows), cute.is_static(plan.more[1])


def test_fields_and_items_that_are_annotated_so() -> None:
    assert of_fields(Plan((4, 2), 5, [(1, 2), (3, 4)])) == (4, True, False, True)
    assert of_fields(Plan((5, 2), 5, [(1, 2), (3, 4)])) == (5, True, False, True)


@cute.jit
def scaled(shape: cute.Shape, n: tt.Int32) -> Any:
    return cute.size(shape) * n


def test_a_compiled_function_is_for_its_shape() -> None:
    compiled: Any = cute.compile(scaled, (4, 2), 1)
    assert compiled((4, 2), 3) == 24
    with pytest.raises(TypeError, match=r"argument 'shape\[0\]' was 4 when the function was compiled"):
        compiled((5, 2), 3)
    with pytest.raises(TypeError, match=r"argument 'shape\[1\]' was 2"):
        compiled((4, tt.Int32(2)), 3)
    with pytest.raises(TypeError, match="must be made like"):
        compiled((4, 2, 1), 3)
