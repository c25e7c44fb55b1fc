"""Layouts of matrices in shared memory that products of warpgroups read: eight atoms, which are tiled to any shape."""

from __future__ import annotations

import enum

from triptych.cute.tracing.eager import eager
from triptych.kernel_ir.dialects.smem_operands import K_MAJOR, MN_MAJOR, smem_atom
from triptych.layout import ComposedLayout
from triptych.metastage.values.scalars import Numeric, numeric_class


class SmemLayoutAtomKind(enum.Enum):
    """Which mode is contiguous, and the bytes of it that a swizzle spreads over the banks (INTER: none)."""

    MN_INTER = (MN_MAJOR, 0)
    MN_SW32 = (MN_MAJOR, 1)
    MN_SW64 = (MN_MAJOR, 2)
    MN_SW128 = (MN_MAJOR, 3)
    K_INTER = (K_MAJOR, 0)
    K_SW32 = (K_MAJOR, 1)
    K_SW64 = (K_MAJOR, 2)
    K_SW128 = (K_MAJOR, 3)


@eager
def make_smem_layout_atom(kind: SmemLayoutAtomKind, element_type: type[Numeric]) -> ComposedLayout:
    """The atom (M or N, K) in elements, under a swizzle of byte addresses: `tensor(layout.outer, swizzle=layout.inner)`
    lays memory out by it."""
    major, bits = kind.value
    return smem_atom(major, bits, numeric_class(element_type).width)
