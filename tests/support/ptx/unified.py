"""What is compiled for the NVIDIA target runs on the PTX simulator, which reaches the memory of the CPU."""

from __future__ import annotations

import ctypes
import warnings
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from typing import Any
from unittest import mock

import numpy as np

from tests.support.ptx.installed import installed
from triptych.interop.dlpack import CPU, ELEMENT_CODES
from triptych.interop.tensor_views import passing_view
from triptych.objectstage import lower
from triptych.ptxsim.driver import NumpyDriver
from triptych.ptxsim.memory import Room
from triptych.stages import Split, Traced
from triptych.support.config import override
from triptych.support.errors import PerformanceWarning
from triptych.targets.nvptx.runtime import loader

_WHOLE = 1 << 12, (1 << 47) - (1 << 13)
"""The first address and the number of bytes."""


@contextmanager
def numpy_gpu(architecture: str = "sm_80", *, whole_memory: bool = False) -> Iterator[NumpyDriver]:
    """In its body calls compile for an architecture, take NumPy arrays, and run.

    Only the memory of the tensors of a call can be reached; the whole memory of the CPU for tests that pass addresses.
    """
    library = NumpyDriver()
    if whole_memory:
        library.gpu.memory.add(_HostRoom(*_WHOLE))

    class Reaching(loader.Program):
        def _run(self, host: Callable[..., Any], args: Sequence[Any], stream: Any) -> Any:
            tensors = [arg for leaf, arg in zip(self.parameters, args, strict=True) if leaf.memory is not None]
            with _reachable(library, [] if whole_memory else tensors):
                return super()._run(host, args, stream)

    split = lower.split

    def split_with_cpu(traced: Traced, passes: Any, observe: Any, devices: tuple[int, ...]) -> Split:
        return split(traced, passes, observe, (CPU, *devices))

    with (
        warnings.catch_warnings(),
        mock.patch.object(loader, "Program", Reaching),
        installed(library),
        mock.patch.object(lower, "split", split_with_cpu),
        override(target=f"nvptx:{architecture}"),
    ):
        warnings.simplefilter("ignore", PerformanceWarning)
        yield library


@contextmanager
def _reachable(library: NumpyDriver, tensors: Sequence[Any]) -> Iterator[None]:
    """The memory of tensors is memory of the GPU, without the gaps between them."""
    ends: list[tuple[int, int]] = []
    for start, end in sorted(_span(tensor) for tensor in tensors):
        if ends and start < ends[-1][1]:
            start, end = ends[-1][0], max(end, ends.pop()[1])
        ends.append((start, end))
    rooms = [_HostRoom(start, end - start) for start, end in ends if end > start]
    for room in rooms:
        library.gpu.memory.add(room)
    try:
        yield
    finally:
        for room in rooms:
            library.gpu.memory.rooms.remove(room)


def _span(tensor: Any) -> tuple[int, int]:
    view = passing_view(tensor)
    size = max(ELEMENT_CODES[view.element][1] // 8, 1)
    if 0 in view.extents:
        return view.address, view.address
    steps = [(extent - 1) * stride * size for extent, stride in zip(view.extents, view.strides, strict=True)]
    return view.address + sum(min(step, 0) for step in steps), view.address + sum(max(step, 0) for step in steps) + size


class _HostRoom(Room):
    """Memory that is there already. Words of any size are read from it, so it begins at a multiple of 32 bytes."""

    def __init__(self, base: int, size: int) -> None:
        before = base % 32
        self.base, self.size, self.is_private = base, size, False
        padded = -(-(before + size) // 32) * 32
        memory = (ctypes.c_uint8 * padded).from_address(base - before)
        self.bytes = np.ctypeslib.as_array(memory).reshape(1, padded)
        self.before = before
