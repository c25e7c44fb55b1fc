"""`triptych.compat.utils.hopper_helpers` under its shorter name."""

from __future__ import annotations

from triptych.compat.utils.hopper_helpers import (
    compute_tile_shape_or_override,
    get_smem_layout_atom,
    make_smem_layout_a,
    make_smem_layout_b,
    make_smem_layout_epi,
    make_trivial_tiled_mma,
    sm90_get_smem_store_op,
)

__all__ = [
    "compute_tile_shape_or_override",
    "get_smem_layout_atom",
    "make_smem_layout_a",
    "make_smem_layout_b",
    "make_smem_layout_epi",
    "make_trivial_tiled_mma",
    "sm90_get_smem_store_op",
]


def __dir__() -> list[str]:
    return __all__
