"""Functions that no fact or law covers, by example."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import pytest

from triptych import layout
from triptych.layout import E, Layout

tl: Any = layout  # typed for dynamic integers too; the tests know which ones are static


@dataclass(frozen=True)
class Type:
    width: int


def test_select_get_group_append() -> None:
    layout = Layout.parse("(4,(2,3)):(1,(4,8))")
    assert tl.get(layout, mode=[1, 0]) == Layout(2, 4)
    assert tl.append(layout, Layout(5, 24)) == Layout.parse("(4,(2,3),5):(1,(4,8),24)")
    assert tl.prepend((2, 3), 1, up_to_rank=4) == (1, 1, 2, 3)
    assert tl.append_ones(Layout(4, 1), up_to_rank=3) == Layout.parse("(4,1,1):(1,0,0)")
    assert tl.append_ones((4, 8)) == (4, 8, 1)
    with pytest.raises(tl.ProfileError):
        tl.append((1, 2, 3), 4, up_to_rank=2)
    with pytest.raises(tl.ProfileError):
        tl.get(layout, mode=[2])


def test_repeat() -> None:
    assert tl.repeat(4, 1) == 4
    assert tl.repeat(None, 3) == (None, None, None)
    assert tl.repeat_like(None, (1, (2, 3))) == (None, (None, None))
    assert tl.repeat_like(0, Layout.parse("(2,(3,4))")) == (0, (0, 0))


def test_congruence() -> None:
    assert tl.is_congruent((1, (2, 3)), Layout.parse("(4,(5,6))"))
    assert not tl.is_congruent((1, 2), (1, (2, 3)))
    assert tl.is_weakly_congruent((1, 2), (1, (2, 3)))
    assert not tl.is_weakly_congruent((1, (2, 3)), (1, 2))


def test_leading_dim() -> None:
    assert tl.leading_dim((4, 8), (8, 1)) == 1
    assert tl.leading_dim((1, 8), (1, 1)) == 1
    assert tl.leading_dim((4, (2, 3)), (6, (1, 2))) == (1, 0)
    assert tl.leading_dim((4, 8), (16, 2)) is None


def test_sizes_in_bytes() -> None:
    assert tl.size_in_bytes(Type(16), Layout.parse("(8,8):(8,1)")) == 128
    assert tl.size_in_bytes(Type(4), Layout.parse("(8,8):(8,1)")) == 32
    assert tl.size_in_bytes(Type(32), (3, 5)) == 60


def test_shape_arithmetic() -> None:
    assert tl.round_up((5, 9), (4, 4)) == (8, 12)
    assert tl.round_up(9, 8) == 16
    assert tl.product_like(((2, 3), 4), (1, 1)) == (6, 4)
    assert tl.elem_less((1, (2, 3)), (2, (3, 4)))
    assert not tl.elem_less((1, 4), (2, 4))
    assert tl.tuple_mul((2, 3), (4, 5)) == (8, 15)
    with pytest.raises(tl.ProfileError):
        tl.tuple_add((1, 2), 3)
    with pytest.raises(tl.DivisibilityError):
        tl.shape_div(6, 4)


def test_ceil_div_counts_tiles_of_every_kind() -> None:
    assert tl.ceil_div((100, 64), (32, 16)) == (4, 4)
    assert tl.ceil_div((100, 64), (Layout(32, 1), None)) == (4, 1)
    assert tl.ceil_div(16, Layout(4, 2)) == (2, 2)


def test_slicing_a_swizzled_layout_keeps_its_indices() -> None:
    composed = tl.parse("S<3,0,3> o 0 o (8,8):(8,1)")
    row = tl.slice_(composed, (5, None))
    assert [row(i) for i in range(8)] == [composed((5, i)) for i in range(8)]
    moved, offset = tl.domain_offset((2, 3), composed)
    assert offset == 0
    assert moved((1, 1)) == composed((3, 4))


def test_domain_offset_of_a_layout() -> None:
    layout = Layout.parse("(8,8):(8,1)")
    same, offset = tl.domain_offset((2, 3), layout)
    assert (same, offset) == (layout, 19)


def test_local_tile() -> None:
    layout = Layout.parse("(64,32,16):(512,16,1)")
    part, offset = tl.local_tile(layout, (16, 8), (1, 2))
    assert (str(part), offset) == ("(16,8,16):(512,16,1)", 16 * 512 + 16 * 16)
    part, offset = tl.local_tile(layout, (16, 8, 4), (1, None, 2), proj=(1, 1, 1))
    assert (str(part), offset) == ("(16,8,4,4):(512,16,1,128)", 16 * 512 + 8)
    part, offset = tl.local_tile(Layout.parse("(64,16):(16,1)"), (16, 8, 4), (1, 2, None), proj=(1, None, 1))
    assert (str(part), offset) == ("(16,4,4):(16,1,4)", 256)
    part, offset = tl.local_tile(layout, (16, 8, 4), (1, 2, None, 3), proj=(1, None, 1))
    assert (str(part), offset) == ("(16,4,8):(512,16,64)", 16 * 512 + 3)


def test_local_partition() -> None:
    part, offset = tl.local_partition(Layout.parse("(8,8):(8,1)"), Layout.parse("(2,4):(4,1)"), 5)
    assert (str(part), offset) == ("(4,2):(16,4)", 8 + 1)


def test_image_mask() -> None:
    cluster = Layout.parse("(4,2):(1,4)")
    assert tl.make_layout_image_mask(cluster, (1, 0), 0) == 0b00001111
    assert tl.make_layout_image_mask(cluster, (1, 0), 1) == 0b00100010


def test_thread_value_layout_of_the_elementwise_tutorial() -> None:
    tiler, tv = tl.make_layout_tv(Layout.parse("(4,64):(64,1)"), Layout.parse("(16,8):(8,1)"))
    assert tiler == (64, 512)
    assert str(tl.coalesce(tv, (1, 1))) == "((64,4),(8,16)):((512,16),(64,1))"


def test_max_common_vector() -> None:
    assert tl.max_common_vector(Layout.parse("(8,4):(1,8)"), Layout.parse("(8,4):(1,16)")) == 8
    assert tl.max_common_vector(Layout.parse("(8,4):(4,1)"), Layout.parse("(8,4):(1,8)")) == 1


def test_identity_layouts_compose_to_coordinates() -> None:
    coordinates = tl.make_identity_layout((8, 8))
    tiled = tl.zipped_divide(coordinates, (2, 4))
    assert tiled(((1, 2), (3, 1))) == (7, 6)
    assert tl.composition(Layout.parse("(8,8):(8,1)"), tiled) == tl.zipped_divide(Layout.parse("(8,8):(8,1)"), (2, 4))


def test_filters() -> None:
    layout = Layout.parse("(4,2,8):(1,0,4)")
    assert tl.filter_zeros(layout) == Layout.parse("(4,1,8):(1,0,4)")
    assert tl.filter(layout) == Layout(32, 1)
    assert tl.filter_zeros(layout, (0, 1, 1)) == Layout.parse("(1,2,8):(1,0,4)")


def test_divisibility_travels() -> None:
    n = tl.sym_int(divisibility=8, symbol="n")
    assert str(n * 3) == "?{div=24}"
    assert str(n // 4) == "?{div=2}"
    assert n % 4 == 0
    assert str(n + 4) == "?{div=4}"
    assert str(tl.assume(tl.sym_int(64), divby=16)) == "?{i64 div=16}"
    with pytest.raises(tl.LayoutError):
        tl.assume(6, divby=4)


def test_comparisons_are_answered_or_refused() -> None:
    n = tl.sym_int(symbol="n", lower=4)
    assert n > 3
    assert n - 1 < n
    with pytest.raises(tl.UndecidableError, match="n < 10"):
        assert n < 10
    with pytest.raises(tl.UndecidableError):
        bool(n)


def test_numbers_must_keep_what_was_declared() -> None:
    layout = Layout(tl.sym_int(divisibility=4, symbol="n"), 1)
    assert tl.substitute(layout, {"n": 12}) == Layout(12, 1)
    assert tl.substitute(layout, {}) == layout
    with pytest.raises(tl.LayoutError, match="multiple of 4"):
        tl.substitute(layout, {"n": 6})


def test_a_sink_hears_every_need() -> None:
    heard: list[str] = []
    with tl.assuming(lambda need: heard.append(str(need))) as needs:
        tl.recast_layout(16, 8, Layout.parse("(?,4):(1,?)"))
    assert heard == [str(need) for need in needs]
    assert all(text.startswith(("recast_layout needs", "shape_div needs")) for text in heard)


def test_scaled_basis_strides_cannot_be_mixed() -> None:
    with pytest.raises(tl.ProfileError, match="mix"):
        Layout((2, 2), (E(0), 1))((1, 1))
    with pytest.raises(tl.ProfileError, match="both a mode and a part"):
        Layout((2, 2), (E(0), E([0, 1])))((1, 1))


@pytest.mark.parametrize(
    ("coordinates", "compact"),
    [
        ("(4,8):(1@0,1@1)", "(4,8):(1,4)"),
        ("(4,8):(1@1,1@0)", "(4,8):(8,1)"),
        ("(1,2):(64@0,32@1)", "(1,2):(0,1)"),
        ("(2,3,4):(8@1,1@1,1@0)", "(2,3,4):(12,4,1)"),
    ],
)
def test_a_compact_layout_like_one_of_coordinates(coordinates: str, compact: str) -> None:
    assert tl.make_layout_like(tl.Layout.parse(coordinates)) == tl.Layout.parse(compact)
