"""Copies that every GPU has, as objects. On the CPU the three of them are the same."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

from triptych.cute.copies.atoms import CopyAtom, CopyLayouts, CopyOperation
from triptych.cute.copies.autovec import autovec_copy
from triptych.cute.memory.orders import CacheEvictionPriority, LoadCacheMode, MemoryOrder, MemoryScope
from triptych.cute.tensors.tensor import Tensor

__all__ = [
    "CacheEvictionPriority",
    "CopyG2ROp",
    "CopyLayouts",
    "CopyOperation",
    "CopyR2GOp",
    "CopyUniversalOp",
    "LoadCacheMode",
    "MemoryOrder",
    "MemoryScope",
    "PlainCopyOp",
]


class PlainCopyOp(CopyOperation):
    """A copy by loads and stores."""

    __slots__ = ()
    is_ordered: ClassVar[bool] = True
    is_divisible: ClassVar[bool] = True

    def emit(self, atom: CopyAtom, src: Tensor, dst: Tensor, index: int) -> None:
        """Loads and stores as wide as layouts and alignments allow."""
        autovec_copy(src.part((None, index)), dst.part((None, index)))


@dataclass(frozen=True, slots=True)
class CopyUniversalOp(PlainCopyOp):
    """An assignment between any two memories."""


@dataclass(frozen=True, slots=True)
class CopyG2ROp(PlainCopyOp):
    """A load from global memory into registers."""

    cache_mode: LoadCacheMode = LoadCacheMode.ALWAYS

    @property
    def load_cache_mode(self) -> LoadCacheMode:
        """As the program says."""
        return self.cache_mode


@dataclass(frozen=True, slots=True)
class CopyR2GOp(PlainCopyOp):
    """A store from registers into global memory."""
