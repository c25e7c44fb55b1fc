"""Copies by atoms: what one thread holds is divided among instructions, and each is emitted.

Input: tensors whose first mode is what an instruction moves, ((of one instruction, instructions), …). Output: one
instruction after the other; a predicate guards an instruction as a whole.
"""

from __future__ import annotations

from functools import partial
from typing import Any

from triptych.cute.copies.atoms import CopyAtom, CopyOperands
from triptych.cute.copies.autovec import autovec_copy, only_if, require_same_size
from triptych.cute.copies.errors import BoxCopyError
from triptych.cute.copies.tiled import TiledCopy
from triptych.cute.memory.cache_hints import Hints, hinted
from triptych.cute.memory.orders import CacheEvictionPriority
from triptych.cute.memory.pointers import Pointer
from triptych.cute.tensors.tensor import Tensor, static_size
from triptych.cute.tracing.cute_errors import TensorShapeError
from triptych.layout import AnyLayout, Layout, composition, size, text
from triptych.metastage.trace.trace import place
from triptych.metastage.values.scalars import Numeric


def copy(
    atom: CopyAtom | TiledCopy,
    src: Tensor,
    dst: Tensor,
    *,
    pred: Tensor | None = None,
    l1c_evict_priority: CacheEvictionPriority | None = None,
    tma_bar_ptr: Pointer | None = None,
    mcast_mask: Numeric | int | None = None,
    tma_desc_ptr: Pointer | None = None,
    cache_policy: int | None = None,
    loc: object = None,
    ip: object = None,
) -> None:
    """Copy what one thread holds, as the atom moves it.

    `pred` has a Boolean for each instruction, in the order (instructions of the first mode, other modes…), or one for
    each element that a thread moves alone; where it is false nothing is read and the destination stays what it is.
    `l1c_evict_priority` says the L1 eviction priority of what is accessed.

    Copies of boxes are called by whole warps, of which one lane makes them. A load counts its bytes on the mbarrier
    `tma_bar_ptr`, and with `mcast_mask` in every block of the cluster whose bit is set; `tma_desc_ptr` is a tensor map
    in memory, used in the place of the atom's own.
    """
    used = atom.atom if isinstance(atom, TiledCopy) else atom
    operands = CopyOperands(tma_bar_ptr, mcast_mask, tma_desc_ptr, cache_policy)
    if used.op.emit_whole(used, src, dst, operands):
        return
    if operands.given():
        raise BoxCopyError(
            f"{used} takes no {operands.given()[0]}",
            span=place(),
            found=f"{operands.given()[0]}=...",
            expected="an atom of `cpasync.make_tiled_tma_atom`",
        )
    with hinted(_hints(used, l1c_evict_priority)):
        _copy(used, src, dst, pred)


def _hints(atom: CopyAtom, priority: CacheEvictionPriority | None) -> Hints:
    return Hints(priority, atom.op.load_cache_mode, atom.memory_order, atom.memory_scope, atom.num_bits_per_copy)


def _copy(used: CopyAtom, src: Tensor, dst: Tensor, pred: Tensor | None) -> None:
    if used.num_bits_per_copy == 0 and used.op.is_divisible and pred is None:
        autovec_copy(src, dst)
        return
    read, written = used.values_read, used.values_written
    if pred is not None and used.op.is_divisible and size(pred.layout) == size(src.layout):
        read = written = 1
    count = _count(src, dst, read, written, used)
    if pred is not None:
        _require_predicates(pred, src, count, read)
    source, target = _arranged(src, read, count), _arranged(dst, written, count)
    for index in range(count):
        emit = partial(used.op.emit, used, source, target, index)
        emit() if pred is None else only_if(pred[index], emit)


def copy_atom_call(atom: CopyAtom, src: Tensor, dst: Tensor, *, pred: Tensor | None = None) -> None:
    """One instruction: the tensors hold what it moves, and no more."""
    for tensor, moved in ((src, atom.values_read), (dst, atom.values_written)):
        if size(tensor.layout) != moved:
            raise TensorShapeError(
                "not the values of one copy instruction",
                span=place(),
                found=f"the shape {text(tensor.layout.shape)}",
                expected=f"{moved} for {atom}",
                instead="cute.copy, which repeats the instruction",
            )
    copy(atom, src, dst, pred=pred)


# instructions -----------------------------------------------------------------------------------------------------
def _count(src: Tensor, dst: Tensor, read: int, written: int, atom: CopyAtom) -> int:
    """How many instructions a copy is."""
    if read == written:
        require_same_size(src, dst)
    counts = []
    for tensor, moved in ((src, read), (dst, written)):
        values = static_size(tensor.layout, tensor)
        if values % moved:
            raise TensorShapeError(
                "a copy of part of an instruction",
                span=place(),
                found=f"the shape {text(tensor.layout.shape)}, {moved} elements for each instruction",
                expected=f"a multiple of {moved} elements",
            )
        counts.append(values // moved)
    if counts[0] != counts[1]:
        raise TensorShapeError(
            "a copy between tensors of different numbers of instructions",
            span=place(),
            found=f"{text(src.layout.shape)}, {counts[0]} times {read}, into "
            f"{text(dst.layout.shape)}, {counts[1]} times {written}",
            expected=f"as many values on each side as {atom} moves",
            instead="the partitions of one tiled copy: partition_S and partition_D, or retile",
        )
    return counts[0]


def _require_predicates(pred: Tensor, src: Tensor, count: int, together: int) -> None:
    if size(pred.layout) == count:
        return
    raise TensorShapeError(
        "a predicate that fits neither the elements nor the instructions of a copy",
        span=place(),
        found=f"{text(pred.layout.shape)} predicates for {text(src.layout.shape)} elements, {together} at once",
        expected=f"{count} predicates, one for each instruction",
    )


def _arranged(tensor: Tensor, together: int, count: int) -> Tensor:
    """(values of an instruction, instructions), first coordinate fastest."""
    order: Any = Layout((together, count), (1, together))
    layout: AnyLayout = composition(tensor.layout, order)
    return Tensor(tensor.iterator, layout)
