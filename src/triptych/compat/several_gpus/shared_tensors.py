"""Torch's tensors in memory that ranks share: this rank's own, another's, and what stands for all of them.

Torch has no tensor whose memory it may not read, and none is needed: kernels take the address. What a program would do
with such a tensor outside of a kernel, as printing it, ends the process, as it does on GPUs.
"""

from __future__ import annotations

import ctypes
import math
from collections.abc import Sequence
from typing import Any

import torch

from triptych.compat.torch_on_cpu.placement import place
from triptych.ranks.group import group, joined
from triptych.ranks.heap import SymmetricHeap

_HEAPS: list[SymmetricHeap] = []


def heap() -> SymmetricHeap:
    """The memory of this rank that others reach."""
    there = joined()
    if not _HEAPS or _HEAPS[0].group is not there:
        _HEAPS[:] = [SymmetricHeap(there)]
    return _HEAPS[0]


def is_rank() -> bool:
    """Whether this process has joined a group."""
    return group() is not None


# Any: tensors of torch, which has no types here.
def tensor_at(address: int, shape: Sequence[int], dtype: torch.dtype, strides: Sequence[int] | None = None) -> Any:
    """Memory at an address as a tensor on the GPU; row-major unless it is said how."""
    count = math.prod(shape) if strides is None else _reach(shape, strides)
    if not math.prod(shape):
        return place(torch.empty(tuple(shape), dtype=dtype, device="cpu"), True)
    memory = (ctypes.c_byte * (count * dtype.itemsize)).from_address(address)
    flat = torch.frombuffer(memory, dtype=dtype)
    made = flat.view(tuple(shape)) if strides is None else flat.as_strided(tuple(shape), tuple(strides))
    return place(made, True)


def bytes_of(shape: Sequence[int], dtype: torch.dtype, strides: Sequence[int] | None = None) -> int:
    """The bytes that such a tensor takes."""
    return (math.prod(shape) if strides is None else _reach(shape, strides)) * int(dtype.itemsize)


def _reach(shape: Sequence[int], strides: Sequence[int]) -> int:
    if not math.prod(shape):
        return 0
    return 1 + sum((extent - 1) * step for extent, step in zip(shape, strides, strict=True))
