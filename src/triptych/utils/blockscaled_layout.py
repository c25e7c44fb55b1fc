"""`triptych.compat.utils.blockscaled_layout` under its shorter name."""

from __future__ import annotations

from triptych.compat.utils.blockscaled_layout import (
    BlockScaledBasicChunk,
    make_smem_layout_sfa,
    make_smem_layout_sfb,
    make_tmem_layout_sfa,
    make_tmem_layout_sfb,
    sm120_make_smem_layout_sfa,
    sm120_make_smem_layout_sfb,
    tile_atom_to_shape_SF,
)

__all__ = [
    "BlockScaledBasicChunk",
    "make_smem_layout_sfa",
    "make_smem_layout_sfb",
    "make_tmem_layout_sfa",
    "make_tmem_layout_sfb",
    "sm120_make_smem_layout_sfa",
    "sm120_make_smem_layout_sfb",
    "tile_atom_to_shape_SF",
]


def __dir__() -> list[str]:
    return __all__
