"""Copies and prefetches of tensors: what one thread holds is divided among instructions, and each is emitted.

The first mode of the tensors is what an instruction moves, ((of one instruction, instructions), …); a predicate guards
an instruction as a whole. Copies by loads and stores are as wide as can be proven right, or go element by element;
every other copy has this meaning too, where it has one. A prefetch brings the cache lines that a copy will read into
the cache that all of a GPU shares, one `simt.prefetch` for each.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator, Sequence
from functools import partial
from typing import Any

from triptych.cute.copies.atoms import CopyAtom, CopyOperands
from triptych.cute.copies.tiled import ThrCopy, TiledCopy
from triptych.cute.dynamic.traced_integers import numbers
from triptych.cute.memory.address_spaces import AddressSpace
from triptych.cute.memory.addresses import parted_offset, reached
from triptych.cute.memory.element_storage import storage_of
from triptych.cute.memory.hints import CacheEvictionPriority, Hints, hinted
from triptych.cute.memory.pointers import Pointer
from triptych.cute.tensors.tensor import Tensor, static_size
from triptych.cute.tracing.device import tracing
from triptych.cute.tracing.errors import BoxCopyError, CopyInstructionError, TensorShapeError
from triptych.hooks import ignore_values, no_values
from triptych.kernel_ir.dialects.simt import PREFETCH
from triptych.layout import AnyLayout, Int, Layout, composition, divisibility, size, text
from triptych.metastage.trace.trace import place
from triptych.metastage.values.binding_time import Range
from triptych.metastage.values.scalars import Int8, Numeric, Uint8

MOST_UNROLLED = 64
"""Elements that are copied one by one in straight code; more are copied in a loop."""


def autovec_copy(src: Tensor, dst: Tensor, *, l1c_evict_priority: CacheEvictionPriority | None = None) -> None:
    """Copy with the widest accesses that layouts and alignments allow on each side."""
    if l1c_evict_priority is not None:
        with hinted(Hints(l1c_evict_priority)):
            return autovec_copy(src, dst)
    require_same_size(src, dst)
    if src.element_type is dst.element_type:
        src, dst = _as_bits(src), _as_bits(dst)
    values = src.load()
    return dst.store(values if values.shape == dst.layout.shape else values.reshape(dst.layout.shape))


def basic_copy(src: Tensor, dst: Tensor) -> None:
    """Copy element by element, whatever the layouts."""
    require_same_size(src, dst)
    count = size(src.layout)

    def copy(index: object) -> None:
        dst[index] = src[index]

    if isinstance(count, int) and count <= MOST_UNROLLED:
        for index in range(count):
            copy(index)
        return
    tracing().hooks.for_(Range(numbers(count)), copy, (), (), no_values, ignore_values)


def basic_copy_if(pred: Tensor, src: Tensor, dst: Tensor) -> None:
    """Copy the elements whose predicate is true, one by one; the others stay what they are."""
    require_same_size(src, dst)
    require_same_size(pred, dst)

    def copy(index: int) -> None:
        dst[index] = src[index]

    for index in range(static_size(src.layout, src)):
        only_if(pred[index], partial(copy, index))


def only_if(allowed: object, action: Callable[[], None]) -> None:
    """What a thread does where a number is true."""
    tracing().hooks.if_(allowed, action, _nothing)


def require_same_size(src: Tensor, dst: Tensor) -> None:
    sizes = size(src.layout), size(dst.layout)
    if all(isinstance(count, int) for count in sizes) and sizes[0] != sizes[1]:
        raise TensorShapeError(
            "a copy between tensors of different sizes",
            span=place(),
            found=f"the shape {text(src.layout.shape)} into {text(dst.layout.shape)}",
            expected="tensors of the same shape",
            instead="a tile of the larger one (`cute.local_tile`), or a predicate for what lies outside",
        )


def _nothing() -> None:
    """The other side of a guard."""


def _as_bits(tensor: Tensor) -> Tensor:
    """Elements of one byte that are not integers are copied as bytes: their value does not matter."""
    storage = storage_of(tensor.pointer.dtype)
    if storage.unit != "i8" or storage.is_packed or storage.dtype in (Int8, Uint8):
        return tensor
    return Tensor(tensor.pointer.recast(Uint8, None), tensor.layout)


def copy(
    atom: CopyAtom | TiledCopy | ThrCopy,
    src: Tensor,
    dst: Tensor | tuple[Tensor, Tensor],
    *,
    pred: Tensor | None = None,
    l1c_evict_priority: CacheEvictionPriority | None = None,
    tma_bar_ptr: Pointer | None = None,
    mcast_mask: Numeric | int | None = None,
    tma_desc_ptr: Pointer | None = None,
    cache_policy: int | None = None,
    mbar_ptr: Pointer | None = None,
    loc: object = None,
    ip: object = None,
) -> None:
    """Copy what one thread holds, as the atom moves it.

    `pred` has a Boolean for each instruction, in the order (instructions of the first mode, other modes…), for each
    group of values of a partition ((values, groups), other modes…), or for each element that a thread moves alone.
    Where it is false nothing is read; the destination stays what it is, or has zeros (`cpasync.CopyG2SOp`).
    A copy that reduces what it moves (`LdRed32x32bOp`) has two destinations: the values, and one for each instruction.
    `l1c_evict_priority` says the L1 eviction priority of what is accessed.

    TMA copies are issued warp-uniformly: all lanes call, one lane issues. A load counts its bytes on the mbarrier
    `tma_bar_ptr`, and with `mcast_mask` in every block of the cluster whose bit is set; `tma_desc_ptr` is a tensor map
    in memory, used in the place of the atom's own. A store into another block counts its bytes on `mbar_ptr` there.
    """
    tiled = atom.tiled_copy if isinstance(atom, ThrCopy) else atom
    used = tiled.atom if isinstance(tiled, TiledCopy) else tiled
    operands = CopyOperands(tma_bar_ptr, mcast_mask, tma_desc_ptr, cache_policy, mbar_ptr)
    dst, reduced = dst if isinstance(dst, tuple) else (dst, None)
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
        if reduced is None:
            _copy(used, src, dst, pred)
        else:
            _copy_and_reduce(used, src, dst, reduced)


def _hints(atom: CopyAtom, priority: CacheEvictionPriority | None) -> Hints:
    return Hints(priority, atom.op.load_cache_mode, atom.memory_order, atom.memory_scope, atom.num_bits_per_copy)


def _copy(used: CopyAtom, src: Tensor, dst: Tensor, pred: Tensor | None) -> None:
    if used.num_bits_per_copy == 0 and used.op.is_divisible and pred is None:
        autovec_copy(src, dst)
        return
    src, dst = used.op.operands(used, src, dst)
    read, written = used.values_read, used.values_written
    if pred is not None and used.op.is_divisible and size(pred.layout) == size(src.layout):
        read = written = 1
    count = _count(src, dst, read, written, used)
    together = 1 if pred is None else _guarded_together(pred, src, count, read)
    source, target = _arranged(src, read, count), _arranged(dst, written, count)
    for index in range(count):
        emit = partial(used.op.emit, used, source, target, index)
        allowed = None if pred is None else pred[index // together]
        if allowed is None:
            emit()
        elif not used.op.emit_guarded(used, source, target, index, allowed):
            only_if(allowed, emit)


def _copy_and_reduce(used: CopyAtom, src: Tensor, dst: Tensor, reduced: Tensor) -> None:
    src, dst = used.op.operands(used, src, dst)
    count = _count(src, dst, used.values_read, used.values_written, used)
    if static_size(reduced.layout, reduced) != count:
        raise TensorShapeError(
            "what a copy is reduced to has an element for each instruction",
            span=place(),
            found=f"the shape {text(reduced.layout.shape)}",
            expected=f"{count} elements",
        )
    source, target = _arranged(src, used.values_read, count), _arranged(dst, used.values_written, count)
    for index in range(count):
        if not used.op.emit_reduced(used, source, target, reduced, index):
            raise CopyInstructionError(
                "this copy has one destination",
                span=place(),
                found=f"two for {used}",
                expected="an operation that reduces what it loads: tcgen05.LdRed32x32bOp(...)",
            )


def copy_atom_call(
    atom: CopyAtom, src: Tensor, dst: Tensor | tuple[Tensor, Tensor], *, pred: Tensor | None = None
) -> None:
    """One instruction: the tensors hold what it moves, and no more."""
    values = dst[0] if isinstance(dst, tuple) else dst
    for tensor, moved in ((src, atom.values_read), (values, atom.values_written)):
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


def _guarded_together(pred: Tensor, src: Tensor, count: int, read: int) -> int:
    """How many instructions, one after the other, a predicate is for.

    One; or those of the values that a partition of shape ((values, more of them), …) has in one place, where another
    copy, that moves all of these at once, has made the partition and the predicates.
    """
    first = src.layout.shape[0] if isinstance(src.layout.shape, tuple) else src.layout.shape
    values = size(first[0]) if isinstance(first, tuple) else read
    for together in (1, values // read if isinstance(values, int) and values % read == 0 else 1):
        if size(pred.layout) * together == count:
            return together
    raise TensorShapeError(
        "a predicate that fits neither the elements nor the instructions of a copy",
        span=place(),
        found=f"{text(pred.layout.shape)} predicates for {text(src.layout.shape)} elements, {read} at once",
        expected=f"{count} predicates, one for each instruction",
    )


def _arranged(tensor: Tensor, together: int, count: int) -> Tensor:
    """(values of an instruction, instructions), first coordinate fastest."""
    order: Any = Layout((together, count), (1, together))
    layout: AnyLayout = composition(tensor.layout, order)
    return Tensor(tensor.iterator, layout)


LINE = 128
"""Bytes of a cache line."""
_CACHED = (AddressSpace.gmem, AddressSpace.generic)


def prefetch(atom: CopyAtom | TiledCopy, src: Tensor) -> None:
    """Bring what a copy of `src` will read into the L2 cache of a GPU. No result depends on it.

    The source is partitioned as for `cute.copy`. Of memories that have no such cache nothing is brought. A CPU looks
    ahead by itself, so nothing happens there, nor in host code.
    """
    used = atom.atom if isinstance(atom, TiledCopy) else atom
    if used.op.emit_prefetch(used, src):
        return
    pointer, trace = src.pointer, tracing()
    if trace.kernel is None or pointer.memspace not in _CACHED:
        return
    for offset in _first_of_lines(src):
        address = reached(trace, pointer, offset, pointer.dtype)
        trace.operation(PREFETCH, (address,))


def _first_of_lines(src: Tensor) -> Iterator[Int]:
    """Offsets of elements in all the lines that have any; a known distance apart, they share the lines."""
    pointer, near = src.pointer, dict[Int, set[int]]()
    for i in range(static_size(src.layout, src)):
        known, computed = parted_offset(src.offset(i))
        near.setdefault(computed, set()).add(known)
    for computed, places in near.items():
        alignment = math.gcd(pointer.alignment, divisibility(computed) * pointer.dtype.width // 8)
        yield from (computed + place for place in one_of_each_line(sorted(places), pointer.dtype.width, alignment))


def one_of_each_line(places: Sequence[int], bits: int, alignment: int) -> list[int]:
    """Some of ascending elements, in every line that they touch, where element 0 is at a multiple of `alignment` bytes.

    Where lines begin may be unknown. Then an element is chosen when the next one is more than a line after the one that
    was chosen before, so that no line is passed over, and the last one unless it is certain to be in that one's line.
    """
    starts = [place * bits // 8 for place in places]
    if alignment % LINE == 0:
        first = {start // LINE: place for start, place in zip(reversed(starts), reversed(places), strict=True)}
        return sorted(first.values())
    chosen = [0]
    for i in range(1, len(places)):
        before = starts[chosen[-1]]
        if i + 1 < len(places):
            is_needed = starts[i + 1] - before > LINE
        else:
            is_needed = starts[i] + max(1, bits // 8) - before > math.gcd(alignment, before)
        if is_needed:
            chosen.append(i)
    return [places[i] for i in chosen]
