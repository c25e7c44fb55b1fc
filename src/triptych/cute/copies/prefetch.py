"""Meta-stage, prefetching: cache lines that a copy will read are asked for ahead of it, one `simt.prefetch` for each.

Input: what a thread will copy. Output: instructions that bring it into the cache that all of a GPU shares.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence

from triptych.cute.copies.atoms import CopyAtom
from triptych.cute.copies.tiled import TiledCopy
from triptych.cute.memory.address_spaces import AddressSpace
from triptych.cute.memory.addresses import parted_offset, reached
from triptych.cute.tensors.tensor import Tensor, static_size
from triptych.cute.tracing.current_trace import tracing
from triptych.kernel_ir.dialects.simt import PREFETCH
from triptych.layout import Int, divisibility

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
