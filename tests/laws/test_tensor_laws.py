"""A tensor over any layout is the layout, element by element: every way to read and write agrees with it."""

from __future__ import annotations

from typing import Any

import numpy as np
from hypothesis import given
from hypothesis import strategies as st

import triptych as tt
from tests.support.examples import examples
from tests.support.layouts import compact_layouts, layouts, values
from tests.unit.cute.array_memory import address, aligned, over
from triptych import cute, layout
from triptych.layout import Layout

tl: Any = layout
alignments = st.sampled_from([4, 8, 16])
few = examples(25)


def filled(count: int) -> np.ndarray[Any, Any]:
    numbers = aligned(count, np.float32)
    numbers[:] = np.arange(count)
    return numbers


@few
@given(layouts(), alignments)
def test_a_load_reads_what_the_layout_says(over_layout: Layout, align: int) -> None:
    count = tl.size(over_layout)

    def gather(a: tt.Int64, b: tt.Int64) -> None:
        over(b, cute.make_layout((count,))).store(over(a, over_layout, tt.Float32, align).load())

    source, target = filled(tl.cosize(over_layout)), np.zeros(count, np.float32)
    tt.compile(gather, 0, 0)(address(source), address(target))
    assert target.tolist() == values(over_layout)


@few
@given(compact_layouts(), alignments)
def test_a_store_writes_where_the_layout_says(over_layout: Layout, align: int) -> None:
    count = tl.size(over_layout)

    def scatter(a: tt.Int64, b: tt.Int64) -> None:
        over(b, over_layout, tt.Float32, align).store(over(a, cute.make_layout((count,))).load())

    source, target = filled(count) + 1, aligned(tl.cosize(over_layout), np.float32)
    tt.compile(scatter, 0, 0)(address(source), address(target))
    expected = np.zeros_like(target)
    expected[values(over_layout)] = source
    assert (target == expected).all()


@few
@given(compact_layouts())
def test_elements_in_a_loop_are_the_load(over_layout: Layout) -> None:
    count = tl.size(over_layout)

    def walk(a: tt.Int64, b: tt.Int64, n: tt.Int32) -> None:
        source, target = over(a, over_layout), over(b, cute.make_layout((n,)))
        for i in range(n):
            target[i] = source[i]

    source, target = filled(tl.cosize(over_layout)), np.zeros(count, np.float32)
    tt.compile(walk, 0, 0, 0)(address(source), address(target), count)
    assert target.tolist() == values(over_layout)


@few
@given(compact_layouts(), st.data())
def test_a_part_is_the_slice_of_the_layout(over_layout: Layout, data: st.DataObject) -> None:
    whole = over_layout if isinstance(over_layout.shape, tuple) else Layout((over_layout.shape,), (over_layout.stride,))
    kept = [data.draw(st.booleans()) for _ in whole]
    fixed = [data.draw(st.integers(0, tl.size(mode) - 1)) for mode in whole]
    coord = tuple(None if keep else index for keep, index in zip(kept, fixed, strict=True))
    if all(index is not None for index in coord):
        coord = (None, *coord[1:])
    part, offset = tl.slice_and_offset(coord, whole)
    count = tl.size(part)

    def read(a: tt.Int64, b: tt.Int64, indices: Any) -> None:
        numbers = iter(indices)
        where = tuple(None if index is None else next(numbers) for index in coord)
        over(b, cute.make_layout((count,))).store(over(a, whole)[where].load())

    dynamic = tuple(index for index in coord if index is not None)
    source, target = filled(tl.cosize(whole)), np.zeros(count, np.float32)
    tt.compile(read, 0, 0, dynamic)(address(source), address(target), dynamic)
    assert target.tolist() == [offset + index for index in values(part)]


@few
@given(
    st.tuples(st.integers(1, 20), st.integers(1, 20)), st.tuples(st.sampled_from([1, 2, 4]), st.sampled_from([1, 3]))
)
def test_tiles_of_run_time_shapes_cover_the_tensor(shape: tuple[int, int], tile: tuple[int, int]) -> None:
    """Every element is in one tile, and predicates made of a coordinate tensor find those that are inside."""
    ran = covering(tile)
    target = np.zeros(shape, np.int32)
    ran(address(target), *shape)
    assert (target == 1).all()


COVERING: dict[tuple[int, int], Any] = {}


def covering(tile: tuple[int, int]) -> Any:
    def cover(a: tt.Int64, m: tt.Int32, n: tt.Int32) -> None:
        t = over(a, cute.make_layout((m, n), stride=(n, 1)), tt.Int32)
        tiles = cute.zipped_divide(t, tile)
        coordinates = cute.zipped_divide(cute.make_identity_tensor((m, n)), tile)
        rows, columns = cute.ceil_div((m, n), tile)
        for r in range(rows):
            for c in range(columns):
                for i in range(cute.size(tiles, mode=[0])):
                    if cute.elem_less(coordinates[i, (r, c)], (m, n)):
                        tiles[i, (r, c)] += 1

    if tile not in COVERING:
        COVERING[tile] = tt.compile(cover, 0, 1, 1)
    return COVERING[tile]
