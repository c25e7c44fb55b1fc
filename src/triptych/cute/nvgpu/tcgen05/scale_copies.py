"""Copies of block scales from shared memory to tensor memory (`tcgen05.cp`), by whole chunks of 512 bytes.

A chunk has the scales of 128 rows, four of each. In shared memory chunks lie one after the other; in tensor memory each
takes four columns, in all four quarters of the lanes. One thread copies them, in order with products.
"""

from __future__ import annotations

from typing import Any

from triptych.cute.copies.atoms import CopyAtom, CopyOperands, CopyOperation
from triptych.cute.copies.instructions import require_memory
from triptych.cute.copies.tiled import TiledCopy
from triptych.cute.memory.address_spaces import AddressSpace
from triptych.cute.nvgpu.cta_groups import CtaGroup
from triptych.cute.tensors.tensor import Tensor
from triptych.cute.tracing.device import device_trace
from triptych.cute.tracing.errors import CopyInstructionError, CopyLayoutError
from triptych.kernel_ir.dialects.block_scales import CHUNK, CHUNK_ROWS
from triptych.kernel_ir.dialects.tensor_memory import LANES, WARP_LANES
from triptych.kernel_ir.dialects.tile import TMEM_COPY
from triptych.layout import Layout, logical_divide, rank, size
from triptych.layout.layout import from_modes
from triptych.metastage.trace.trace import place
from triptych.support.dataclass import dataclass

_GROUPS = LANES // WARP_LANES


@dataclass(frozen=True, slots=True)
class Cp4x32x128bOp(CopyOperation):
    """32 rows of 128 bits, to all four quarters of the lanes."""

    cta_group: CtaGroup = CtaGroup.ONE

    def emit_whole(self, atom: CopyAtom, src: Tensor, dst: Tensor, operands: CopyOperands) -> bool:
        """A copy of each chunk."""
        require_memory(atom, "source", src, AddressSpace.smem)
        require_memory(atom, "destination", dst, AddressSpace.tmem)
        trace = device_trace()
        attributes = {"ctas": trace.builder.integer("i64", self.cta_group.value)}
        for number in range(_chunks(src)):
            from_, to = (each.pointer + each.offset((0, number)) for each in map(_as_chunks, (src, dst)))
            trace.operation(TMEM_COPY, (to.ir_value(), from_.ir_value()), attributes=attributes)
        return True

    def emit(self, atom: CopyAtom, src: Tensor, dst: Tensor, index: int) -> None:
        """Emitted as a whole."""
        raise AssertionError("copies of scales are emitted as a whole")


def _chunks(tensor: Tensor) -> int:
    count: Any = size(tensor.layout)
    return int(count) // CHUNK


def _as_chunks(tensor: Tensor) -> Tensor:
    """(a chunk, chunks)."""
    layout = tensor.layout
    return Tensor(tensor.iterator, from_modes((layout[0], from_modes([layout[i] for i in range(1, rank(layout))]))))


@dataclass(frozen=True, repr=False)
class ScaleCopy(TiledCopy):
    """The copy of a tile's scales by one thread."""

    def get_slice(self, thr_idx: object) -> ScaleCopy:  # type: ignore[override]
        """The part of a CTA: all of it."""
        return self

    def partition_S(self, src: Tensor) -> Tensor:
        """Scales in shared memory as (a chunk, 1, chunks along M or N, chunks along K, stages)."""
        return _partitioned(src)

    def partition_D(self, dst: Tensor) -> Tensor:
        """Scales in tensor memory as (a chunk, 1, chunks along M or N, chunks along K)."""
        return _partitioned(dst)


def _partitioned(tensor: Tensor) -> Tensor:
    """Of a layout ((rows, scales of an instruction), 1, instructions along K, stages). Rows are ((32, 4), chunks) or
    (8, 4, 4) in shared memory, and ((32, groups of 32), quarters) in tensor memory."""
    shape, stride = tensor.layout.shape, tensor.layout.stride
    if not (isinstance(shape, tuple) and len(shape) in (3, 4)):
        raise _no_scales(tensor)
    rows, row_strides = shape[0][0], stride[0][0]
    along_k = tensor.layout[2]
    if isinstance(shape[2], tuple):
        along_k = along_k[1]
    if tensor.memspace is AddressSpace.tmem:
        (_, groups), _ = rows
        (_, step), _ = row_strides
        chunks = Layout(groups // _GROUPS, step * _GROUPS)
    else:
        chunks = logical_divide(tensor.layout[0][0], CHUNK_ROWS)[1]
    modes = [Layout(CHUNK, 0), Layout(1, 0), chunks, along_k]
    if len(shape) == 4:
        modes.append(tensor.layout[3])
    return Tensor(tensor.iterator, from_modes(modes))


def _no_scales(tensor: Tensor) -> CopyLayoutError:
    return CopyLayoutError(
        "these are no block scales",
        span=place(),
        found=str(tensor),
        expected="a layout of blockscaled_layout.make_smem_layout_sfa or make_tmem_layout_sfa, without zero strides",
        instead="cute.filter_zeros(scales)",
    )


def make_s2t_copy(atom: CopyAtom, tmem_tensor: Tensor) -> TiledCopy:
    """The copy of scales of a tile to tensor memory."""
    if not isinstance(atom.op, Cp4x32x128bOp):
        raise CopyInstructionError(
            "this is no copy from shared memory to tensor memory",
            span=place(),
            found=repr(atom.op),
            expected="tcgen05.Cp4x32x128bOp(...)",
        )
    return ScaleCopy(atom, Layout((1, CHUNK), (0, 1)), (CHUNK,))


def get_s2t_smem_desc_tensor(atom: CopyAtom | TiledCopy, smem_tensor: Tensor) -> Tensor:
    """The same tensor: descriptors are made where it is copied."""
    return smem_tensor
