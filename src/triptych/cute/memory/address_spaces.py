"""The memories of a kernel: what a pointer may point into, and the MLIR pointer type of each."""

from __future__ import annotations

from enum import Enum


class AddressSpace(Enum):
    """A memory by the number it has in NVIDIA's instruction set."""

    generic = 0
    gmem = 1
    smem = 3
    rmem = 5
    tmem = 6

    @property
    def pointer_type(self) -> str:
        """The MLIR type of a pointer into it; registers are the stack of a thread, which every pointer reaches."""
        return f"!llvm.ptr<{self.value}>" if self in _NUMBERED else "!llvm.ptr"

    @property
    def is_private(self) -> bool:
        """Whether no other thread sees it, so that a part of a byte may be written."""
        return self is AddressSpace.rmem


_NUMBERED = (AddressSpace.gmem, AddressSpace.smem, AddressSpace.tmem)
