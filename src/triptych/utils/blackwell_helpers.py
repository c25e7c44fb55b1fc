"""`triptych.compat.utils.blackwell_helpers` and `sm120_helpers` under one shorter name."""

from __future__ import annotations

from triptych.compat.utils.blackwell_helpers import (
    cluster_shape_to_tma_atom_A,
    cluster_shape_to_tma_atom_B,
    cluster_shape_to_tma_atom_SFB,
    compute_epilogue_tile_shape,
    get_smem_layout_atom_ab,
    get_smem_store_op,
    get_tmem_load_op,
    make_blockscaled_trivial_tiled_mma,
    make_smem_layout,
    make_smem_layout_a,
    make_smem_layout_atom,
    make_smem_layout_b,
    make_smem_layout_epi,
    make_trivial_tiled_mma,
)
from triptych.compat.utils.sm120_helpers import (
    get_layoutSFA_TV,
    get_layoutSFB_TV,
    get_permutation_mnk,
    partition_fragment_SFA,
    partition_fragment_SFB,
    sm120_get_smem_store_op,
)

__all__ = [
    "cluster_shape_to_tma_atom_A",
    "cluster_shape_to_tma_atom_B",
    "cluster_shape_to_tma_atom_SFB",
    "compute_epilogue_tile_shape",
    "get_layoutSFA_TV",
    "get_layoutSFB_TV",
    "get_permutation_mnk",
    "get_smem_layout_atom_ab",
    "get_smem_store_op",
    "get_tmem_load_op",
    "make_blockscaled_trivial_tiled_mma",
    "make_smem_layout",
    "make_smem_layout_a",
    "make_smem_layout_atom",
    "make_smem_layout_b",
    "make_smem_layout_epi",
    "make_trivial_tiled_mma",
    "partition_fragment_SFA",
    "partition_fragment_SFB",
    "sm120_get_smem_store_op",
]


def __dir__() -> list[str]:
    return __all__
