"""Meta-stage, asynchronous copies from global into shared memory: one `simt.async_copy` each."""

from __future__ import annotations

from triptych.cute.copies.atoms import CopyAtom
from triptych.cute.copies.operands import require_memory, row_address
from triptych.cute.memory.address_spaces import AddressSpace
from triptych.cute.tensors.tensor import Tensor
from triptych.cute.tracing.current_trace import tracing
from triptych.cute.tracing.device import device_function
from triptych.kernel_ir.dialects.simt import ASYNC_COPY


@device_function
def copy_asynchronously(cached_in: str, atom: CopyAtom, src: Tensor, dst: Tensor, index: int) -> None:
    """Instruction `index` of tensors (values of an instruction, instructions)."""
    require_memory(atom, "source", src, AddressSpace.gmem)
    require_memory(atom, "destination", dst, AddressSpace.smem)
    in_bytes, trace = atom.num_bits_per_copy // 8, tracing()
    source = row_address(atom, "source", src, index, in_bytes)
    target = row_address(atom, "destination", dst, index, in_bytes)
    attributes = {
        "size": trace.builder.integer("i32", in_bytes),
        "cache": trace.builder.string(cached_in),
    }
    trace.operation(ASYNC_COPY, (target, source), attributes=attributes)
