"""The rule by which a machine lays boxes of a tensor down in shared memory, on NumPy arrays, and layouts of tiles."""

from __future__ import annotations

from typing import Any

import numpy as np

from triptych.kernel_ir.dialects.tensor_maps import Boxes
from triptych.layout import ComposedLayout, Layout, Swizzle


def layout_atom(bits: int, swizzle: int, k_major: bool) -> ComposedLayout:
    """Eight rows of 16, 32, 64 or 128 bytes, in pieces of 16 bytes that are permuted."""
    wide = (128 << swizzle) // bits
    permutation = Swizzle(swizzle, (128 // bits).bit_length() - 1, 3)
    outer = Layout((8, wide), (wide, 1)) if k_major else Layout((wide, 8), (1, wide))
    return ComposedLayout(permutation, 0, outer)


def laid_down(
    tensor: np.ndarray[Any, Any], made: Boxes, memory: np.ndarray[Any, Any], start: int, where: tuple[int, ...]
) -> int:
    """One box as the machine loads it; the bytes that it counts. Dimensions of the tensor are the map's own order."""
    element = made.element_bytes
    inside = np.stack([part.ravel() for part in np.indices(made.share[::-1])][::-1])
    at = inside + np.array(where)[:, None]
    exists = np.all((at >= 0) & (at < np.array(tensor.shape)[:, None]), axis=0)
    values = np.where(exists, tensor[tuple(np.where(exists, at, 0))], tensor.dtype.type(0))
    address = start + np.arange(values.size) * element
    address ^= ((address >> 7) & ((1 << made.swizzle) - 1)) << 4
    memory[address[:, None] + np.arange(element)] = values.view(np.uint8).reshape(-1, element)
    return int(np.prod(made.share)) * element
