"""Register arrays: the private array of a fragment, and where each of its registers begins.

Matrix instructions name registers, so what a fragment is made of must be known while tracing: its array, its layout
and every offset between them.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from triptych.cute.memory.element_storage import storage_of
from triptych.cute.tensors.tensor import Tensor
from triptych.cute.tracing.errors import RegisterPlaceError
from triptych.kernel_ir.analysis.addresses import PrivatePlace, private_place
from triptych.kernel_ir.dialects.kernel_operations import producer
from triptych.layout import Layout
from triptych.layout.coordinates import all_indices
from triptych.metastage.trace.trace import place

_REGISTER_BYTES = 4


def array_of(tensor: Tensor, what: str) -> tuple[Any, int]:
    """The private array that a fragment lies in, and how many of its elements after the start the fragment begins."""
    found = private_place(tensor.pointer.ir_value())
    if found is not None:
        return found.array, _in_elements(tensor, found, what)
    raise RegisterPlaceError(
        f"which registers {what} lies in is not known while tracing",
        span=place(),
        found=str(tensor),
        expected="a part of a register tensor at coordinates that are known while tracing",
        instead="a loop that is written out (`range_constexpr`, `range(..., unroll_full=True)`)",
    )


def register_offsets(
    tensor: Tensor, start: int, modes: str, what: str, counts: Sequence[int], size: int = _REGISTER_BYTES
) -> list[int]:
    """Where each register begins in the array: registers of an instruction first, then its other two modes.

    `counts` are the extents of the three modes, the first in values; `modes` names the other two in errors. A register
    has `size` bytes. Elements narrower than a byte lie in an array of bytes, and so are counted bytes.
    """
    values, rows, columns = counts
    storage = storage_of(tensor.pointer.dtype)
    together = size * storage.group // storage.group_bytes
    layout = tensor.layout
    if not isinstance(layout, Layout) or not layout.is_static:
        raise RegisterPlaceError(
            f"the layout of {what} is not known while tracing", span=place(), found=str(tensor), expected="static modes"
        )
    parts = [_offsets(layout, mode) for mode in range(len(counts))]
    offsets = []
    for number in range(rows * columns):
        begin = start + parts[1][number % rows] + parts[2][number // rows]
        for first in range(0, values, together):
            register = [begin + offset for offset in parts[0][first : first + together]]
            if register[0] % together or register != list(range(register[0], register[0] + together)):
                raise _scattered(tensor, what, modes, (number % rows, number // rows), register)
            offsets.append(register[0] // storage.group)
    return offsets


def _offsets(layout: Layout, mode: int) -> tuple[int, ...]:
    """What coordinates of one mode add to the index; a mode that the layout does not have adds nothing."""
    return all_indices(layout[mode].shape, layout[mode].stride) if mode < len(layout) else (0,)


def _scattered(
    tensor: Tensor, what: str, modes: str, coordinate: tuple[int, int], register: list[int]
) -> RegisterPlaceError:
    where = ", ".join(f"{mode} {index}" for mode, index in zip(modes, coordinate, strict=True))
    return RegisterPlaceError(
        f"the elements of a register of {what} do not lie side by side in the mode of values",
        span=place(),
        found=f"elements {register} of {tensor} for one register at {where}",
        expected=f"{len(register)} neighbours, the first at a multiple of {len(register)}",
        instead="registers made by make_fragment_A, make_fragment_B or make_fragment_C",
    )


def _in_elements(tensor: Tensor, where: PrivatePlace, what: str) -> int:
    storage = storage_of(tensor.pointer.dtype)
    if storage.group_bytes == where.element_bytes:
        return where.offset // storage.group_bytes * storage.group
    raise RegisterPlaceError(
        f"{what} is a view of registers of another size",
        span=place(),
        found=f"{tensor} in an array of {producer(where.array).attributes['elem_type'].value}",
        expected="a register tensor that was made with the element type of the instruction",
        instead="a register tensor of that type, and recast_tensor for the other view",
    )
