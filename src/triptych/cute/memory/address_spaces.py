"""The memories of a kernel: what a pointer may point into, and the MLIR pointer type of each."""

from __future__ import annotations

from enum import Enum

from triptych.ir.types import CLUSTER_SPACE, GLOBAL_SPACE, PRIVATE_SPACE, SHARED_SPACE, TENSOR_SPACE, pointer_to


class AddressSpace(Enum):
    """A memory by its number in the kernel's IR."""

    generic = 0
    gmem = GLOBAL_SPACE
    smem = SHARED_SPACE
    rmem = PRIVATE_SPACE
    tmem = TENSOR_SPACE
    dsmem = CLUSTER_SPACE

    @property
    def pointer_type(self) -> str:
        """The MLIR type of a pointer into it; registers are the stack of a thread, which every pointer reaches, and
        addresses of tensor memory are numbers."""
        if self is AddressSpace.tmem:
            return "i32"
        return pointer_to(self.value) if self in _NUMBERED else "!llvm.ptr"

    @property
    def is_private(self) -> bool:
        """Whether no other thread sees it, so that a part of a byte may be written."""
        return self is AddressSpace.rmem


_NUMBERED = (AddressSpace.gmem, AddressSpace.smem, AddressSpace.dsmem)
