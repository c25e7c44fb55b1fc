"""Meta-stage, the operands of copy instructions: tensors that must lie as the instruction moves them.

Input: tensors (values of an instruction, instructions). Output: addresses for the instruction, or an error that says
which of the two tensors is wrong and what to write.
"""

from __future__ import annotations

import math
from typing import Any

from triptych.cute.copies.atoms import CopyAtom
from triptych.cute.copies.errors import CopyAlignmentError, CopyLayoutError, CopyMemoryError
from triptych.cute.memory.access import accessed
from triptych.cute.memory.address_spaces import AddressSpace
from triptych.cute.tensors.tensor import Tensor, static_size
from triptych.layout import ComposedLayout, Int, Swizzle, coalesce, divisibility
from triptych.metastage.trace.trace import place


def require_memory(atom: CopyAtom, role: str, tensor: Tensor, space: AddressSpace) -> None:
    """Refuse a tensor in another memory than the instruction accesses, or of elements of another size."""
    if tensor.memspace is not space:
        raise CopyMemoryError(
            f"{atom} has its {role} in {space.name}",
            span=place(),
            found=f"the {role} {tensor}",
            expected=f"a tensor in {space.name}",
            instead="nvgpu.CopyUniversalOp(), which copies between any two memories",
        )
    if tensor.pointer.dtype.width != atom.value_type.width:
        raise CopyMemoryError(
            f"{atom} moves elements of {atom.value_type.width} bits",
            span=place(),
            found=f"the {role} {tensor}",
            expected=f"elements of {atom.value_type.width} bits",
            instead="an atom of the element type of the tensor, or `cute.recast_tensor`",
        )


def row_address(atom: CopyAtom, role: str, tensor: Tensor, index: int, in_bytes: int) -> Any:
    """The address of what a thread gives instruction `index`, proven to be aligned and side by side."""
    offset = tensor.offset((0, index))
    _require_side_by_side(atom, role, tensor)
    known = _alignment(tensor, offset)
    if known % in_bytes:
        raise CopyAlignmentError(
            f"{atom} needs a {role} that is aligned to {in_bytes} bytes",
            span=place(),
            found=f"{known} bytes are known of the {role} {tensor}",
            expected=f"a pointer and offsets that are known to be multiples of {in_bytes} bytes",
            instead=_remedy(tensor, in_bytes),
        )
    return accessed(tensor.pointer, offset, in_bytes, in_bytes, tensor)


def word_offsets(atom: CopyAtom, role: str, tensor: Tensor, index: int, in_bytes: int) -> list[Int]:
    """Where the registers of instruction `index` begin in a tensor of them: each is elements side by side."""
    count, together = static_size(tensor.layout[0], tensor), in_bytes * 8 // tensor.pointer.dtype.width
    starts = [tensor.offset((first, index)) for first in range(0, count, together)]
    for first, start in zip(range(0, count, together), starts, strict=True):
        followers = [tensor.offset((first + value, index)) - start for value in range(together)]
        if followers != list(range(together)) or _alignment(tensor, start) % in_bytes:
            raise CopyLayoutError(
                f"{atom} moves registers of {together} elements",
                span=place(),
                found=f"the {role} {tensor}, where values {first} to {first + together - 1} are not one register",
                expected=f"elements side by side, {together} by {together}",
                instead="`make_fragment_A`, `make_fragment_B` or `make_fragment_like`, and `retile` of its result",
            )
    return starts


def _require_side_by_side(atom: CopyAtom, role: str, tensor: Tensor) -> None:
    """Refuse values of an instruction that do not follow one another; in swizzled layouts they are one stretch."""
    layout = tensor.layout
    values = coalesce(layout.outer[0] if isinstance(layout, ComposedLayout) else layout[0])
    count = static_size(values, tensor)
    follows = count == 1 or (isinstance(values.stride, int) and values.stride == 1)
    if isinstance(layout, ComposedLayout):
        inner = layout.known_inner
        follows = follows and isinstance(inner, Swizzle) and (1 << inner.base) % count == 0
    if not follows:
        raise CopyLayoutError(
            f"{atom} moves {count} elements that lie side by side",
            span=place(),
            found=f"the {role} {tensor}",
            expected=f"a first mode of {count} elements with stride 1",
            instead="threads and values along the mode with stride 1, or fewer bits for each copy",
        )


def _alignment(tensor: Tensor, offset: Int) -> int:
    """The bytes that the address is known to be a multiple of; a swizzle keeps stretches of 2**base bytes."""
    pointer = tensor.pointer
    known = math.gcd(pointer.alignment, divisibility(offset) * pointer.dtype.width // 8)
    return known if pointer.swizzle is None else math.gcd(known, 1 << pointer.swizzle.base)


def _remedy(tensor: Tensor, in_bytes: int) -> str:
    pointer = tensor.pointer
    if pointer.swizzle is not None and (1 << pointer.swizzle.base) % in_bytes:
        return f"a swizzle that keeps {in_bytes} bytes together: make_swizzle(b, {in_bytes.bit_length() - 1}, s)"
    if pointer.alignment % in_bytes == 0:
        return "strides and offsets that are known multiples, such as `cute.assume(n, divby=...)`"
    if tensor.memspace is AddressSpace.smem:
        return f"byte_alignment={in_bytes} where the shared memory is allocated"
    return f"`from_dlpack(array, assumed_align={in_bytes})`, or `pointer.align({in_bytes})` where that holds"
