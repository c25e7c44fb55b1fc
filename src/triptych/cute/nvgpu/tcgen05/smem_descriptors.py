"""Shared memory descriptors of UMMA with a second buffer (sm_103a), and layouts of whole instructions.

A row of a K-major operand is 128 bytes in a buffer. An instruction of K = 96 takes 48 bytes of it; what goes beyond the
end of the row is at the beginning of the same row in a second buffer, so that tiles need not be a multiple of K.
"""

from __future__ import annotations

from triptych.cute.memory.address_spaces import AddressSpace
from triptych.cute.memory.pointers import Pointer
from triptych.cute.mma.atoms import Operand, misfit
from triptych.cute.tracing.device import tracing
from triptych.cute.tracing.eager import eager
from triptych.cute.tracing.errors import SharedOperandError
from triptych.ir.handles import Value
from triptych.kernel_ir.dialects.smem_operands import K_MAJOR, byte_swizzle, smem_operand
from triptych.layout import AnyLayout, ComposedLayout, Layout, coalesce, rank, tile_to_shape, tiled_divide
from triptych.layout.composed import L, on_outer
from triptych.layout.layout import from_modes, modes
from triptych.metastage.trace.trace import place
from triptych.metastage.values.scalars import Int32, Uint8

_ROW_SWIZZLE = 3
"""The bits of the swizzle whose rows are 128 bytes."""


class SmemDescriptor(Pointer):
    """Where a slice begins that an instruction reads, how it lies, and how many bytes further its second buffer is."""

    __slots__ = ("second",)
    second: Int32

    def _with(self, value: object, **changes: object) -> SmemDescriptor:
        """The same second buffer."""
        plain = super()._with(value, **changes)
        made = SmemDescriptor(
            value, plain.dtype, plain.memspace, plain.alignment, allocation=plain.allocation, operand=plain.operand
        )
        made.second = self.second
        return made


def make_umma_smem_desc(
    src: Pointer, layout: AnyLayout, major: str, *, next_src: Pointer | None = None
) -> SmemDescriptor:
    """The descriptor of a slice (rows, 16 bytes) of `src`, whose rows go on at `next_src`."""
    if next_src is None or major != "k":
        raise misfit(
            "such a descriptor is of rows along K that go on in a second buffer",
            f"major {major!r}, next_src={next_src}",
            "major 'k' and next_src, the buffer after this one",
            "tiled_mma.make_fragment_A(tensor) for a slice that lies in one buffer",
        )
    slice_ = _slice(layout)
    for pointer in (src, next_src):
        if pointer.memspace is not AddressSpace.smem or pointer.swizzle != byte_swizzle(_ROW_SWIZZLE):
            raise _does_not_lie_so(str(pointer))
    operand = None if src.dtype is not Uint8 else smem_operand(slice_, 1, K_MAJOR, _ROW_SWIZZLE)
    if operand is None:
        raise _does_not_lie_so(f"{src.dtype.__name__}s by {slice_}")
    trace, start = tracing(), src.ir_value()
    ends = [trace.value("llvm.ptrtoint", (value,), "i64") for value in (next_src.ir_value(), start)]
    distance = trace.value("arith.trunci", (trace.value("arith.subi", ends, "i64"),), "i32")
    made = SmemDescriptor(start, Uint8, AddressSpace.smem, src.alignment, operand=operand)
    made.second = Int32.of(distance, trace.region)
    return made


def second_buffer(operand: Operand) -> Value:
    """How many bytes further the second buffer of A or B is."""
    pointer = operand.tensor.pointer
    if isinstance(pointer, SmemDescriptor):
        return pointer.second.ir_value()
    raise misfit(
        f"{operand.name} of a product of K = 96 lies in two buffers",
        str(operand.tensor),
        "a descriptor that says both",
        "cute.make_tensor(tcgen05.make_umma_smem_desc(a.iterator, a.layout, 'k', next_src=...), layout)",
    )


def _slice(layout: AnyLayout) -> Layout:
    """The layout (rows, bytes) of a slice, as a part of a tensor has it."""
    plain = layout.outer if isinstance(layout, ComposedLayout) else layout
    while rank(plain) == 1 and isinstance(plain.shape, tuple):
        plain = plain[0]
    if rank(plain) != 2 or not plain.is_static:
        raise _does_not_lie_so(str(layout))
    return plain


def _does_not_lie_so(found: str) -> SharedOperandError:
    return SharedOperandError(
        "no instruction of K = 96 reads this",
        span=place(),
        found=found,
        expected=f"bytes of shared memory in rows of 128, under {byte_swizzle(_ROW_SWIZZLE)}",
        instead="tcgen05.tile_to_mma_shape(tcgen05.make_smem_layout_atom(SmemLayoutAtomKind.K_SW128, Uint8), ...)",
    )


@eager
def tile_to_mma_shape(
    atom: ComposedLayout, mma_tile_shape: tuple[tuple[int, int], int, int, int], order: tuple[int, ...] | None = None
) -> AnyLayout:
    """The layout ((m, k), m tiles, k tiles, further modes) of a shape, tiled with an atom (m, k)."""
    (row, column), rows, columns, *further = mma_tile_shape
    whole = tile_to_shape(atom, (row * rows, column * columns, *further), order)
    return by_instructions(whole, (row, column))


def by_instructions(whole: L, instruction: tuple[int, int]) -> L:
    """The layout ((m, k), m tiles, k tiles, further modes) of (m, k, further modes), for instructions of (m, k).

    Further modes are one number each, of which an atom has none: programs compute with the stride of a stage.
    """
    divided = tiled_divide(whole, instruction)
    return on_outer(divided, lambda plain: from_modes((*modes(plain)[:3], *map(coalesce, modes(plain)[3:]))))
