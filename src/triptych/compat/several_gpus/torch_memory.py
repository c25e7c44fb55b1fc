"""Torch's process groups and symmetric memory on the CPU: `gloo` in the place of `nccl`, memory that ranks share.

Programs make symmetric memory by `torch.distributed._symmetric_memory`, whose functions all go through one class of
torch's; its static functions are replaced, so that every way to it is the same.
"""

from __future__ import annotations

import functools
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

import torch
import torch.distributed as dist
from torch._C._distributed_c10d import _SymmetricMemory
from torch.distributed import _symmetric_memory

from triptych.compat.several_gpus.shared_tensors import bytes_of, heap, is_rank, tensor_at
from triptych.ranks.errors import RankError
from triptych.ranks.group import join, make_folder
from triptych.ranks.heap import SymmetricHeap
from triptych.support.tracebacks import caller

_KEY = "triptych/ranks"
_SIGNAL_BYTES = 4096
_LIBRARY: list[Any] = []


class SymmetricMemory:
    """What `rendezvous` gives: the memory of every rank behind one tensor."""

    def __init__(self, memory: SymmetricHeap, offset: int, signals: int) -> None:
        self._heap, self._offset, self._signals = memory, offset, signals
        self.rank, self.world_size = memory.group.rank, memory.group.size
        self.buffer_size = memory.size_of(offset)
        self.offset = 0
        self.signal_pad_size = _SIGNAL_BYTES
        ranks = range(self.world_size)
        self.buffer_ptrs = [memory.address(rank, offset) for rank in ranks]
        self.signal_pad_ptrs = [memory.address(rank, signals) for rank in ranks]
        self.multicast_ptr = memory.multicast_address(offset)

    def get_buffer(self, rank: int, sizes: Sequence[int], dtype: torch.dtype, storage_offset: int = 0) -> Any:
        """A rank's memory as a tensor."""
        return self._part(self.buffer_ptrs[rank], self.buffer_size, sizes, dtype, storage_offset)

    def get_signal_pad(
        self, rank: int, sizes: Sequence[int] = (), dtype: torch.dtype = torch.uint32, storage_offset: int = 0
    ) -> Any:
        """A rank's flags as a tensor."""
        shape = sizes or (_SIGNAL_BYTES // dtype.itemsize,)
        return self._part(self.signal_pad_ptrs[rank], _SIGNAL_BYTES, shape, dtype, storage_offset)

    def _part(self, start: int, capacity: int, sizes: Sequence[int], dtype: torch.dtype, first: int) -> Any:
        begin = first * int(dtype.itemsize)
        if begin + bytes_of(sizes, dtype) > capacity:
            raise RankError(
                "a tensor is larger than the memory that ranks share",
                span=caller(),
                found=f"{tuple(sizes)} of {dtype} from element {first} on",
                expected=f"at most {capacity:,} bytes",
            )
        return tensor_at(start + begin, sizes, dtype)

    def barrier(self, channel: int = 0, timeout_ms: int = 0) -> None:
        """Wait for all ranks."""
        self._heap.group.barrier(f"`barrier(channel={channel})` of symmetric memory")


# what stands in the place of functions of torch ---------------------------------------------------------------------
def _empty(
    size: Sequence[int],
    stride: Sequence[int],
    dtype: torch.dtype,
    device: object,
    group_name: str | None = None,
    alloc_id: int | None = None,
) -> Any:
    """Memory of this rank that others can reach."""
    memory = _heap_of_world()
    offset = memory.allocate(bytes_of(size, dtype, stride))
    return tensor_at(memory.address(memory.group.rank, offset), size, dtype, stride)


def _rendezvous(tensor: torch.Tensor, group_name: str | None = None) -> SymmetricMemory:
    """The same memory of all ranks; every rank comes here."""
    memory = _heap_of_world()
    world = dist.group.WORLD
    if group_name is not None and world is not None and group_name != world.group_name:
        raise RankError(
            "symmetric memory is shared by all ranks together",
            span=caller(),
            found=f"the group {group_name!r}",
            expected="`dist.group.WORLD`",
        )
    offset = memory.start_of(tensor.data_ptr())
    if offset is None:
        raise RankError(
            "this tensor is not in memory that ranks share",
            span=caller(),
            found=f"a tensor at {tensor.data_ptr():#x}",
            expected="a tensor of `torch.distributed._symmetric_memory.empty`",
        )
    memory.group.agree("the place of symmetric memory", offset)
    return SymmetricMemory(memory, offset, _signals_of(memory))


_SIGNALS: dict[int, int] = {}


def _signals_of(memory: SymmetricHeap) -> int:
    """The offset of the flags, which all handles of a group share; all ranks come here together."""
    if id(memory) not in _SIGNALS:
        _SIGNALS[id(memory)] = memory.allocate(_SIGNAL_BYTES)
        memory.group.agree("the place of flags", _SIGNALS[id(memory)])
    return _SIGNALS[id(memory)]


def _is_shared(tensor: torch.Tensor) -> bool:
    return is_rank() and heap().start_of(tensor.data_ptr()) is not None


def _has_multicast(device_type: object, device_index: int) -> bool:
    return True


def _heap_of_world() -> SymmetricHeap:
    """The memory of this rank of torch's default group, which it joins first."""
    if not is_rank():
        if not dist.is_initialized():
            raise RankError(
                "symmetric memory needs a process group",
                span=caller(),
                expected="`torch.distributed.init_process_group` before",
            )
        store, rank = dist.distributed_c10d._get_default_store(), dist.get_rank()
        if rank == 0:
            store.set(_KEY, str(make_folder()))
        join(Path(store.get(_KEY).decode()), rank, dist.get_world_size())
    return heap()


def _all_reduce(tensor: torch.Tensor, reduce_op: str, group_name: str) -> Any:
    """`torch.ops.symm_mem.multimem_all_reduce_`"""
    dist.all_reduce(tensor, op=getattr(dist.ReduceOp, reduce_op.upper()))
    return tensor


def _on_gloo(initialize: Callable[..., Any]) -> Callable[..., Any]:
    """`init_process_group` of any backend."""

    @functools.wraps(initialize)
    def wrapped(backend: str | None = None, *args: object, device_id: object = None, **kwargs: object) -> Any:
        return initialize("gloo" if backend is None else _without_nccl(backend), *args, **kwargs)

    return wrapped


def _without_nccl(backend: str) -> str:
    """The same for the CPU, which all tensors are on."""
    return backend if backend not in ("nccl",) and "nccl" not in backend.split(":")[-1] else "gloo"


def _new_group_on_gloo(make: Callable[..., Any]) -> Callable[..., Any]:
    @functools.wraps(make)
    def wrapped(*args: object, backend: str | None = None, device_id: object = None, **kwargs: object) -> Any:
        return make(*args, backend=None if backend is None else _without_nccl(backend), **kwargs)

    return wrapped


def replacements() -> list[tuple[Any, str, Any]]:
    """What is to stand where: a namespace of torch, a name in it, and what it is meanwhile."""
    if not _LIBRARY:
        _LIBRARY.append(torch.library.Library("symm_mem", "IMPL", "CPU"))
        _LIBRARY[0].impl("multimem_all_reduce_", _all_reduce)
    groups = {"init_process_group": _on_gloo, "new_group": _new_group_on_gloo}
    found = [
        (module, name, change(getattr(dist, name)))
        for module in (dist, dist.distributed_c10d)
        for name, change in groups.items()
    ]
    of_memory: dict[str, Any] = {
        "empty_strided_p2p": _empty,
        "rendezvous": _rendezvous,
        "is_symm_mem_tensor": _is_shared,
        "has_multicast_support": _has_multicast,
    }
    found += [(_SymmetricMemory, name, staticmethod(function)) for name, function in of_memory.items()]
    return [*found, (_symmetric_memory, "_should_use_implicit_mempool", lambda: False)]
