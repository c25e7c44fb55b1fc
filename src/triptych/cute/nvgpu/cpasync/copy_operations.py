"""Asynchronous copies as objects: global to shared memory without registers (cp.async), tiles of tensors (TMA)."""

from __future__ import annotations

from typing import Any

from triptych.cute.copies.atoms import CopyAtom, CopyLayouts, CopyOperands, CopyOperation
from triptych.cute.copies.instructions import copy_asynchronously, require_memory
from triptych.cute.copies.tma_atoms import TmaAtom
from triptych.cute.copies.tma_copies import emit_tma_load, emit_tma_prefetch, emit_tma_store
from triptych.cute.memory.address_spaces import AddressSpace
from triptych.cute.memory.hints import LoadCacheMode
from triptych.cute.memory.pointers import Pointer
from triptych.cute.nvgpu.cta_groups import CtaGroup
from triptych.cute.tensors.reduction import ReductionOp
from triptych.cute.tensors.tensor import Tensor
from triptych.cute.tracing.device import device_trace
from triptych.cute.tracing.errors import CopyInstructionError, CopyMemoryError
from triptych.kernel_ir.dialects.simt import STORE_ASYNC
from triptych.layout import size
from triptych.metastage.trace.trace import place
from triptych.metastage.values.scalars import BFloat16, Float16, Float32, Int32, Int64, Numeric, Uint32, Uint64
from triptych.support.dataclass import dataclass

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

    def emit_guarded(self, atom: CopyAtom, src: Tensor, dst: Tensor, index: int, allowed: object) -> bool:
        """The instruction itself takes how many bytes it reads, and fills the rest with zeros."""
        copy_asynchronously(self.cached_in, atom, src, dst, index, allowed)
        return True


_INTEGERS: tuple[type[Numeric], ...] = (Uint32, Int32, Uint64, Int64)
_REDUCED: dict[ReductionOp, tuple[type[Numeric], ...]] = {
    ReductionOp.ADD: (Uint32, Int32, Uint64, Float16, BFloat16, Float32),
    ReductionOp.MIN: (*_INTEGERS, Float16, BFloat16),
    ReductionOp.MAX: (*_INTEGERS, Float16, BFloat16),
    ReductionOp.INC: (Uint32,),
    ReductionOp.DEC: (Uint32,),
    **dict.fromkeys((ReductionOp.AND, ReductionOp.OR, ReductionOp.XOR), _INTEGERS),
}


class TmaCopyOp(CopyOperation):
    """What all of them have in common: an atom of theirs has a tensor map."""

    __slots__ = ()

    @property
    def shares_boxes(self) -> bool:
        """Whether several blocks may load a part of each box for all of them."""
        return False

    def check_type(self, dtype: type[Numeric]) -> None:
        """Refuse elements that the copy cannot compute with."""

    def _to_ir(self) -> TmaCopyOp:
        """What builder calls take for it (`cutlass._mlir.dialects.cute_nvgpu`): itself."""
        return self

    def emit(self, atom: CopyAtom, src: Tensor, dst: Tensor, index: int) -> None:
        """There is none without a tensor map."""
        raise _no_map(self)

    def emit_prefetch(self, atom: CopyAtom, src: Tensor) -> bool:
        """One prefetch for each box."""
        emit_tma_prefetch(_tma_atom(self, atom), src)
        return True


@dataclass(frozen=True, slots=True)
class CopyBulkTensorTileG2SOp(TmaCopyOp):
    """Tiles from global into shared memory; done when an mbarrier has counted their bytes."""

    cta_group: CtaGroup = CtaGroup.ONE

    def emit_whole(self, atom: CopyAtom, src: Tensor, dst: Tensor, operands: CopyOperands) -> bool:
        """One load for each box."""
        emit_tma_load(_tma_atom(self, atom), src, dst, operands, False, pair=_is_pair(self.cta_group))
        return True


@dataclass(frozen=True, slots=True)
class CopyBulkTensorTileG2SMulticastOp(TmaCopyOp):
    """The same into several blocks of a cluster, each of which loads a part for all."""

    cta_group: CtaGroup = CtaGroup.ONE

    @property
    def shares_boxes(self) -> bool:
        """Each block of a mask loads its part of a box for all of them."""
        return True

    def emit_whole(self, atom: CopyAtom, src: Tensor, dst: Tensor, operands: CopyOperands) -> bool:
        """One load for each box."""
        emit_tma_load(_tma_atom(self, atom), src, dst, operands, True, pair=_is_pair(self.cta_group))
        return True


@dataclass(frozen=True, slots=True)
class CopyBulkTensorTileS2GOp(TmaCopyOp):
    """Tiles from shared into global memory; done when their bulk group has been waited for."""

    def emit_whole(self, atom: CopyAtom, src: Tensor, dst: Tensor, operands: CopyOperands) -> bool:
        """One store for each box."""
        emit_tma_store(_tma_atom(self, atom), src, dst, operands, "store")
        return True


@dataclass(frozen=True, slots=True)
class CopyReduceBulkTensorTileS2GOp(TmaCopyOp):
    """Tiles of shared memory joined with what is in global memory, element by element, each at once."""

    reduction_kind: ReductionOp = ReductionOp.ADD

    def check_type(self, dtype: type[Numeric]) -> None:
        """Memory joins elements of some types."""
        kinds = _REDUCED.get(self.reduction_kind, ())
        if dtype not in kinds:
            raise CopyInstructionError(
                f"no TMA copy has {self.reduction_kind.name} of {dtype.__name__}",
                span=place(),
                found=f"{dtype.__name__}",
                expected=", ".join(kind.__name__ for kind in kinds) or "ADD, MIN, MAX, INC, DEC, AND, OR or XOR",
            )

    def emit_whole(self, atom: CopyAtom, src: Tensor, dst: Tensor, operands: CopyOperands) -> bool:
        """One reduction for each box."""
        emit_tma_store(_tma_atom(self, atom), src, dst, operands, self.reduction_kind.value)
        return True


@dataclass(frozen=True, slots=True)
class CopyDsmemStoreOp(CopyOperation):
    """Registers stored into the shared memory of another block, each counted on an mbarrier of that block."""

    def emit_whole(self, atom: CopyAtom, src: Tensor, dst: Tensor, operands: CopyOperands) -> bool:
        """One store for each element."""
        require_memory(atom, "destination", dst, AddressSpace.dsmem)
        counter = operands.counter
        if not isinstance(counter, Pointer) or counter.memspace is not AddressSpace.dsmem:
            raise CopyMemoryError(
                "a store into another block counts its bytes on an mbarrier of that block",
                span=place(),
                found="no mbar_ptr" if counter is None else f"mbar_ptr={counter}",
                expected="mbar_ptr=cute.arch.map_dsmem_ptr(barrier, rank)",
            )
        trace = device_trace()
        count: Any = size(src.layout)
        for index in range(count):
            there = (dst.pointer + dst.offset(index)).ir_value()
            trace.operation(STORE_ASYNC, (there, src[index].ir_value(), counter.ir_value()))
        return True

    def emit(self, atom: CopyAtom, src: Tensor, dst: Tensor, index: int) -> None:
        """Emitted as a whole."""
        raise AssertionError("stores into other blocks are emitted as a whole")


def _is_pair(group: object) -> bool:
    """Whether it is two CTAs; programs may give a group of another enumeration of the same names."""
    return getattr(group, "name", None) == CtaGroup.TWO.name


def _tma_atom(operation: TmaCopyOp, atom: CopyAtom) -> TmaAtom:
    if not isinstance(atom, TmaAtom):
        raise _no_map(operation)
    return atom


def _no_map(operation: TmaCopyOp) -> CopyInstructionError:
    name = type(operation).__name__
    return CopyInstructionError(
        f"{name} needs a tensor map",
        span=place(),
        found=f"an atom of make_copy_atom({name}(), ...)",
        expected=f"one of cpasync.make_tiled_tma_atom({name}(), tensor, smem_layout, cta_tiler), made in host code",
    )
