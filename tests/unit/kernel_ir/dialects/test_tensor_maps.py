"""Boxes of tensor maps: which modes a copy moves at once, and which of them blocks share."""

from __future__ import annotations

from triptych.kernel_ir.dialects.tensor_maps import boxes
from triptych.layout import Layout


def test_blocks_share_a_box_only_where_their_parts_lie_one_after_the_other() -> None:
    """Two blocks cannot halve three rows of four; so a copy moves one of them, which they halve."""
    tile = Layout((3, 4, 128), (512, 128, 1))
    made = boxes(tile.shape, tile.stride, tile, (3, 4, 128), 8, 2)
    assert made.box == (128, 4, 1)
    assert made.share == (128, 2, 1)


def test_modes_of_less_than_16_bytes_are_joined() -> None:
    """Four factors of a row, of 4 rows that are 32 apart, of 8 rows: 128 bytes side by side."""
    chunk = Layout(((8, 4, 4), 4), ((16, 128, 4), 1))
    made = boxes(chunk.shape, chunk.stride, chunk, (128, 4), 8)
    assert made.copied == (128, 4)
    assert [path for path, _ in made.joined] == [(0, 2), (0, 0)]
