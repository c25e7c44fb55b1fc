"""Bulk copies of bytes side by side as a copy operation, which is one instruction of inline PTX."""

from __future__ import annotations

from triptych.cute.copies.atoms import CopyAtom, CopyOperands, CopyOperation
from triptych.cute.copies.instructions import require_memory
from triptych.cute.memory.address_spaces import AddressSpace
from triptych.cute.memory.pointers import Pointer
from triptych.cute.tensors.tensor import Tensor
from triptych.cute.tracing.errors import CopyInstructionError, CopyMemoryError
from triptych.frontends.ptx.bulk_copies import CHUNK
from triptych.frontends.ptx.inline import inline_ptx
from triptych.layout import Layout, coalesce, size
from triptych.metastage.trace.trace import place
from triptych.metastage.values.scalars import Int32
from triptych.support.dataclass import dataclass

_OPCODE = "cp.async.bulk.shared::cluster.global.mbarrier::complete_tx::bytes"


@dataclass(frozen=True, slots=True)
class CopyBulkG2SOp(CopyOperation):
    """Elements side by side from global into shared memory, by one thread; `mbar_ptr` counts their bytes."""

    def emit_whole(self, atom: CopyAtom, src: Tensor, dst: Tensor, operands: CopyOperands) -> bool:
        """One instruction for all."""
        require_memory(atom, "source", src, AddressSpace.gmem)
        require_memory(atom, "destination", dst, AddressSpace.smem)
        if not isinstance(operands.counter, Pointer) or operands.counter.memspace is not AddressSpace.smem:
            raise CopyMemoryError(
                "a bulk copy counts its bytes on an mbarrier",
                span=place(),
                found="no mbar_ptr" if operands.counter is None else f"mbar_ptr={operands.counter}",
                expected="mbar_ptr=... of Int64 in shared memory",
            )
        count = _bytes_side_by_side(src)
        if count != _bytes_side_by_side(dst):
            raise _not_side_by_side(f"{src} and {dst}")
        given = [dst.pointer, src.pointer, Int32(count), operands.counter]
        inline_ptx(f"{_OPCODE} [$0], [$1], $2, [$3];", "r,l,r,r", given)
        return True

    def emit(self, atom: CopyAtom, src: Tensor, dst: Tensor, index: int) -> None:
        """Emitted as a whole."""
        raise AssertionError("bulk copies are emitted as a whole")


def _bytes_side_by_side(tensor: Tensor) -> int:
    layout = tensor.layout
    flat = coalesce(layout) if isinstance(layout, Layout) else None
    count = size(layout)
    if flat is None or not isinstance(count, int) or flat not in (Layout(count, 1), Layout(1, 0)):
        raise _not_side_by_side(str(tensor))
    bits = count * tensor.element_type.width
    if bits % (8 * CHUNK) or tensor.pointer.alignment % CHUNK:
        raise _not_side_by_side(f"{bits} bits of {tensor}, aligned to {tensor.pointer.alignment} bytes")
    return bits // 8


def _not_side_by_side(found: str) -> CopyInstructionError:
    return CopyInstructionError(
        "a bulk copy moves bytes that lie side by side on both sides",
        span=place(),
        found=found,
        expected=f"as many elements on both sides, of step 1, at multiples of {CHUNK} bytes",
        instead="cpasync.CopyBulkTensorTileG2SOp() for tiles, or pointers with `assumed_align=16`",
    )
