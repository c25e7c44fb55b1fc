"""Tiles dealt out to threads: everything is held once, and another grouping of the same values is the same values."""

from __future__ import annotations

from collections import Counter
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from triptych.layout import (
    Layout,
    UndecidableError,
    crd2idx,
    make_identity_layout,
    make_layout,
    make_layout_tv,
    make_ordered_layout,
    rank,
    size,
    sym_int,
    tuple_add,
)
from triptych.layout.thread_values import coordinates_of, instruction_values, occupied_tile, retiled, thread_part

powers = st.sampled_from([1, 2, 4, 8])
pairs = st.tuples(powers, powers)
orders = st.sampled_from([(0, 1), (1, 0)])


@st.composite
def tiles(draw: Any) -> tuple[tuple[Any, ...], Layout]:
    """A tile and how threads and values lie on it."""
    threads = make_ordered_layout(draw(pairs), draw(orders))
    values = make_ordered_layout(draw(pairs), draw(orders))
    return make_layout_tv(threads, values)


def grouped_values(tv: Layout, together: int) -> Layout:
    """The values of instructions that a thread executes alone."""
    alone = Layout((1, together), (0, 1))
    return instruction_values(tv, alone, alone)


def number(layout: Any, index: int) -> Any:
    return crd2idx(index, layout)


def count(layout: Any, mode: list[int] | None = None) -> int:
    known = size(layout, mode)
    assert isinstance(known, int)
    return known


@given(tile_of=tiles(), repeats=st.tuples(st.integers(1, 3), st.integers(1, 3)), data=st.data())
def test_every_element_is_held_once(tile_of: Any, repeats: tuple[int, int], data: Any) -> None:
    tile, tv = tile_of
    values = count(tv, [1])
    together = data.draw(st.sampled_from([n for n in (1, 2, 4) if values % n == 0]))
    shape = tuple(extent * times for extent, times in zip(tile, repeats, strict=True))
    target = make_identity_layout(shape)
    held: Counter[Any] = Counter()
    for thread in range(count(tv, [0])):
        part, offset = thread_part(target, grouped_values(tv, together), tile, thread)
        assert rank(part) == 3
        assert count(part, [0, 0]) == together
        held.update(tuple_add(offset, number(part, i)) for i in range(count(part)))
    assert held == Counter(number(target, i) for i in range(count(target)))


@given(tile_of=tiles(), repeats=st.tuples(st.integers(1, 2), st.integers(1, 2)), data=st.data())
def test_instruction_takes_the_next_values_of_a_thread(tile_of: Any, repeats: tuple[int, int], data: Any) -> None:
    """However many values an instruction takes, a thread holds the same values in the same order."""
    tile, tv = tile_of
    together = data.draw(st.sampled_from([n for n in (1, 2, 4) if count(tv, [1]) % n == 0]))
    thread = data.draw(st.integers(0, count(tv, [0]) - 1))
    target = make_identity_layout(tuple(extent * times for extent, times in zip(tile, repeats, strict=True)))
    one, start = thread_part(target, grouped_values(tv, 1), tile, thread)
    some, same_start = thread_part(target, grouped_values(tv, together), tile, thread)
    assert start == same_start
    assert [number(one, i) for i in range(count(one))] == [number(some, i) for i in range(count(some))]


@given(tile_of=tiles(), repeats=st.tuples(st.integers(1, 2), st.integers(1, 2)), data=st.data())
def test_retiled_registers_are_where_the_other_partition_looks(
    tile_of: Any, repeats: tuple[int, int], data: Any
) -> None:
    """Registers filled by one grouping, seen by another: element i of the view holds what the other holds at i."""
    tile, tv = tile_of
    choices = st.sampled_from([n for n in (1, 2, 4) if count(tv, [1]) % n == 0])
    first, second = data.draw(choices), data.draw(choices)
    target = make_identity_layout(tuple(extent * times for extent, times in zip(tile, repeats, strict=True)))
    filled, _ = thread_part(target, grouped_values(tv, first), tile, 0)
    wanted, _ = thread_part(target, grouped_values(tv, second), tile, 0)
    registers = make_layout(filled.shape)
    contents = {number(registers, i): number(filled, i) for i in range(count(filled))}
    view = retiled(registers, tv, tile, second)
    assert count(view, [0, 0]) == second
    assert [contents[number(view, i)] for i in range(count(view))] == [number(wanted, i) for i in range(count(wanted))]


def test_values_of_further_tiles_are_found_in_further_modes() -> None:
    """A copy of four values, two by two from tiles of eight, sees registers that a copy of two values filled."""
    small, large = Layout((4, 2), (2, 1)), Layout((4, (2, 2)), (2, (1, 8)))
    target = Layout(32, 1)
    filled, start = thread_part(target, grouped_values(small, 1), (8,), 3)
    wanted, same_start = thread_part(target, grouped_values(large, 2), (16,), 3)
    assert filled.shape == ((1, 2), 4)
    assert wanted.shape == ((2, 2), 2)
    registers = make_layout(filled.shape)
    contents = {number(registers, i): tuple_add(start, number(filled, i)) for i in range(8)}
    view = retiled(registers, large, (16,), 2)
    assert view.shape == wanted.shape
    assert [contents[number(view, i)] for i in range(8)] == [tuple_add(same_start, number(wanted, i)) for i in range(8)]


def test_shapes_of_the_public_example() -> None:
    tile, tv = make_layout_tv(make_ordered_layout((4, 32), (1, 0)), make_ordered_layout((4, 4), (1, 0)))
    assert tile == (16, 128)
    part, offset = thread_part(Layout((16, 128), (128, 1)), grouped_values(tv, 4), tile, 33)
    assert part.shape == ((4, 4), 1, 1)
    assert offset == 4 * 128 + 4


def test_retiling_needs_to_know_how_much_is_held() -> None:
    with pytest.raises(UndecidableError):
        retiled(Layout((sym_int(), 2), (1, 4)), Layout((4, 2), (1, 4)), (8,), 2)


# instructions of several threads ----------------------------------------------------------------------------------
@st.composite
def instructions(draw: Any) -> tuple[Layout, Layout]:
    """Two sides of an instruction: threads and values of each reach every element of it once."""
    bits = draw(st.integers(2, 6))
    strides = [1 << bit for bit in range(bits)]
    threads = draw(st.integers(0, bits))

    def side() -> Layout:
        order = draw(st.permutations(strides))
        lanes, values = order[:threads], order[threads:]
        modes = tuple((2,) * len(part) or (1,) for part in (lanes, values))
        return Layout(modes, tuple(tuple(part) or (0,) for part in (lanes, values)))

    return side(), side()


@given(instruction=instructions(), further=st.tuples(powers, powers), data=st.data())
def test_other_side_holds_the_same_elements_of_each_instruction(
    instruction: tuple[Layout, Layout], further: tuple[int, int], data: Any
) -> None:
    reference, side = instruction
    lanes, values = count(reference, [0]), count(reference, [1])
    threads, each = lanes * further[0], values * further[1]
    tv = make_ordered_layout((threads, each), data.draw(orders))
    seen = instruction_values(tv, reference, side)
    assert (count(seen, [0]), count(seen, [1, 0]), count(seen, [1, 1])) == (threads, count(side, [1]), further[1])
    where = {reference((lane, value)): (lane, value) for lane in range(lanes) for value in range(values)}
    for lane in range(lanes):
        for value in range(count(side, [1])):
            there, held = where[side((lane, value))]
            for warp in range(further[0]):
                for i in range(further[1]):
                    expected = tv((warp * lanes + there, i * values + held))
                    assert seen((warp * lanes + lane, (value, i))) == expected


def test_tiler_takes_what_threads_and_values_reach() -> None:
    """Two threads with two values in a tile of 8x8: rows 0 and 4, columns 0 and 2."""
    tv = Layout((2, 2), (4, 16))
    tiler, within = occupied_tile(tv, (8, 8))
    assert tiler == (Layout(2, 4), Layout(2, 2))
    part, offset = thread_part(Layout((8, 8), (1, 8)), grouped_values(within, 1), tiler, 1)
    assert (offset, [number(part, i) for i in range(count(part, [0]))]) == (4, [0, 16])


def test_coordinates_of_memory() -> None:
    rows = Layout((4, 8), (8, 1))
    assert coordinates_of(Layout((4, 8), (8, 1)), rows) == Layout((4, 8), (1, 4))
    assert coordinates_of(Layout((4, 8), (16, 1)), Layout((4, 4), (16, 1))) is None
