"""Tensors from outside converted element by element, by a kernel: other libraries do not know all element types."""

from __future__ import annotations

import math
from functools import partial
from typing import Any

from triptych.cute.arch.indices import block_idx, thread_idx
from triptych.cute.current_trace import tracing
from triptych.cute.tensors.tensor import Tensor
from triptych.jitting import jit, kernel
from triptych.layout import leading_dim
from triptych.metastage.binding_time import Constexpr

_THREADS = 128


@jit
def convert(src: Tensor, dst: Tensor) -> None:
    """Write the elements of one tensor into another of the same shape, as elements of its type."""
    bits = dst.element_type.width
    together = 8 // math.gcd(bits, 8)
    """So many elements end where a byte ends: one thread writes all of them."""
    mode = leading_dim(dst.layout.shape, dst.layout.stride) if together > 1 else None
    mode = 0 if mode is None else mode
    threads = 1
    for extent in _counts(dst, mode, together):
        threads = threads * extent
    _convert(src, dst, mode, together).launch(grid=-(-threads // _THREADS), block=_THREADS)


@kernel
def _convert(src: Tensor, dst: Tensor, mode: Constexpr[int], together: Constexpr[int]) -> None:
    rest: Any = block_idx()[0] * _THREADS + thread_idx()[0]
    places = []
    for count in _counts(dst, mode, together):
        places.append(rest % count)
        rest = rest // count
    hooks = tracing().hooks
    for i in range(together):
        place = tuple(at * together + i if which == mode else at for which, at in enumerate(places))
        is_inside = (rest == 0) & (place[mode] < dst.shape[mode])
        hooks.if_(is_inside, partial(_assign, dst, src, place), _nothing)


# Any: extents are ints or numbers of the program.
def _counts(tensor: Tensor, mode: int, together: int) -> list[Any]:
    """How many threads each mode takes."""
    return [-(-extent // together) if i == mode else extent for i, extent in enumerate(tensor.shape)]


def _assign(dst: Tensor, src: Tensor, place: tuple[Any, ...]) -> None:
    dst[place] = dst.element_type(src[place])


def _nothing() -> None:
    """The other branch."""
