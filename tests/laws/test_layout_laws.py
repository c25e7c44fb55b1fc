"""The algebra keeps its promises on random hierarchical layouts, by evaluating them everywhere.

Input: layouts drawn by Hypothesis. Output: each law checked on every coordinate.
"""

from __future__ import annotations

import math
import pickle
from typing import Any

import pytest
from hypothesis import assume, given, settings
from hypothesis import strategies as st

from tests.support.layouts import compact_layouts, divisor_of, fitting, gaps_filled, layouts, values
from triptych import layout
from triptych.layout import Layout
from triptych.layout.tuples import flat

tl: Any = layout  # typed for dynamic integers too; the tests know which ones are static


@given(st.data())
def test_composition_is_function_composition(data: st.DataObject) -> None:
    left = data.draw(layouts())
    right = data.draw(fitting(left))
    try:
        result = tl.composition(left, right)
    except tl.DivisibilityError:
        return
    assert tl.is_weakly_congruent(right, result)
    assert values(result) == [left(right(i)) for i in range(tl.size(right))]


@given(compact_layouts(padding=False), st.integers(1, 24), st.integers(1, 48))
def test_composition_is_refused_only_when_no_layout_exists(left: Layout, extent: int, step: int) -> None:
    right = Layout(extent, step)
    try:
        tl.composition(left, right)
    except tl.DivisibilityError:
        assert not is_layout_function([left(step * i) for i in range(extent)])


def is_layout_function(sequence: list[Any]) -> bool:
    """Whether some layout of one mode, split in any way, takes these values: the definition, tried out."""
    length = len(sequence)
    if length == 1:
        return True
    for first in (n for n in range(2, length + 1) if length % n == 0):
        inner = sequence[:first]
        linear = all(inner[i] == i * inner[1] for i in range(first))
        outer = sequence[::first]
        repeats = all(sequence[j * first + i] == outer[j] + inner[i] for j in range(len(outer)) for i in range(first))
        if linear and repeats and is_layout_function(outer):
            return True
    return False


def test_most_compositions_of_the_law_are_not_refused() -> None:
    counts = {True: 0, False: 0}

    @settings(max_examples=300, database=None, derandomize=True)
    @given(st.data())
    def count(data: st.DataObject) -> None:
        left = data.draw(layouts())
        try:
            tl.composition(left, data.draw(fitting(left)))
            counts[True] += 1
        except tl.DivisibilityError:
            counts[False] += 1

    count()
    assert counts[True] > counts[False]


@given(layouts())
def test_coalesce_keeps_the_function(layout: Layout) -> None:
    result = tl.coalesce(layout)
    assert tl.depth(result) <= 1
    assert tl.rank(result) <= len(flat(layout.shape))
    assert values(result) == values(layout)
    assert tl.coalesce(result) == result


@given(layouts())
def test_coalesce_by_mode_keeps_every_mode(layout: Layout) -> None:
    profile = tuple(1 for _ in range(tl.rank(layout)))
    result = tl.coalesce(layout, profile)
    assert tl.rank(result) == tl.rank(layout)
    for mode in range(tl.rank(layout)):
        assert values(result[mode]) == values(layout[mode])


@given(layouts())
def test_flatten_and_group_keep_the_function(layout: Layout) -> None:
    assert values(tl.flatten(layout)) == values(layout)
    assert values(tl.group_modes(layout, 0, tl.rank(layout))) == values(layout)


@given(layouts())
def test_filter_keeps_the_image(layout: Layout) -> None:
    assert set(values(tl.filter(layout))) == set(values(layout))


@given(compact_layouts(), st.integers(1, 600))
def test_complement_is_ordered_disjoint_and_covers(layout: Layout, target: int) -> None:
    rest = tl.complement(layout, target)
    offsets, image = values(rest), values(layout)
    assert offsets == sorted(set(offsets))
    together = [a + b for a in image for b in offsets]
    assert len(set(together)) == len(image) * len(offsets)
    assert max(together) + 1 >= target or not gaps_filled(layout)
    assert tl.size(rest) >= math.ceil(target / tl.cosize(layout))


@given(compact_layouts(), st.integers(1, 64))
def test_complement_of_a_dividing_layout_is_a_partition(layout: Layout, repeats: int) -> None:
    assume(gaps_filled(layout))
    target = tl.cosize(tl.coalesce(tl.Layout((layout.shape, 1), (layout.stride, 0)))) * repeats
    rest = tl.complement(layout, target)
    together = sorted(a + b for a in values(layout) for b in values(rest))
    assert together == list(range(len(together)))
    assert len(together) >= target


@given(layouts())
def test_right_inverse_inverts(layout: Layout) -> None:
    inverse = tl.right_inverse(layout)
    assert [layout(inverse(i)) for i in range(tl.size(inverse))] == list(range(tl.size(inverse)))


@given(compact_layouts(padding=False))
def test_right_inverse_of_a_compact_layout_is_whole(layout: Layout) -> None:
    assert tl.size(tl.right_inverse(layout)) == tl.size(layout)


@given(compact_layouts())
def test_left_inverse_inverts(layout: Layout) -> None:
    inverse = tl.left_inverse(layout)
    assert [inverse(layout(i)) for i in range(tl.size(layout))] == list(range(tl.size(layout)))


@given(layouts())
def test_nullspace_is_sent_to_zero(layout: Layout) -> None:
    kernel = tl.nullspace(layout)
    assert set(values(tl.composition(layout, kernel))) == {0}
    assert tl.size(kernel) == tl.size(layout) // tl.size(tl.filter(layout))


@given(compact_layouts(), compact_layouts())
def test_max_common_layout(a: Layout, b: Layout) -> None:
    try:
        common = tl.max_common_layout(a, b)
    except tl.DivisibilityError:
        return
    run = list(range(tl.size(common)))
    assert [a(common(i)) for i in run] == run
    assert [b(common(i)) for i in run] == run
    assert tl.max_common_vector(a, b) == len(run)


@given(st.data())
def test_divide_rearranges_the_layout(data: st.DataObject) -> None:
    layout = data.draw(compact_layouts())
    tile = divisor_of(data, tl.size(layout))
    try:
        divided = tl.logical_divide(layout, Layout(tile, 1))
    except tl.DivisibilityError:
        return
    assert sorted(values(divided)) == sorted(values(layout))
    assert values(divided[0]) == values(layout)[:tile]


@given(st.integers(1, 40), st.integers(0, 9), st.integers(1, 12))
def test_dividing_a_leaf_by_a_number_is_dividing_by_a_layout(extent: int, step: int, tile: int) -> None:
    leaf = Layout(extent, step)
    assert tl.logical_divide(leaf, tile) == tl.logical_divide(leaf, Layout(tile, 1))


@given(st.data())
def test_divide_by_mode_regroups_only(data: st.DataObject) -> None:
    layout = data.draw(layouts().filter(lambda found: tl.rank(found) > 1))
    tiler = tuple(divisor_of(data, tl.size(mode)) for mode in layout)
    try:
        logical = tl.logical_divide(layout, tiler)
    except tl.DivisibilityError:
        return
    zipped, tiled, flattened = (f(layout, tiler) for f in (tl.zipped_divide, tl.tiled_divide, tl.flat_divide))
    assert sorted(values(logical)) == sorted(values(layout))
    assert tl.rank(zipped) == 2
    assert values(zipped) == values(tiled) == values(flattened)
    for mode, tile in enumerate(tiler):
        assert tl.size(zipped[0][mode]) == tile
        assert logical[mode][0] == zipped[0][mode]
        assert logical[mode][1] == zipped[1][mode]


@given(compact_layouts(), compact_layouts(padding=False))
def test_product_places_disjoint_copies(block: Layout, tiler: Layout) -> None:
    assume(tl.size(block) * tl.size(tiler) <= 4096)
    try:
        result = tl.logical_product(block, tiler)
    except tl.DivisibilityError:
        return
    assert result[0] == block
    assert tl.size(result[1]) == tl.size(tiler)
    image = values(result)
    assert len(set(image)) == len(image)


@given(compact_layouts(padding=False), compact_layouts(padding=False))
def test_blocked_and_raked_products_reorder_the_logical_one(block: Layout, tiler: Layout) -> None:
    assume(tl.size(block) * tl.size(tiler) <= 4096)
    logical = tl.logical_product(block, tiler)
    blocked, raked = tl.blocked_product(block, tiler), tl.raked_product(block, tiler)
    assert sorted(values(blocked)) == sorted(values(raked)) == sorted(values(logical))
    for mode in range(min(tl.rank(block), tl.rank(tiler))):
        assert (blocked[mode][0], blocked[mode][1]) == (raked[mode][1], raked[mode][0])


@given(compact_layouts(padding=False), st.data())
def test_tile_to_shape_covers_exactly(block: Layout, data: st.DataObject) -> None:
    target = tuple(tl.size(mode) * data.draw(st.integers(1, 3)) for mode in block)
    result = tl.tile_to_shape(block, target)
    assert tl.product_each(result.shape) == target
    assert sorted(values(result)) == list(range(math.prod(target)))


@given(compact_layouts(padding=False), st.sampled_from([2, 4]))
def test_recast_round_trips(layout: Layout, factor: int) -> None:
    smaller = tl.recast_layout(8, 8 * factor, layout)
    assert tl.size(smaller) == tl.size(layout) * factor
    back = tl.recast_layout(8 * factor, 8, smaller)
    assert values(back) == values(layout)


@given(layouts(), st.data())
def test_slicing_agrees_with_evaluation(layout: Layout, data: st.DataObject) -> None:
    full = tl.idx2crd(data.draw(st.integers(0, tl.size(layout) - 1)), layout.shape)
    coord = tl.transform_leaf(lambda leaf: data.draw(st.sampled_from([leaf, None])), full)
    kept, offset = tl.slice_and_offset(coord, layout)
    chosen = tl.slice_(full, coord)
    assert kept == tl.slice_(layout, coord)
    assert layout(full) == offset + (kept(chosen) if chosen != () else 0)
    fixed = tl.dice(full, coord)
    assert offset == (tl.dice(layout, coord)(fixed) if fixed != () else 0)


@given(layouts(), st.data())
def test_coordinate_forms_agree(layout: Layout, data: st.DataObject) -> None:
    index = data.draw(st.integers(0, tl.size(layout) - 1))
    natural = tl.idx2crd(index, layout.shape)
    assert tl.crd2idx(natural, layout.shape) == index
    assert layout(index) == layout(natural)
    assert tl.make_identity_layout(layout.shape)(index) == natural
    if index + 1 < tl.size(layout):
        assert tl.increment_coord(natural, layout.shape) == tl.idx2crd(index + 1, layout.shape)


@given(compact_layouts(padding=False), st.data())
def test_hier_coord_inverts_a_compact_layout(layout: Layout, data: st.DataObject) -> None:
    index = data.draw(st.integers(0, tl.size(layout) - 1))
    assert layout(layout.get_hier_coord(index)) == index
    assert layout(layout.get_flat_coord(index)) == index


@given(layouts())
def test_notation_round_trips(layout: Layout) -> None:
    assert Layout.parse(str(layout)) == layout
    assert hash(Layout.parse(str(layout))) == hash(layout)
    assert pickle.loads(pickle.dumps(layout)) == layout


@given(layouts())
def test_cosize_is_one_more_than_the_largest_index(layout: Layout) -> None:
    assert tl.cosize(layout) == max(values(layout)) + 1


@given(st.integers(0, 3), st.integers(0, 3), st.integers(-4, 4), layouts())
def test_swizzles_permute_aligned_blocks(bits: int, base: int, shift: int, layout: Layout) -> None:
    assume(abs(shift) >= bits)
    swizzle = tl.Swizzle(bits, base, shift)
    block = 1 << (bits + base + abs(shift))
    image = [swizzle(i) for i in range(2 * block)]
    assert sorted(image[:block]) == list(range(block))
    assert [swizzle(i) for i in image] == list(range(2 * block))
    composed = tl.make_composed_layout(swizzle, 0, layout)
    assert values(composed) == [swizzle(layout(i)) for i in range(tl.size(layout))]


@given(st.data())
def test_partition_gives_every_element_once(data: st.DataObject) -> None:
    threads = data.draw(compact_layouts(padding=False).filter(lambda found: tl.rank(found) == 2))
    repeats = data.draw(st.tuples(st.integers(1, 3), st.integers(1, 3)))
    shape = tuple(tl.size(mode) * n for mode, n in zip(threads, repeats, strict=True))
    target = tl.make_layout(shape)
    taken: list[int] = []
    for thread in range(tl.size(threads)):
        part, offset = tl.local_partition(target, threads, thread)
        taken += [offset + value for value in values(part)]
    assert sorted(taken) == list(range(math.prod(shape)))


@given(compact_layouts(padding=False), compact_layouts(padding=False))
def test_thread_value_layout_covers_its_tile(threads: Layout, held: Layout) -> None:
    assume(tl.size(threads) * tl.size(held) <= 2048)
    tiler, tv = tl.make_layout_tv(threads, held)
    assert tl.product_each(tv.shape) == (tl.size(threads), tl.size(held))
    assert sorted(values(tv)) == list(range(math.prod(tiler)))


@given(st.integers(1, 2**32 - 1), st.integers(0, 2**32 - 1))
def test_fast_divmod_is_divmod(divisor: int, number: int) -> None:
    assert divmod(number, tl.FastDivmodDivisor(divisor)) == divmod(number, divisor)


def test_large_layouts_do_not_wrap() -> None:
    layout = tl.make_layout((2**20, 2**20))
    assert tl.cosize(layout) == 2**40
    assert layout((2**20 - 1, 2**20 - 1)) == 2**40 - 1
    assert tl.composition(layout, Layout(2, 2**39))(1) == 2**39
    with pytest.raises(tl.LayoutError):
        tl.sym_int(16)
