"""Tiled copies: one copy atom repeated over the threads of a block and over the values of each thread."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from triptych.cute.copies.atoms import CopyAtom
from triptych.cute.dynamic.static_values import StaticExpression
from triptych.cute.dynamic.traced_integers import ints
from triptych.cute.tensors.tensor import Tensor
from triptych.cute.tracing.device import warn_of_missing_threads
from triptych.cute.tracing.errors import TensorShapeError
from triptych.layout import Layout, Tile, composition, make_layout, make_layout_tv, size, text
from triptych.layout.thread_values import (
    coordinates_of,
    instruction_values,
    occupied_tile,
    retiled,
    thread_part,
    tile_shape,
)
from triptych.metastage.trace.trace import place
from triptych.metastage.values.scalars import Numeric
from triptych.support.dataclass import dataclass

if TYPE_CHECKING:
    from triptych.cute.mma.tiled import TiledMma


@dataclass(frozen=True, slots=True)
class TiledCopy(StaticExpression):
    """`layout_tv_tiled` sends (thread, value) to the number of a coordinate in a tile that `tiler_mn` takes.

    Threads and values are those of the atom's reference side; what the other side holds follows from the atom.
    """

    atom: CopyAtom
    layout_tv_tiled: Layout
    tiler_mn: Tile

    @property
    def op(self) -> Any:
        """The operation of its atom."""
        return self.atom.op

    @property
    def value_type(self) -> type[Numeric]:
        """The type of the elements that are moved."""
        return self.atom.value_type

    @property
    def thr_id(self) -> Layout:
        """The threads that execute an instruction together."""
        return self.atom.thr_id

    @property
    def size(self) -> Any:
        """How many threads take part."""
        return size(self.layout_tv_tiled, [0])

    def __threads__(self) -> Any:
        """What `cute.size` of it is."""
        return self.size

    @property
    def layout_src_tv_tiled(self) -> Layout:
        """(thread, (value of an instruction, instruction)) -> number of the coordinate that is read."""
        layouts = self.atom.layouts
        return instruction_values(self.layout_tv_tiled, layouts.reference, layouts.source)

    @property
    def layout_dst_tv_tiled(self) -> Layout:
        """(thread, (value of an instruction, instruction)) -> number of the coordinate that is written."""
        layouts = self.atom.layouts
        return instruction_values(self.layout_tv_tiled, layouts.reference, layouts.destination)

    def get_slice(self, thr_idx: Numeric | int) -> ThrCopy:
        """The part of one thread."""
        warn_of_missing_threads("the tiled copy", self.size, thr_idx)
        return ThrCopy(self, thr_idx)

    def retile(self, src: Tensor) -> Tensor:
        """Registers that another partition has filled, as the source or destination of this copy."""
        layout = retiled(src.layout, self.layout_tv_tiled, self.tiler_mn, self.atom.values_held)
        return Tensor(src.iterator, layout)

    def __str__(self) -> str:
        return f"tiled copy of {self.atom} by {self.layout_tv_tiled} on {text(tile_shape(self.tiler_mn))}"

    __repr__ = __str__


@dataclass(frozen=True, slots=True)
class ThrCopy:
    """One thread of a tiled copy."""

    tiled_copy: TiledCopy
    thr_idx: Numeric | int

    def __threads__(self) -> Any:
        """What `cute.size` of it is: all threads of the copy."""
        return self.tiled_copy.size

    def __getattr__(self, name: str) -> Any:
        """A thread of a copy knows what the copy knows: its layouts, its atom, the parts of other threads."""
        if name.startswith("__") or name in ("tiled_copy", "thr_idx"):
            raise AttributeError(name)
        return getattr(self.tiled_copy, name)

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


def make_tiled_copy(atom: CopyAtom, layout_tv: Layout, tiler_mn: Tile) -> TiledCopy:
    """A copy by a layout (thread, value) -> number of a coordinate in a tile that `tiler_mn` takes."""
    for mode, what in ((0, "threads"), (1, "values of a thread")):
        have, at_once = size(layout_tv, [mode]), size(atom.layouts.reference, [mode])
        if not layout_tv.is_static or have % at_once:
            raise TensorShapeError(
                f"the {what} are not a number of whole copy instructions",
                span=place(),
                found=f"{have} {what} by {layout_tv}, {at_once} for each {atom}",
                expected=f"a static layout with a multiple of {at_once} {what}",
                instead="an instruction that moves less at once, or a larger tile",
            )
    return TiledCopy(atom, layout_tv, tuple(Layout(mode, 1) if isinstance(mode, int) else mode for mode in tiler_mn))


def make_tiled_copy_tv(atom: CopyAtom, thr_layout: Layout, val_layout: Layout) -> TiledCopy:
    """A copy by threads that lie on a tile as `thr_layout` says, each with values as `val_layout` says."""
    tile, layout_tv = make_layout_tv(thr_layout, val_layout)
    return make_tiled_copy(atom, layout_tv, tile)


# copies of what other operations hold -----------------------------------------------------------------------------
def make_tiled_copy_A(atom: CopyAtom, tiled_mma: TiledMma) -> TiledCopy:
    """A copy whose registers are those of operand A (M, K) of an MMA."""
    return make_tiled_copy(atom, tiled_mma.tv_layout_A_tiled, _tile(tiled_mma, 0, 2))


def make_tiled_copy_B(atom: CopyAtom, tiled_mma: TiledMma) -> TiledCopy:
    """A copy whose registers are those of operand B (N, K) of an MMA."""
    return make_tiled_copy(atom, tiled_mma.tv_layout_B_tiled, _tile(tiled_mma, 1, 2))


def make_tiled_copy_C(atom: CopyAtom, tiled_mma: TiledMma) -> TiledCopy:
    """A copy whose registers are those of the sum (M, N) of a product."""
    return make_tiled_copy(atom, tiled_mma.tv_layout_C_tiled, _tile(tiled_mma, 0, 1))


def make_tiled_copy_C_atom(atom: CopyAtom, tiled_mma: TiledMma) -> TiledCopy:
    """The smallest copy of the sum: one instruction for each thread, on the part of the tile that it fills."""
    whole = make_tiled_copy_C(atom, tiled_mma)
    first = composition(whole.layout_tv_tiled, make_layout((whole.size, atom.values_read)))
    tiler, within = occupied_tile(first, tile_shape(whole.tiler_mn))
    return make_tiled_copy(atom, within, tiler)


def make_tiled_copy_S(atom: CopyAtom, tiled_copy: TiledCopy) -> TiledCopy:
    """A copy whose threads and values are those that another one reads."""
    return make_tiled_copy(atom, tiled_copy.layout_src_tv_tiled, tiled_copy.tiler_mn)


def make_tiled_copy_D(atom: CopyAtom, tiled_copy: TiledCopy) -> TiledCopy:
    """A copy whose threads and values are those that another one writes."""
    return make_tiled_copy(atom, tiled_copy.layout_dst_tv_tiled, tiled_copy.tiler_mn)


def make_cotiled_copy(atom: CopyAtom, atom_layout_tv: Layout, data_layout: Layout) -> TiledCopy:
    """A copy by a layout (thread, value) -> index of memory that `data_layout` also reaches: the tile follows."""
    coordinates = coordinates_of(atom_layout_tv, data_layout)
    if coordinates is None:
        raise TensorShapeError(
            "the layout of threads and values reaches memory that the data does not",
            span=place(),
            found=f"{atom_layout_tv} on {data_layout}",
            expected="static layouts into the same memory",
        )
    tiler, within = occupied_tile(coordinates, data_layout.shape)
    return make_tiled_copy(atom, within, tiler)


def _tile(tiled_mma: TiledMma, rows: int, columns: int) -> tuple[int, int]:
    return tiled_mma.get_tile_size(rows), tiled_mma.get_tile_size(columns)
