"""The tensors of a call, copied to the memory of the GPU made of NumPy and back.

They are placed as a GPU's allocator places them, at multiples of 256 bytes: where a library of the CPU has put an array
says nothing of how many sectors a kernel will touch. A part of an array stays as far from its array's begin as it is.
"""

from __future__ import annotations

import ctypes
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Any

from triptych.interop.dlpack import ELEMENT_CODES, GPU, DLTensor, TensorView, passing_view
from triptych.ptxsim.machine import Gpu
from triptych.ptxsim.memory import Room

_ALIGNMENT = 256


@dataclass(slots=True)
class _Stretch:
    """Memory of the CPU that tensors share, from its first byte to behind its last."""

    start: int
    end: int
    room: Room | None = None
    is_written: bool = False


@contextmanager
def on_machine(gpu: Gpu, tensors: Sequence[Any]) -> Iterator[list[TensorView]]:
    """Views of the tensors' copies; what kernels change is copied back."""
    views = [passing_view(tensor) for tensor in tensors]
    stretches = _stretches(tensors, views)
    for each in stretches:
        each.room = gpu.memory.allocate(max(each.end - each.start, 1))
        ctypes.memmove(each.room.bytes.ctypes.data, each.start, each.end - each.start)
    try:
        yield [_moved(view, stretches) for view in views]
        for each in stretches:
            if each.room is not None and each.is_written:
                ctypes.memmove(each.start, each.room.bytes.ctypes.data, each.end - each.start)
    finally:
        for each in stretches:
            if each.room is not None:
                gpu.memory.free(each.room.base)


def _stretches(tensors: Sequence[Any], views: Sequence[TensorView]) -> list[_Stretch]:
    """Tensors that overlap are in one; each begins where its allocation does, as far as that is known."""
    found: list[_Stretch] = []
    parts = sorted((*_span(view, _origin(tensor)), view.read_only) for tensor, view in zip(tensors, views, strict=True))
    for start, end, read_only in parts:
        if found and start < found[-1].end:
            found[-1].end = max(end, found[-1].end)
        else:
            found.append(_Stretch(start, end))
        found[-1].is_written |= not read_only
    return found


def _moved(view: TensorView, stretches: Sequence[_Stretch]) -> TensorView:
    """The same tensor in the machine's memory."""
    stretch = max((each for each in stretches if each.start <= view.address), key=lambda each: each.start)
    assert stretch.room is not None
    described = DLTensor.from_buffer_copy(DLTensor.from_address(view.__dltensor__))
    described.data, described.offset = stretch.room.base + view.address - stretch.start, 0
    described.device, described.device_number = GPU, 0
    return TensorView(described, view, read_only=view.read_only)


def _span(view: TensorView, origin: int | None) -> tuple[int, int]:
    size = max(ELEMENT_CODES[view.element][1] // 8, 1) if view.element else 1
    steps = [(extent - 1) * stride * size for extent, stride in zip(view.extents, view.strides, strict=True)]
    if 0 in view.extents:
        steps, size = [], 0
    start = view.address + sum(min(step, 0) for step in steps)
    end = view.address + sum(max(step, 0) for step in steps) + size
    distance = 0 if origin is None else max(start - origin, 0)
    return start - distance % _ALIGNMENT, end


def _origin(tensor: Any) -> int | None:
    """Where the memory of the whole array begins that a tensor is a part of."""
    if hasattr(tensor, "untyped_storage"):
        return int(tensor.untyped_storage().data_ptr())
    whole = tensor
    while getattr(whole, "base", None) is not None and hasattr(whole.base, "ctypes"):
        whole = whole.base
    return int(whole.ctypes.data) if hasattr(whole, "ctypes") else None
