"""Tensor maps of TMA: which box of a tile one copy moves, and how a tile is divided among such copies.

Input: the shape and strides of a tensor in global memory, the layout of a tile in shared memory and the tiler that
takes the tile. Output: `Boxes`, which dimensions a map has and what a box is of each; and layouts that cut tiles into
boxes. Pure algebra: languages, targets and tests share it.

A dimension of a map is a mode of the tensor. The innermost come first, as the tile lies in shared memory. A box is as
much of the tile as lies in shared memory in the order in which the machine walks through a box. Where the map takes
several elements of the tensor for one of its own, because they are narrower than a byte or the program says so, or
where the first mode has less than 16 bytes, the first dimension may join modes that continue each other in both
memories.
"""

from __future__ import annotations

from math import gcd, prod

from triptych.kernel_ir.dialects.smem_operands import pattern_bytes, row_bytes, swizzle_number
from triptych.layout import (
    ComposedLayout,
    Int,
    IntTuple,
    Layout,
    ScaledBasis,
    Shape,
    Swizzle,
    Tile,
    coalesce,
    composition,
    cosize,
    filter_zeros,
    logical_divide,
    make_identity_layout,
    recast_layout,
    right_inverse,
    size,
)
from triptych.layout.coalescing import leaf_pairs
from triptych.support.dataclass import dataclass

MOST_DIMENSIONS = 5
MOST_EXTENT = 256
"""Elements of a box along a dimension."""
PIECE = 16
"""Bytes that a swizzle keeps together; base, strides and rows of a box are multiples of it."""
DESTINATION_ALIGNMENT = 128
"""Bytes: where a box may begin in shared memory."""
ELEMENT_BYTES = {
    "u8": 1,
    "u16": 2,
    "u32": 4,
    "s32": 4,
    "u64": 8,
    "s64": 8,
    "f16": 2,
    "bf16": 2,
    "f32": 4,
    "tf32": 4,
    "f64": 8,
}
"""Types of elements that a map may say, with their sizes."""

Path = tuple[int, ...]


class BoxError(Exception):
    """No box moves this tile; the language says so at the line of its program."""

    def __init__(self, title: str, *, found: str = "", expected: str = "", instead: str = "") -> None:
        super().__init__(title)
        self.title = title
        self.found = found
        self.expected = expected
        self.instead = instead


@dataclass(frozen=True, slots=True)
class Boxes:
    """How a tile of a tensor is copied."""

    dimensions: tuple[Path, ...]
    """The modes of the tensor that the dimensions of the map are, the innermost first."""
    box: tuple[int, ...]
    """The extents that one copy moves; with multicast, that all copies of the cluster's blocks move together."""
    swizzle: int
    """The number of the swizzle of shared addresses."""
    element_bytes: int
    """Bytes of what the map counts as one element."""
    shares: int = 1
    """Blocks that each move a part of the box, into all of them."""
    unit: int = 1
    """Elements of the tensor that are one of the map."""
    joined: tuple[tuple[Path, int], ...] = ()
    """Modes that continue the innermost one, with their strides in elements."""

    @property
    def values(self) -> int:
        """Elements of a box."""
        return prod(self.box)

    @property
    def share(self) -> tuple[int, ...]:
        """The extents that one block moves: the outermost are divided first."""
        left, extents = self.shares, list(self.box)
        for i in reversed(range(len(extents))):
            part = gcd(left, extents[i])
            extents[i] //= part
            left //= part
        return tuple(extents)

    @property
    def copied(self) -> tuple[int, ...]:
        """The extents that one block moves, in elements of the map."""
        first, *others = self.share
        return (first // self.unit, *others)

    @property
    def bytes_moved(self) -> int:
        """What one block moves."""
        return prod(self.copied) * self.element_bytes


def tile_swizzle(layout: Layout | ComposedLayout, element_bits: int) -> int:
    """The number of the swizzle of a layout in shared memory: on pieces of 16 or 32 bytes, by rows of 128.

    Layouts of operands have a swizzle of byte addresses over a layout of elements, others one of elements. No copy of
    boxes has a swizzle that could be both.
    """
    if not isinstance(layout, ComposedLayout):
        return 0
    inner = layout.known_inner
    if isinstance(inner, Swizzle):
        number = swizzle_number(inner)
        return element_swizzle(inner, element_bits) if number is None else number
    raise BoxError("a box lies in shared memory by a plain layout or a swizzled one", found=str(layout))


def element_swizzle(swizzle: Swizzle, element_bits: int) -> int:
    """The number of a swizzle of elements."""
    in_bytes = recast_layout(8, element_bits, ComposedLayout(swizzle, 0, Layout(1, 0))).inner
    assert isinstance(in_bytes, Swizzle), "a swizzle recast is a swizzle"
    return known_swizzle(in_bytes)


def known_swizzle(swizzle: Swizzle) -> int:
    """The number of a swizzle of byte addresses, refused where no TMA copy has it."""
    number = swizzle_number(swizzle)
    if number is not None:
        return number
    raise BoxError(
        "no TMA copy has this swizzle",
        found=f"{swizzle} on bytes",
        expected="S<1,4,3>, S<2,4,3> or S<3,4,3> on bytes: 32, 64 or 128 bytes; or S<2,5,2>: 128 in pieces of 32",
        instead="a layout atom of 16-byte pieces and rows of 128 bytes",
    )


def boxes(
    shape: Shape,
    stride: IntTuple,
    shared: Layout | ComposedLayout,
    tiler: Tile,
    element_bits: int,
    shares: int = 1,
    unit_bits: int = 0,
) -> Boxes:
    """How tiles that `tiler` takes of a tensor are copied to where `shared` says, by so many blocks together.

    `unit_bits` are what the map takes for one element; 0 for whole bytes of the tensor's own.
    """
    tile = composition(make_identity_layout(shape), tiler)
    return boxes_of(tile, shape, stride, shared, element_bits, shares, unit_bits)


def boxes_of(
    tile: Layout,
    shape: Shape,
    stride: IntTuple,
    shared: Layout | ComposedLayout,
    element_bits: int,
    shares: int = 1,
    unit_bits: int = 0,
) -> Boxes:
    """The same of a tile that a layout gives: element of the tile -> coordinate of the tensor."""
    bits = unit_bits or max(8, element_bits)
    if bits % 8 or bits % element_bits:
        raise BoxError("elements of TMA tiles are whole bytes", found=f"{element_bits} bits")
    unit, swizzle = bits // element_bits, tile_swizzle(shared, element_bits)
    order = _order(tile, shared)
    most = min(MOST_EXTENT * unit, row_bytes(swizzle) * 8 // element_bits) if swizzle else MOST_EXTENT * unit
    steps, joined = _leading(order, most, stride if unit_bits > 0 and unit > 1 else None)
    if steps and steps[0][1] * element_bits < 8 * PIECE:
        steps, joined = _leading(order, most, stride)
    while len(steps) > 1 and not _divides([extent for _, extent in steps], shares):
        steps.pop()  # each block moves a part of one box, then of the next
    _check_contiguous(stride, steps, shared, element_bits)
    used = [*(path for path, _ in steps), *(path for path, _ in joined)]
    others = [path for path in _paths(shape) if path not in used and not _is_zero(at_path(stride, path))]
    dimensions = (*(path for path, _ in steps), *others)
    if len(dimensions) > MOST_DIMENSIONS:
        raise BoxError(
            f"a tensor of {len(dimensions)} dimensions",
            found=f"strides {stride}",
            expected=f"at most {MOST_DIMENSIONS}",
            instead="modes that continue each other joined into one",
        )
    box = (*(extent for _, extent in steps), *(1 for _ in others))
    return _checked(Boxes(dimensions, box, swizzle, bits // 8, shares, unit, joined), size(order))


def partition(shared_tile: Layout, values: int) -> Layout:
    """(element of a box, box) -> number of the coordinate of the tile, in the order of shared memory."""
    inverse = right_inverse(shared_tile)
    if size(inverse) != size(filter_zeros(shared_tile)):
        raise _has_gaps(shared_tile)
    return logical_divide(inverse, Layout(values, 1))


def coordinate_strides(shape: Shape, made: Boxes) -> IntTuple:
    """The strides of a tensor of this shape whose elements are coordinates of the map, in elements of the tensor."""
    steps = {path: (1, dimension) for dimension, path in enumerate(made.dimensions)}
    steps.update({path: (step, 0) for path, step in made.joined})

    def at(part: Shape, path: Path) -> IntTuple:
        if isinstance(part, tuple):
            return tuple(at(inner, (*path, i)) for i, inner in enumerate(part))
        if path not in steps:
            return 0
        step, dimension = steps[path]
        return ScaledBasis(step, (dimension,))  # type: ignore[return-value]

    return at(shape, ())


# the walk ---------------------------------------------------------------------------------------------------------
def _order(tile: Layout, shared: Layout | ComposedLayout) -> Layout:
    """Place in shared memory -> coordinate of the tensor. Of several tiles in shared memory the first one counts."""
    plain = shared.outer if isinstance(shared, ComposedLayout) else shared
    if not plain.is_static:
        raise BoxError("a tile in shared memory is of a known layout", found=str(plain), expected="static extents")
    inverse = right_inverse(plain)
    if size(inverse) != size(filter_zeros(plain)):
        raise _has_gaps(plain)
    count = size(tile)
    if isinstance(count, int) and size(plain) > count:
        inverse = composition(inverse, Layout(count, 1))
        if cosize(inverse) != count:
            raise BoxError(
                "several tiles in shared memory are not one after the other",
                found=f"{plain} for tiles of {tile}",
                expected="a mode of stages behind the modes of the tile, with the largest stride",
            )
    return coalesce(composition(tile, inverse))


def _leading(
    order: Layout, most_in_row: int, stride: IntTuple | None
) -> tuple[list[tuple[Path, int]], tuple[tuple[Path, int], ...]]:
    """The modes that a box takes: steps of one element along a mode of the tensor that no mode before has taken; and
    those that continue the first of them, where the strides of the tensor are given for it."""
    found: list[tuple[Path, int]] = []
    joined: list[tuple[Path, int]] = []
    for extent, step in leaf_pairs(order):
        if not isinstance(step, ScaledBasis) or step.value != 1 or not isinstance(extent, int):
            break
        taken_before = [*found, *joined]
        if any(path == step.mode for path, _ in taken_before) or len(found) == MOST_DIMENSIONS:
            break
        if stride is not None and len(found) == 1:
            first, contiguous = found[0]
            known = at_path(stride, step.mode)
            if isinstance(known, int) and known == contiguous and contiguous * extent <= most_in_row:
                found[0] = (first, contiguous * extent)
                joined.append((step.mode, contiguous))
                continue
        taken = _divisor(extent, most_in_row if not found else MOST_EXTENT)
        found.append((step.mode, taken))
        if taken < extent:
            break
    return found, tuple(joined)


def _divides(extents: list[int], shares: int) -> bool:
    """Whether so many shares of a box, the outermost extents divided first, lie one after the other."""
    for extent in reversed(extents):
        part = gcd(shares, extent)
        shares //= part
        if shares == 1 or part < extent:
            break
    return shares == 1


def _divisor(extent: int, most: int) -> int:
    """The largest divisor that is not more."""
    return next(part for part in range(min(extent, most), 0, -1) if extent % part == 0)


def _paths(shape: Shape, path: Path = ()) -> list[Path]:
    if not isinstance(shape, tuple):
        return [path]
    return [leaf for i, part in enumerate(shape) for leaf in _paths(part, (*path, i))]


def at_path(value: IntTuple, path: Path) -> Int:
    """The leaf of a nested tuple."""
    for i in path:
        assert isinstance(value, tuple), "the path leads through tuples"
        value = value[i]
    assert not isinstance(value, tuple), "the path leads to a leaf"
    return value


def _is_zero(step: Int) -> bool:
    return isinstance(step, int) and step == 0


# what must hold ---------------------------------------------------------------------------------------------------
def _check_contiguous(
    stride: IntTuple, steps: list[tuple[Path, int]], shared: Layout | ComposedLayout, bits: int
) -> None:
    first = at_path(stride, steps[0][0]) if steps else 0
    if not steps or not isinstance(first, int) or first != 1:
        raise BoxError(
            "the mode that is contiguous in shared memory is not contiguous in global memory",
            found=f"stride {first} of the mode that has stride 1 in {shared}",
            expected="stride 1 in both",
            instead="a layout of the tile with the other mode first, or `mark_layout_dynamic(leading_dim=...)`",
        )
    extent = steps[0][1]
    if extent * bits % (8 * PIECE):
        raise BoxError(
            f"rows of {extent * bits // 8} bytes",
            found=f"{extent} elements of {bits // 8} bytes side by side",
            expected=f"a multiple of {PIECE} bytes",
            instead="a tile that is wider along the contiguous mode",
        )


def _checked(made: Boxes, tile: Int) -> Boxes:
    share = made.share
    in_bytes = made.bytes_moved
    pattern = pattern_bytes(made.swizzle) if made.swizzle else DESTINATION_ALIGNMENT
    if prod(share) * made.shares != made.values:
        raise BoxError(
            f"a box cannot be divided among {made.shares} blocks",
            found=f"a box of {made.box}",
            expected=f"extents that {made.shares} divides",
        )
    if in_bytes % PIECE or made.copied[0] * made.element_bytes % PIECE:
        raise BoxError(f"a share of {in_bytes} bytes", found=f"{share} of {made.box}", expected=f"multiples of {PIECE}")
    several = made.shares > 1 or (isinstance(tile, int) and tile > made.values)
    if several and in_bytes % pattern:
        raise BoxError(
            f"TMA tiles of {in_bytes} bytes do not begin where a swizzle's pattern does",
            found=f"a box of {share} elements of {made.element_bytes} bytes",
            expected=f"a multiple of {pattern} bytes",
            instead="a larger tile, or fewer blocks that share it",
        )
    return made


def _has_gaps(layout: Layout) -> BoxError:
    return BoxError(
        "the tile has gaps in shared memory",
        found=str(layout),
        expected="a layout that fills its memory",
        instead="a layout atom and `tile_to_shape`, or a compact layout",
    )
