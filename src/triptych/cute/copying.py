"""Meta-stage, copies: one tensor's elements into another of the same shape, all of them or those a predicate allows.

Input: tensors whose first mode is what an instruction moves, ((of one instruction, instructions), …). Output: loads
and stores as wide as can be proven right; a predicate guards an instruction as a whole.
"""

from __future__ import annotations

from collections.abc import Iterator
from functools import partial
from typing import Any

from triptych.cute.copy_atoms import CopyAtom
from triptych.cute.current_trace import tracing
from triptych.cute.element_storage import storage_of
from triptych.cute.errors import TensorShapeError
from triptych.cute.integers import numbers
from triptych.cute.nvgpu.copy_operations import CacheEvictionPriority
from triptych.cute.tensors import Tensor, static_size
from triptych.cute.tiled_copies import TiledCopy
from triptych.hooks import ignore_values, no_values
from triptych.layout import AnyLayout, Layout, composition, size, text
from triptych.metastage.binding_time import Range
from triptych.metastage.scalars import Int8, Uint8
from triptych.metastage.tracing import place

MOST_UNROLLED = 64
"""Elements that are copied one by one in straight code; more are copied in a loop."""


def autovec_copy(src: Tensor, dst: Tensor) -> None:
    """Copy with the widest accesses that layouts and alignments allow on each side."""
    _require_same_shape(src, dst)
    if src.element_type is dst.element_type:
        src, dst = _as_bits(src), _as_bits(dst)
    dst.store(src.load())


def basic_copy(src: Tensor, dst: Tensor) -> None:
    """Copy element by element, whatever the layouts."""
    _require_same_shape(src, dst)
    count = size(src.layout)

    def copy(index: Any) -> None:
        dst[index] = src[index]

    if isinstance(count, int) and count <= MOST_UNROLLED:
        for index in range(count):
            copy(index)
        return
    tracing().hooks.for_(Range(numbers(count)), copy, (), (), no_values, ignore_values)


def basic_copy_if(pred: Tensor, src: Tensor, dst: Tensor) -> None:
    """Copy the elements whose predicate is true, one by one; the others stay what they are."""
    _require_same_shape(src, dst)
    _guarded(pred, src, dst, 1)


def copy(
    atom: CopyAtom | TiledCopy,
    src: Tensor,
    dst: Tensor,
    *,
    pred: Tensor | None = None,
    l1c_evict_priority: CacheEvictionPriority | None = None,
) -> None:
    """Copy what one thread holds, as the atom moves it.

    `pred` has a Boolean for each instruction, in the order (instructions of the first mode, other modes…), or one for
    each element; where it is false nothing is read and the destination stays what it is.
    """
    _require_same_shape(src, dst)
    used = atom.atom if isinstance(atom, TiledCopy) else atom
    if pred is not None:
        _guarded(pred, src, dst, used.together)
    elif used.num_bits_per_copy == 0:
        autovec_copy(src, dst)
    else:
        for part, place_of_it in _instructions(src, dst, used.together):
            autovec_copy(part, place_of_it)


def prefetch(atom: CopyAtom | TiledCopy, src: Tensor) -> None:
    """Say that a copy of `src` will follow soon. Changes no result; on the CPU it does nothing."""


def _guarded(pred: Tensor, src: Tensor, dst: Tensor, together: int) -> None:
    allowed, elements = size(pred.layout), static_size(src.layout, src)
    if allowed == elements:
        together = 1
    elif allowed * together != elements:
        raise TensorShapeError(
            "a predicate that fits neither the elements nor the instructions of a copy",
            span=place(),
            found=f"{text(pred.layout.shape)} predicates for {text(src.layout.shape)} elements, {together} at once",
            expected=f"{elements // together} predicates, one for each instruction, or {elements}",
        )
    for index, (part, place_of_it) in enumerate(_instructions(src, dst, together)):
        tracing().hooks.if_(pred[index], partial(autovec_copy, part, place_of_it), _nothing)


def _instructions(src: Tensor, dst: Tensor, together: int) -> Iterator[tuple[Tensor, Tensor]]:
    """Source and destination of each instruction: `together` elements, first coordinate fastest."""
    count = static_size(src.layout, src)
    if count % together:
        raise TensorShapeError(
            "a copy of part of an instruction",
            span=place(),
            found=f"the shape {text(src.layout.shape)}, {together} elements for each instruction",
            expected=f"a multiple of {together} elements",
        )
    parts = Layout((together, count // together), (1, together))
    first, second = (_arranged(tensor, parts) for tensor in (src, dst))
    for index in range(count // together):
        yield first.part((None, index)), second.part((None, index))


def _arranged(tensor: Tensor, order: Layout) -> Tensor:
    layout: AnyLayout = composition(tensor.layout, order)  # type: ignore[type-var]
    return Tensor(tensor.iterator, layout)


def _nothing() -> None:
    """The other side of a guard."""


def _as_bits(tensor: Tensor) -> Tensor:
    """Elements of one byte that are not integers are copied as bytes: their value does not matter."""
    storage = storage_of(tensor.pointer.dtype)
    if storage.unit != "i8" or storage.is_packed or storage.dtype in (Int8, Uint8):
        return tensor
    return Tensor(tensor.pointer.recast(Uint8, None), tensor.layout)


def _require_same_shape(src: Tensor, dst: Tensor) -> None:
    sizes = size(src.layout), size(dst.layout)
    if all(isinstance(count, int) for count in sizes) and sizes[0] != sizes[1]:
        raise TensorShapeError(
            "a copy between tensors of different sizes",
            span=place(),
            found=f"the shape {text(src.layout.shape)} into {text(dst.layout.shape)}",
            expected="tensors of the same shape",
        )
