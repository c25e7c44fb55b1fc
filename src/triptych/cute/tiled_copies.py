"""Meta-stage, tiled copies: one copy atom repeated over the threads of a block and over the values of each thread."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from triptych.cute.copy_atoms import CopyAtom, StaticExpression
from triptych.cute.errors import TensorShapeError
from triptych.cute.integers import ints
from triptych.cute.tensors import Tensor
from triptych.layout import IntTuple, Layout, make_layout_tv, size, text
from triptych.layout.thread_values import grouped_values, retiled, thread_part
from triptych.metastage.scalars import Numeric
from triptych.metastage.tracing import place


@dataclass(frozen=True, slots=True)
class TiledCopy(StaticExpression):
    """`layout_tv_tiled` sends (thread, value) to the number of a coordinate in a tile of the shape `tiler_mn`."""

    atom: CopyAtom
    layout_tv_tiled: Layout
    tiler_mn: IntTuple

    @property
    def op(self) -> Any:
        return self.atom.op

    @property
    def value_type(self) -> type[Numeric]:
        return self.atom.value_type

    @property
    def size(self) -> Any:
        """How many threads take part."""
        return size(self.layout_tv_tiled, [0])

    @property
    def layout_src_tv_tiled(self) -> Layout:
        """(thread, (value of an instruction, instruction)) -> number of the coordinate that is read."""
        return grouped_values(self.layout_tv_tiled, self.atom.together)

    layout_dst_tv_tiled = layout_src_tv_tiled

    def get_slice(self, thr_idx: Numeric | int) -> ThrCopy:
        """The part of one thread."""
        return ThrCopy(self, thr_idx)

    def retile(self, src: Tensor) -> Tensor:
        """Registers that another partition has filled, as the source or destination of this copy."""
        layout = retiled(src.layout, self.layout_tv_tiled, self.tiler_mn, self.atom.together)
        return Tensor(src.iterator, layout)

    def __str__(self) -> str:
        return f"tiled copy of {self.atom} by {self.layout_tv_tiled} on {text(self.tiler_mn)}"


@dataclass(frozen=True, slots=True)
class ThrCopy:
    """One thread of a tiled copy."""

    tiled_copy: TiledCopy
    thr_idx: Numeric | int

    def partition_S(self, src: Tensor) -> Tensor:
        """What this thread reads: ((values of an instruction, instructions), tiles along each mode…)."""
        return self._part(src, self.tiled_copy.layout_src_tv_tiled)

    def partition_D(self, dst: Tensor) -> Tensor:
        """What this thread writes, in the same modes."""
        return self._part(dst, self.tiled_copy.layout_dst_tv_tiled)

    def retile(self, src: Tensor) -> Tensor:
        """Registers that another partition has filled, as the source or destination of this copy."""
        return self.tiled_copy.retile(src)

    def _part(self, tensor: Tensor, tv: Layout) -> Tensor:
        layout, offset = thread_part(tensor.layout, tv, self.tiled_copy.tiler_mn, ints(self.thr_idx))
        return tensor.moved(offset, layout)


def make_tiled_copy(atom: CopyAtom, layout_tv: Layout, tiler_mn: IntTuple) -> TiledCopy:
    """A copy by a layout (thread, value) -> number of a coordinate in a tile of the shape `tiler_mn`."""
    values = size(layout_tv, [1])
    if not layout_tv.is_static or not isinstance(values, int) or values % atom.together:
        raise TensorShapeError(
            "the values of a thread are not a number of whole copy instructions",
            span=place(),
            found=f"{values} values for each thread by {layout_tv}, {atom.together} for each {atom}",
            expected=f"a static layout with a multiple of {atom.together} values",
            instead="a smaller num_bits_per_copy, or more values for each thread",
        )
    return TiledCopy(atom, layout_tv, tiler_mn)


def make_tiled_copy_tv(atom: CopyAtom, thr_layout: Layout, val_layout: Layout) -> TiledCopy:
    """A copy by threads that lie on a tile as `thr_layout` says, each with values as `val_layout` says."""
    tile, layout_tv = make_layout_tv(thr_layout, val_layout)
    return make_tiled_copy(atom, layout_tv, tile)
