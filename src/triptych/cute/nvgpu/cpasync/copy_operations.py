"""`cp.async`, the copy from global into shared memory that passes no registers, as an object."""

from __future__ import annotations

from dataclasses import dataclass

from triptych.cute.copies.async_copies import copy_asynchronously
from triptych.cute.copies.atoms import CopyAtom, CopyLayouts, CopyOperation
from triptych.cute.copies.errors import CopyInstructionError
from triptych.cute.memory.orders import LoadCacheMode
from triptych.cute.tensors.tensor import Tensor
from triptych.metastage.trace.trace import place
from triptych.metastage.values.scalars import Numeric

_CACHES = {LoadCacheMode.ALWAYS: "all", LoadCacheMode.GLOBAL: "global"}
_SIZES = {LoadCacheMode.ALWAYS: (32, 64, 128), LoadCacheMode.GLOBAL: (128,)}
"""Bits of the instructions. What only the common cache keeps moves as its widest accesses."""


@dataclass(frozen=True, slots=True)
class CopyG2SOp(CopyOperation):
    """Done when the group that it was committed in has been waited for: `cute.arch.cp_async_wait_group`."""

    cache_mode: LoadCacheMode = LoadCacheMode.ALWAYS

    def __post_init__(self) -> None:
        if self.cache_mode not in _CACHES:
            raise CopyInstructionError(
                "no such cache mode of an asynchronous copy",
                span=place(),
                found=str(self.cache_mode),
                expected=" or ".join(map(str, _CACHES)),
            )

    @property
    def cached_in(self) -> str:
        """The cache mode in the word of the operation."""
        return _CACHES[self.cache_mode]

    def layouts(self, dtype: type[Numeric], num_bits_per_copy: int) -> CopyLayouts:
        """What it moves of elements of a type: 4, 8 or 16 bytes for each thread."""
        sizes = _SIZES[self.cache_mode]
        if num_bits_per_copy not in sizes:
            raise CopyInstructionError(
                f"no asynchronous copy moves {num_bits_per_copy} bits",
                span=place(),
                found=f"num_bits_per_copy={num_bits_per_copy} for {self.cache_mode}",
                expected=" or ".join(map(str, sizes)),
                instead="" if num_bits_per_copy not in (32, 64) else "LoadCacheMode.ALWAYS",
            )
        return CopyOperation.layouts(self, dtype, num_bits_per_copy)

    def emit(self, atom: CopyAtom, src: Tensor, dst: Tensor, index: int) -> None:
        """One asynchronous copy."""
        copy_asynchronously(self.cached_in, atom, src, dst, index)
