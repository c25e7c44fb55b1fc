"""Laws of TMA copies: laid down as the machine does it, boxes fill shared memory as the layout of the tile says.

The oracle is the rule of the machine, written element by element on NumPy arrays.
"""

from __future__ import annotations

import itertools
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.support.boxes import laid_down, layout_atom
from tests.support.examples import examples
from triptych.kernel_ir.dialects.tensor_maps import BoxError, boxes, coordinate_strides, partition
from triptych.layout import (
    AnyLayout,
    ComposedLayout,
    Layout,
    coalesce,
    composition,
    crd2idx,
    make_ordered_layout,
    size,
    tile_to_shape,
    tuple_add,
)

WIDTHS = {8: np.uint8, 16: np.uint16, 32: np.uint32, 64: np.uint64}


def expected_memory(tensor: np.ndarray[Any, Any], shared: AnyLayout, tile: tuple[int, ...], first: Any) -> Any:
    """Shared memory by the layout of the tile: every element where the layout says, in elements."""
    inside = np.stack([part.ravel() for part in np.indices(tile[::-1])][::-1])
    at = inside + np.array(first)[:, None]
    exists = np.all((at >= 0) & (at < np.array(tensor.shape)[:, None]), axis=0)
    count: Any = size(shared)
    memory = np.zeros(count, tensor.dtype)
    places: Any = [crd2idx(i, shared) for i in range(count)]
    memory[places] = np.where(exists, tensor[tuple(np.where(exists, at, 0))], tensor.dtype.type(0))
    return memory


def filled_by_boxes(tensor: Any, shared: AnyLayout, tile: tuple[int, ...], first: Any, shares: int) -> Any:
    """The same memory, box by box, each divided among blocks; their bytes are those of the tile."""
    bits = tensor.dtype.itemsize * 8
    strides = tuple(step // tensor.dtype.itemsize for step in tensor.strides)
    made = boxes(tensor.shape, strides, shared, tile, bits, shares)
    plain = shared.outer if isinstance(shared, ComposedLayout) else shared
    order = partition(coalesce(plain, 1), made.values)
    coordinates: Any = Layout(tensor.shape, coordinate_strides(tensor.shape, made))
    walked = composition(composition(coordinates, tile), order)
    origin = crd2idx(first, coordinates)
    transposed = np.transpose(tensor, [path[0] for path in made.dimensions])
    count: Any = size(plain)
    memory, counted = np.full(count * tensor.dtype.itemsize, 0xCD, np.uint8), 0
    for box in range(count // made.values):
        for share in range(shares):
            number = box * made.values + share * (made.values // shares)
            where: Any = crd2idx(number, walked)
            begin: Any = tuple_add(tuple_add((0,) * len(made.box), where), origin)
            place: Any = crd2idx(crd2idx(number, order), plain)
            counted += laid_down(transposed, made, memory, place * tensor.dtype.itemsize, begin)
    assert counted == memory.size
    return memory.view(tensor.dtype)


@pytest.mark.parametrize("k_major", [True, False])
@pytest.mark.parametrize("swizzle", [0, 1, 2, 3])
@pytest.mark.parametrize("bits", [8, 16, 32])
def test_tma_boxes_fill_shared_memory_as_the_layout_says(bits: int, swizzle: int, k_major: bool) -> None:
    wide = (128 << swizzle) // bits
    tile = (16, 2 * wide) if k_major else (2 * wide, 16)
    shape = (tile[0] + 5, tile[1] + 3)
    numbers = np.arange(np.prod(shape), dtype=WIDTHS[bits]).reshape(shape)
    tensor = numbers if k_major else np.asfortranarray(numbers)
    for order, first in itertools.product(((0, 1), (1, 0)), ((0, 0), (8, -3), (-1, 4))):
        shared = tile_to_shape(layout_atom(bits, swizzle, k_major), tile, order)
        assert np.array_equal(
            filled_by_boxes(tensor, shared, tile, first, 1), expected_memory(tensor, shared, tile, first)
        )


@pytest.mark.parametrize("shares", [1, 2, 4, 8])
@pytest.mark.parametrize(("bits", "swizzle"), [(16, 3), (32, 0), (8, 2)])
def test_every_element_is_loaded_once_however_many_blocks_share(shares: int, bits: int, swizzle: int) -> None:
    wide = (128 << swizzle) // bits
    tile = (64, wide)
    tensor = np.arange(100 * 2 * wide, dtype=WIDTHS[bits]).reshape(100, 2 * wide)
    shared = tile_to_shape(layout_atom(bits, swizzle, True), tile, (0, 1))
    found = filled_by_boxes(tensor, shared, tile, (60, wide), shares)
    assert np.array_equal(found, expected_memory(tensor, shared, tile, (60, wide)))


@st.composite
def tiles(draw: st.DrawFn) -> tuple[Any, Layout, tuple[int, ...], tuple[int, ...]]:
    """A tensor of one to five dimensions in any order, a compact tile of it, and where it begins, perhaps outside."""
    rank = draw(st.integers(1, 5))
    bits = draw(st.sampled_from([8, 16, 32, 64]))
    order = tuple(draw(st.permutations(range(rank))))
    tile = [draw(st.integers(1, 3)) for _ in range(rank)]
    tile[order.index(0)] = draw(st.integers(1, 3)) * 128 // bits
    if draw(st.booleans()) and rank > 1:
        tile[order.index(1)] *= 4
    shape = tuple(draw(st.integers(1, extent + 4)) for extent in tile)
    axes = sorted(range(rank), key=lambda i: -order[i])
    tensor = np.arange(1, 1 + np.prod(shape), dtype=np.int64).astype(WIDTHS[bits])
    tensor = tensor.reshape([shape[axis] for axis in axes]).transpose(np.argsort(axes))
    first = tuple(draw(st.integers(-extent, extent)) for extent in shape)
    return tensor, make_ordered_layout(tuple(tile), order), tuple(tile), first


@examples(60)
@given(tiles())
def test_tma_boxes_of_drawn_tensors(drawn: tuple[Any, Layout, tuple[int, ...], tuple[int, ...]]) -> None:
    tensor, shared, tile, first = drawn
    try:
        found = filled_by_boxes(tensor, shared, tile, first, 1)
    except BoxError:
        return  # boxes that do not begin at a multiple of 128 bytes, or of an extent that strides hide
    assert np.array_equal(found, expected_memory(tensor, shared, tile, first))
