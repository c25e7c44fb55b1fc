"""Tensor maps that one warp of a kernel keeps up to date, for kernels whose tensors only the run knows."""

from __future__ import annotations

import enum
from collections.abc import Sequence
from typing import Any

from triptych.cute.arch.async_copies import cp_async_bulk_commit_group, cp_async_bulk_wait_group
from triptych.cute.arch.atomics import fence_acq_rel_cta
from triptych.cute.arch.barriers import sync_warp
from triptych.cute.arch.indices import make_warp_uniform, warp_idx
from triptych.cute.arch.warp import elect_one
from triptych.cute.copies.atoms import CopyAtom
from triptych.cute.copies.dispatch import only_if
from triptych.cute.memory.address_spaces import AddressSpace
from triptych.cute.memory.pointers import Pointer
from triptych.cute.nvgpu.cpasync.tensor_maps import (
    copy_tensormap,
    cp_fence_tma_desc_release,
    fence_tma_desc_acquire,
    fence_tma_desc_release,
    in_space,
    update_tma_descriptor,
)
from triptych.cute.tensors.tensor import Tensor


class TensorMapUpdateMode(enum.Enum):
    """Where a kernel changes the descriptor of a tensor before it copies by it."""

    GMEM = enum.auto()
    SMEM = enum.auto()


class TensorMapManager:
    """Makes tensor maps in memory of those of atoms, and changes them, all by one warp."""

    def __init__(self, tensormap_update_mode: TensorMapUpdateMode, bytes_per_tensormap: int) -> None:
        self.tensormap_update_mode = tensormap_update_mode
        self.bytes_per_tensormap = bytes_per_tensormap

    def __repr__(self) -> str:
        return f"{type(self).__name__}({self.tensormap_update_mode}, {self.bytes_per_tensormap})"

    def get_tensormap_ptr(
        self,
        ptr: Pointer,
        address_space: AddressSpace = AddressSpace.gmem,
        *,
        loc: object = None,
        ip: object = None,
    ) -> Pointer:
        """The address of a tensor map as copies, or what changes maps, take it."""
        return in_space(ptr, address_space).align(self.bytes_per_tensormap)

    def init_tensormap_from_atom(
        self, copy_atom: CopyAtom, dst_ptr: Pointer, warp_id: int, *, loc: object = None, ip: object = None
    ) -> None:
        """Write the tensor map of an atom to memory, by one lane of a warp, which the others then know."""

        def write() -> None:
            with elect_one():
                copy_tensormap(copy_atom, dst_ptr)
            sync_warp()

        only_if(_warp() == warp_id, write)

    def fence_tensormap_initialization(self, *, loc: object = None, ip: object = None) -> None:
        """What follows maps that were written to global memory sees them."""
        if self.tensormap_update_mode is TensorMapUpdateMode.GMEM:
            fence_acq_rel_cta()

    def update_tensormap(
        self,
        tensor_gmem: Sequence[Tensor],
        tma_copy_atom: Sequence[CopyAtom],
        tensormap_gmem_ptr: Sequence[Pointer],
        warp_id: int,
        tensormap_smem_ptr: Sequence[Pointer | None],
        *,
        loc: object = None,
        ip: object = None,
    ) -> None:
        """Make tensor maps ones of other tensors, by one lane of a warp; copies that go by them first acquire them.

        The lane that changes a map is the one that stores boxes by it: it waits until none of those goes on.
        """
        in_shared = self.tensormap_update_mode is TensorMapUpdateMode.SMEM
        changed: Sequence[Any] = tensormap_smem_ptr if in_shared else tensormap_gmem_ptr

        def update() -> None:
            with elect_one():
                cp_async_bulk_commit_group()
                cp_async_bulk_wait_group(0, read=True)
                for tensor, atom, where in zip(tensor_gmem, tma_copy_atom, changed, strict=True):
                    update_tma_descriptor(atom, tensor, where)
            sync_warp()
            if not in_shared:
                fence_tma_desc_release()
                return
            for target, source in zip(tensormap_gmem_ptr, changed, strict=True):
                cp_fence_tma_desc_release(target, source)

        only_if(_warp() == warp_id, update)

    def fence_tensormap_update(self, tensormap_gmem_ptr: Pointer, *, loc: object = None, ip: object = None) -> None:
        """Copies that follow go by the tensor map as it was last changed."""
        fence_tma_desc_acquire(tensormap_gmem_ptr)


def _warp() -> Any:
    return make_warp_uniform(warp_idx())
