"""Tensors from outside converted element by element, by a kernel: other libraries do not know all element types."""

from __future__ import annotations

import math
from functools import partial
from typing import Any

from triptych.cute.arch.indices import block_idx, thread_idx
from triptych.cute.tensors.tensor import Tensor
from triptych.cute.tensors.views import local_tile
from triptych.cute.tracing.current_trace import tracing
from triptych.driver.jitting import jit, kernel
from triptych.layout import leading_dim
from triptych.metastage.values.binding_time import Constexpr

_THREADS = 128


@jit
def convert(src: Tensor, dst: Tensor) -> None:
    """Write the elements of one tensor into another of the same shape, as elements of its type."""
    packed = src if src.element_type.width < dst.element_type.width else dst
    together = 8 // math.gcd(packed.element_type.width, 8)
    """So many elements end where a byte ends: one thread takes them, since a byte has one writer."""
    leading = leading_dim(packed.layout.shape, packed.layout.stride) if together > 1 else 0
    mode = leading if isinstance(leading, int) else 0
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
    tiler = tuple(together if which == mode else 1 for which in range(len(places)))
    tracing().hooks.if_(rest == 0, partial(_assign, dst, src, tiler, tuple(places)), _nothing)


# Any: extents are ints or numbers of the program.
def _counts(tensor: Tensor, mode: int, together: int) -> list[Any]:
    """How many threads each mode takes."""
    return [-(-extent // together) if i == mode else extent for i, extent in enumerate(tensor.shape)]


def _assign(dst: Tensor, src: Tensor, tiler: tuple[int, ...], place: tuple[Any, ...]) -> None:
    target, source = local_tile(dst, tiler, place), local_tile(src, tiler, place)
    target.store(source.load().to(dst.element_type))


def _nothing() -> None:
    """The other branch."""
