"""Placement of tensors: which ones a program has put on the GPU. They are in the CPU's memory like all others.

A tensor carries a mark; what is computed from marked tensors is marked. So `tensor.device` and `tensor.is_cuda` answer
as on a machine with a GPU, and a copy between the two devices is a copy. Gradients, and results that a function saved
for its backward pass, are made by torch below all marks: in a backward pass that starts on the GPU, what has no mark at
all is on the GPU; so is, to a hook, what a call with tensors on the GPU saves.

Where several GPUs are modelled, a process works on one of them, which its first tensor or `torch.cuda.set_device`
chooses.

Memory outlives its tensors as CUDA's allocator keeps it. A program that hands addresses to a kernel, as numbers, and
lets the tensors go, works on a GPU: nobody else gets the memory in between. On the CPU it would be that of something
else. So the latest tensors stay, up to a number of bytes.
"""

from __future__ import annotations

import threading
from collections import deque
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any

import torch

from triptych.compat.modelled_gpu import ModelledGpuError, check_device_number

CPU = torch.device("cpu")
_ALIGNMENT = 256
_MARK = "_triptych_placed_on_gpu"


class _Thread(threading.local):
    """What is known of tensors without a mark that torch shows to code of the program in this thread."""

    unmarked_on_gpu = False
    latest_on_gpu = False
    """Whether the latest call of torch was about tensors on the GPU."""


THREAD = _Thread()


@contextmanager
def unmarked_on_gpu(on_gpu: bool) -> Iterator[None]:
    """What has no mark is on the GPU, or on the CPU, inside a `with`."""
    before, THREAD.unmarked_on_gpu = THREAD.unmarked_on_gpu, on_gpu
    try:
        yield
    finally:
        THREAD.unmarked_on_gpu = before


_CHOSEN: list[int] = []
"""The number of this process's GPU, once it has one."""


def gpu_number() -> int:
    """The number of the GPU that this process works on."""
    return _CHOSEN[0] if _CHOSEN else 0


def gpu() -> Any:
    """That GPU, as torch names it."""
    return torch.device("cuda", gpu_number())


def choose_gpu(number: int) -> None:
    """Work on a GPU from now on; a process has memory of one only."""
    check_device_number(number)
    if _CHOSEN and _CHOSEN[0] != number:
        raise ModelledGpuError(
            f"this process works on GPU {_CHOSEN[0]} already",
            found=f"GPU {number} in the same process",
            expected="one GPU for each process, chosen before its first tensor",
            instead="`torch.cuda.set_device(rank)` first, in a process for each rank (`torch.multiprocessing.spawn`)",
        )
    _CHOSEN[:] = [number]


def forget_gpu() -> None:
    """No GPU is chosen."""
    _CHOSEN.clear()


def is_placed(value: object) -> bool:
    """Whether it is a tensor that the program takes to be on the GPU."""
    return isinstance(value, torch.Tensor) and bool(value.__dict__.get(_MARK, THREAD.unmarked_on_gpu))


def stays_on_cpu(tensor: object) -> bool:
    """Whether the program has made the tensor on the CPU; of one without a mark that is not known."""
    return isinstance(tensor, torch.Tensor) and tensor.__dict__.get(_MARK) is False


# Any: tensors of torch, which has no types here; so in all files of this room.
def place(tensor: torch.Tensor, on_gpu: bool) -> Any:
    """Mark a tensor as being on the GPU, or on the CPU."""
    tensor.__dict__[_MARK] = on_gpu
    return tensor


def without_mark(tensor: torch.Tensor, call: Callable[[], Any]) -> Any:
    """The result of a call during which the tensor has no mark."""
    marks = {name: tensor.__dict__.pop(name) for name in (_MARK,) if name in tensor.__dict__}
    try:
        return call()
    finally:
        tensor.__dict__.update(marks)


def aligned(tensor: torch.Tensor) -> Any:
    """A tensor that was just made, with its memory where CUDA's allocator could begin it: torch's own for the CPU
    begins at multiples of 64 bytes, and programs assume more."""
    if tensor.data_ptr() % _ALIGNMENT == 0 or tensor._base is not None or tensor.requires_grad:
        return tensor
    held = tensor.untyped_storage()
    buffer = torch.empty(held.nbytes() + _ALIGNMENT, dtype=torch.uint8, device=CPU)
    start = -buffer.data_ptr() % _ALIGNMENT
    buffer[start : start + held.nbytes()].copy_(torch.empty(0, dtype=torch.uint8, device=CPU).set_(held))
    place = start // tensor.element_size() + tensor.storage_offset()
    tensor.set_(buffer.untyped_storage(), place, tensor.shape, tensor.stride())
    return tensor


def tensors_in(value: object) -> Iterator[Any]:
    """The tensors among arguments or results, in lists, tuples and dicts too."""
    if isinstance(value, torch.Tensor):
        yield value
    elif isinstance(value, tuple | list):
        for part in value:
            yield from tensors_in(part)
    elif isinstance(value, dict):
        yield from tensors_in(list(value.values()))


def map_tensors(value: Any, change: Any) -> Any:
    """The same arguments or results with each tensor changed."""
    if isinstance(value, torch.Tensor):
        return change(value)
    if isinstance(value, list):
        return [map_tensors(part, change) for part in value]
    if type(value) is tuple:
        return tuple(map_tensors(part, change) for part in value)
    if isinstance(value, tuple) and hasattr(value, "_fields"):
        return type(value)(*(map_tensors(part, change) for part in value))
    if isinstance(value, dict):
        return {name: map_tensors(part, change) for name, part in value.items()}
    return value


def means_gpu(device: object) -> bool | None:
    """Whether a word, a number or a device means the GPU; None for what names neither it nor the CPU."""
    if isinstance(device, bool):
        return None
    if isinstance(device, int):
        choose_gpu(device)
        return True
    if isinstance(device, str):
        kind, _, number = device.partition(":")
        if kind not in ("cuda", "cpu") or (number and not number.isdigit()):
            return None
        device = torch.device(device)
    if not isinstance(device, torch.device) or device.type not in ("cuda", "cpu"):
        return None
    if device.type == "cuda":
        choose_gpu(gpu_number() if device.index is None else device.index)
    return bool(device.type == "cuda")


MOST_BYTES = 256 << 20


class KeptMemory:
    """The latest tensors that were made."""

    def __init__(self) -> None:
        self._tensors: deque[Any] = deque()
        self._bytes = 0

    def keep(self, tensor: torch.Tensor) -> None:
        """Keep a tensor until many later ones have been made."""
        self._tensors.append(tensor)
        self._bytes += tensor.nbytes
        while self._bytes > MOST_BYTES:
            self._bytes -= self._tensors.popleft().nbytes


KEPT = KeptMemory()
