"""MMA operands in shared memory (WGMMA, UMMA): layout atoms that are tiled to any shape, and views of slices.

Input: a partition (slice, slices along M or N, slices along K, further modes…) of a tensor in shared memory. Output: a
tensor on the same memory without its swizzle, whose first mode is one slice; a part of it is ordinary arithmetic.
"""

from __future__ import annotations

import enum
from collections.abc import Sequence
from typing import Any

from triptych.cute.memory.address_spaces import AddressSpace
from triptych.cute.memory.pointers import Pointer
from triptych.cute.mma.atoms import MmaOperation, Operand, misfit
from triptych.cute.tensors.layout_orders import OperandMajorMode
from triptych.cute.tensors.tensor import Tensor
from triptych.cute.tracing.eager import eager
from triptych.cute.tracing.errors import SharedOperandError
from triptych.kernel_ir.dialects.smem_operands import (
    CHUNK_BYTES,
    K_MAJOR,
    LARGEST_SWIZZLE,
    MN_MAJOR,
    WIDE_PIECES,
    smem_atom,
    smem_operand,
    swizzle_number,
)
from triptych.layout import ComposedLayout, Layout, SwizzleError, rank, recast_layout
from triptych.layout.layout import from_modes
from triptych.layout.swizzle import Swizzle, recast_swizzle
from triptych.metastage.trace.trace import place
from triptych.metastage.values.scalars import Numeric, numeric_class


def shared_fragment(
    op: MmaOperation, name: str, source: object, major: OperandMajorMode, wide_pieces: bool = False
) -> Tensor:
    """The view of a partition of A or B, under a swizzle of pieces of 16 bytes or (`wide_pieces`) of 32."""
    if not isinstance(source, Tensor) or source.memspace is not AddressSpace.smem:
        raise misfit(
            f"{name} of {op} is read from shared memory",
            str(source),
            f"a partition of a tensor in shared memory (partition_{name})",
        )
    pointer = source.pointer
    width = (op.a_dtype if name == "A" else op.b_dtype).width
    element = max(1, width // 8)
    swizzles = (WIDE_PIECES,) if wide_pieces else range(LARGEST_SWIZZLE + 1)
    layout, number = _plain(source, width)
    slice_ = layout[0]
    if not slice_.is_static or rank(slice_) != 2:
        raise misfit(f"a slice of {name} is not known while tracing", str(source), f"what partition_{name} has made")
    wanted = K_MAJOR if major is OperandMajorMode.K else MN_MAJOR
    of_bytes = slice_ if width >= 8 else recast_layout(8, width, slice_)
    operand = None if number is None or number not in swizzles else smem_operand(of_bytes, element, wanted, number)
    if operand is None:
        atoms = [smem_atom(wanted, one, 8 * element) for one in reversed(swizzles)]
        raise _does_not_lie_so(op, name, source, slice_, wanted, atoms)
    _require_alignment(name, pointer)
    view = from_modes((Layout(1, 0), *(layout[mode] for mode in range(1, rank(layout)))))
    return Tensor(pointer.sliced(operand), view)


def keeps_wide_pieces(major: OperandMajorMode, width: int) -> bool:
    """Whether UMMA reads an operand of elements of `width` bits only under the swizzle of pieces of 32 bytes."""
    return major is OperandMajorMode.MN and width == 32


def slices(operand: Operand) -> tuple[Any, list[int], list[int]]:
    """Of a view of shared memory: its pointer, how many bytes each slice is further, and how a slice lies."""
    pointer = operand.tensor.pointer
    lies = pointer.operand
    assert lies is not None, "a fragment of shared memory"
    width, layout = operand.dtype.width, operand.tensor.layout
    if not layout.is_static:
        raise misfit(
            f"where the slices of {operand.name} are is not known while tracing", str(operand.tensor), "static modes"
        )
    _, rows, columns = operand.extents
    extents = (layout[mode] if mode < len(layout) else None for mode in (1, 2))
    first, second = (
        [0] if mode is None else [mode(i) * width // 8 for i in range(count)]
        for mode, count in zip(extents, (rows, columns), strict=True)
    )
    places = [along + across for across in second for along in first]
    return pointer.ir_value(), places, [lies.major, lies.swizzle, lies.leading, lies.stride]


def _plain(source: Tensor, width: int) -> tuple[Layout, int | None]:
    """The layout without its swizzle, and the number of the swizzle of byte addresses; None for any other swizzle."""
    layout, swizzle = source.layout, source.pointer.swizzle
    if isinstance(layout, ComposedLayout):
        inner = layout.inner
        if swizzle is not None or not isinstance(inner, Swizzle) or layout.offset != 0:
            return layout.outer, None
        try:
            swizzle = recast_swizzle(inner, 8, width)
        except SwizzleError:
            return layout.outer, None
        layout = layout.outer
    return layout, 0 if swizzle is None else swizzle_number(swizzle)


def _require_alignment(name: str, pointer: Pointer) -> None:
    """Addresses are counted in chunks. Swizzles are of absolute addresses, so patterns begin where they begin."""
    if pointer.alignment % CHUNK_BYTES == 0:
        return
    raise SharedOperandError(
        f"{name} may not begin at a whole chunk of {CHUNK_BYTES} bytes",
        span=place(),
        found=str(pointer),
        expected=f"memory aligned to {CHUNK_BYTES} bytes, or to the pattern of its swizzle",
        instead="cute.struct.Align[..., 1024], or byte_alignment=1024",
    )


def _does_not_lie_so(
    op: object, name: str, source: Tensor, slice_: Layout, major: int, atoms: Sequence[object]
) -> SharedOperandError:
    contiguous = "K" if major == K_MAJOR else ("M" if name == "A" else "N")
    swizzle = source.pointer.swizzle
    return SharedOperandError(
        f"no instruction reads {name} as it lies in shared memory",
        span=place(),
        found=f"the slice {slice_} of {source.layout} under {swizzle or 'no swizzle'} of byte addresses",
        expected=f"for {op}, which takes {name} contiguous along {contiguous}: tiles of one of "
        + ", ".join(map(str, atoms)),
        instead="tile_to_shape(make_smem_layout_atom(...), ...), with memory laid out by "
        "`get_tensor(layout.outer, swizzle=layout.inner)`",
    )


class SmemLayoutAtomKind(enum.Enum):
    """Which mode is contiguous, and the bytes of it that a swizzle spreads over the banks (INTER: none), 16 by 16 or
    (32B) 32 by 32."""

    MN_INTER = (MN_MAJOR, 0)
    MN_SW32 = (MN_MAJOR, 1)
    MN_SW64 = (MN_MAJOR, 2)
    MN_SW128 = (MN_MAJOR, 3)
    MN_SW128_32B = (MN_MAJOR, WIDE_PIECES)
    K_INTER = (K_MAJOR, 0)
    K_SW32 = (K_MAJOR, 1)
    K_SW64 = (K_MAJOR, 2)
    K_SW128 = (K_MAJOR, 3)


@eager
def make_smem_layout_atom(kind: SmemLayoutAtomKind, element_type: type[Numeric]) -> ComposedLayout:
    """The atom (M or N, K) in elements, under a swizzle of byte addresses: `tensor(layout.outer, swizzle=layout.inner)`
    lays memory out by it."""
    major, swizzle = kind.value
    return smem_atom(major, swizzle, numeric_class(element_type).width)
