"""Tensor maps (TMA descriptors): atoms made in host code and partitioned in kernels, and maps that a kernel changes."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from triptych.cute.arch.warp import elect_one
from triptych.cute.copies.atoms import CopyAtom, CopyOperation, CopyTrait
from triptych.cute.copies.tma_atoms import (
    TmaAtom,
    make_tma_atom,
    map_operands,
    own_map,
    partition_for_tma,
    require_tma_atom,
)
from triptych.cute.dynamic.traced_integers import ints
from triptych.cute.memory.address_spaces import AddressSpace
from triptych.cute.memory.pointers import Pointer
from triptych.cute.nvgpu.cpasync.copy_operations import TmaCopyOp
from triptych.cute.tensors.layout_queries import make_layout_image_mask
from triptych.cute.tensors.program_integers import Coord
from triptych.cute.tensors.tensor import Tensor
from triptych.cute.tracing.device import device_function, device_trace
from triptych.cute.tracing.errors import CopyInstructionError, CopyMemoryError, TensorMapError
from triptych.ir.handles import Value
from triptych.kernel_ir.dialects.tile import (
    TENSOR_MAP_BYTES,
    TENSORMAP_ACQUIRE,
    TENSORMAP_CP_FENCEPROXY,
    TENSORMAP_PREFETCH,
    TENSORMAP_RELEASE,
    TENSORMAP_REPLACE,
)
from triptych.layout import (
    AnyLayout,
    IntTuple,
    Layout,
    Tile,
    composition,
    is_congruent,
    make_identity_layout,
    rank,
    select,
    size,
)
from triptych.layout.composed import on_outer
from triptych.layout.layout import from_modes
from triptych.metastage.trace.trace import place
from triptych.metastage.values.scalars import Numeric, Uint8
from triptych.support.dataclass import dataclass


@dataclass(frozen=True)
class TmaInfo:
    """A TMA copy with its tensor of coordinates and the layout of shared memory; unpacked, the first two."""

    atom: TmaAtom
    tma_tensor: Tensor
    smem_layout: AnyLayout
    """As it was given, with all its stages."""

    def __iter__(self) -> Iterator[Any]:
        return iter((self.atom, self.tma_tensor))

    def __len__(self) -> int:
        return 2

    def __getitem__(self, index: int) -> Any:
        return (self.atom, self.tma_tensor)[index]


def make_tiled_tma_atom(
    op: TmaCopyOp,
    gmem_tensor: Tensor,
    smem_layout: AnyLayout,
    cta_tiler: Tile,
    num_multicast: int = 1,
    *,
    internal_type: type[Numeric] | None = None,
    loc: object = None,
    ip: object = None,
) -> TmaInfo:
    """The copy of tiles that `cta_tiler` takes of a tensor, from or to shared memory of a layout.

    The second result has the shape of the tensor, and coordinates as elements: it is tiled and partitioned in the place
    of the tensor. `internal_type` is how the copy takes the elements, where that is not their own type.

    In a kernel, the atom says how to make the tensor map: `copy_tensormap` writes it to memory, and copies go by it
    there (`tma_desc_ptr`).
    """
    stage, tiler = smem_layout, ints(cta_tiler)
    if rank(smem_layout) == rank(cta_tiler) + 1:
        stage = on_outer(smem_layout, lambda plain: select(plain, mode=list(range(rank(cta_tiler)))))
    tile = composition(make_identity_layout(gmem_tensor.layout.shape), tiler)
    return TmaInfo(*make_atom_of_tiles(op, gmem_tensor, stage, tile, num_multicast, internal_type), smem_layout)


def make_atom_of_tiles(
    op: TmaCopyOp,
    gmem_tensor: Tensor,
    smem_layout: AnyLayout,
    tile: Layout,
    num_multicast: int = 1,
    internal_type: type[Numeric] | None = None,
) -> tuple[TmaAtom, Tensor]:
    """The copy of tiles whose coordinates in a tensor a layout gives, and the tensor of all coordinates."""
    if not isinstance(op, TmaCopyOp):
        raise CopyInstructionError(
            "this is no TMA copy",
            span=place(),
            found=repr(op),
            expected="CopyBulkTensorTileG2SOp(), CopyBulkTensorTileS2GOp() or another of nvgpu.cpasync",
        )
    if num_multicast < 1 or (num_multicast > 1 and not op.shares_boxes):
        raise TensorMapError(
            f"{type(op).__name__} copies for one block",
            span=place(),
            found=f"num_multicast={num_multicast}",
            expected="1, or CopyBulkTensorTileG2SMulticastOp",
        )
    op.check_type(internal_type or gmem_tensor.pointer.dtype)
    return make_tma_atom(op, gmem_tensor, smem_layout, tile, num_multicast, internal_type)


@dataclass(frozen=True)
class _TensorMapTrait(CopyTrait):
    """The tensor map of a TMA copy: `CopyAtom(op, trait)` is the atom that builder calls have made."""

    value: TmaAtom

    def __post_init__(self) -> None:
        require_tma_atom(self.value)

    def atom(self, op: CopyOperation) -> TmaAtom:
        """The atom of the operation that the map was made for."""
        if op == self.value.op:
            return self.value
        raise CopyInstructionError(
            "an atom is of the operation that its tensor map was made for",
            span=place(),
            found=repr(op),
            expected=repr(self.value.op),
        )


class CopyBulkTensorTileG2SNonExecTrait(_TensorMapTrait):
    """The tensor map of a load of tiles."""


class CopyBulkTensorTileG2SMulticastNonExecTrait(_TensorMapTrait):
    """The tensor map of a load of tiles into several blocks."""


class CopyBulkTensorTileS2GNonExecTrait(_TensorMapTrait):
    """The tensor map of a store of tiles."""


class CopyReduceBulkTensorTileS2GNonExecTrait(_TensorMapTrait):
    """The tensor map of a reduction of tiles into global memory."""


def make_tiled_tma_atom_A(
    op: TmaCopyOp,
    gmem_tensor: Tensor,
    smem_layout: AnyLayout,
    mma_tiler_mnk: Tile,
    tiled_mma: object,
    cluster_shape_vmnk: IntTuple | None = None,
    *,
    internal_type: type[Numeric] | None = None,
    loc: object = None,
    ip: object = None,
) -> TmaInfo:
    """The copy of what a CTA has of operand A of an MMA: `smem_layout` is ((m, k), m tiles, k tiles)."""
    shares = _along(cluster_shape_vmnk, 2)
    return _of_operand(op, gmem_tensor, smem_layout, shares, internal_type)


def make_tiled_tma_atom_B(
    op: TmaCopyOp,
    gmem_tensor: Tensor,
    smem_layout: AnyLayout,
    mma_tiler_mnk: Tile,
    tiled_mma: object,
    cluster_shape_vmnk: IntTuple | None = None,
    *,
    internal_type: type[Numeric] | None = None,
    loc: object = None,
    ip: object = None,
) -> TmaInfo:
    """The copy of what a CTA has of operand B of an MMA: `smem_layout` is ((n, k), n tiles, k tiles)."""
    shares = _along(cluster_shape_vmnk, 1)
    return _of_operand(op, gmem_tensor, smem_layout, shares, internal_type)


def _along(cluster: IntTuple | None, mode: int) -> int:
    """Blocks of a cluster (v, m, n, k) along a mode: each loads a part for all of them."""
    count: Any = 1 if cluster is None else size(cluster, [mode])
    return int(count)


def _of_operand(
    op: TmaCopyOp, tensor: Tensor, smem_layout: AnyLayout, shares: int, internal_type: type[Numeric] | None
) -> TmaInfo:
    """By the tile (rows, k) that a layout of whole instructions makes together."""
    tile = on_outer(smem_layout, lambda plain: from_modes((_both(plain[0][0], plain[1]), _both(plain[0][1], plain[2]))))
    tiler: Any = tuple(size(tile, [mode]) for mode in range(2))
    multicast = shares if op.shares_boxes else 1
    made = make_tiled_tma_atom(op, tensor, tile, tiler, multicast, internal_type=internal_type)
    return TmaInfo(made.atom, made.tma_tensor, smem_layout)


def _both(inner: Layout, outer: Layout) -> Layout:
    return inner if size(outer) == 1 else from_modes((inner, outer))


def create_tma_multicast_mask(cta_layout_vmnk: Layout, cta_coord_vmnk: Coord, mcast_mode: int) -> Any:
    """The blocks of a cluster that receive what one of them loads: those along one mode of (v, m, n, k)."""
    return make_layout_image_mask(cta_layout_vmnk, cta_coord_vmnk, mcast_mode)


def tma_partition(
    atom: CopyAtom,
    cta_coord: Coord,
    cta_layout: Layout,
    smem_tensor: Tensor,
    gmem_tensor: Tensor,
    *,
    loc: object = None,
    ip: object = None,
) -> tuple[Tensor, Tensor]:
    """Both tensors, shared memory first, with their first mode (the tile) as ((of a box, boxes)).

    The blocks of `cta_layout` share every box: the tensors begin at the part of the block at `cta_coord`.
    """
    return partition_for_tma(require_tma_atom(atom), cta_coord, cta_layout, smem_tensor, gmem_tensor)


@device_function
def prefetch_descriptor(atom: CopyAtom) -> None:
    """Bring the tensor map of an atom where copies look for it. No result depends on it."""
    used = own_map(require_tma_atom(atom))
    with elect_one():
        device_trace().operation(TENSORMAP_PREFETCH, (used.ir_value(),))


_WORDS = "vector<4xi32>"
_WORD_BYTES = 16


@device_function
def copy_tensormap(tma_atom: CopyAtom, tensormap_ptr: Pointer) -> None:
    """Write the tensor map of an atom to memory, by every thread that calls it; a fence lets others see it."""
    atom, trace = require_tma_atom(tma_atom), device_trace()
    target = _in(tensormap_ptr, AddressSpace.gmem, AddressSpace.smem)
    source, there = atom.map.recast(Uint8, None), target.recast(Uint8, None)
    attributes = {
        "alignment": trace.builder.integer("i64", _WORD_BYTES),
        "ordering": trace.builder.integer("i64", 0),
    }
    for begin in range(0, TENSOR_MAP_BYTES, _WORD_BYTES):
        word = trace.value("llvm.load", (source.advanced(begin).ir_value(),), _WORDS, attributes)
        trace.operation("llvm.store", (word, there.advanced(begin).ir_value()), attributes=attributes)
    if atom.tensor is not None:
        update_tma_descriptor(atom, atom.tensor, target)


@device_function
def update_tma_descriptor(tma_atom: CopyAtom, gmem_tensor: Tensor, tma_desc_ptr: Pointer) -> None:
    """Make a tensor map in memory, which is a copy of the atom's, one of another tensor: base, extents and strides.

    Every thread that calls it writes the same; box, type and swizzle stay.
    """
    atom, trace = require_tma_atom(tma_atom), device_trace()
    _require_alike(atom, gmem_tensor)
    target = _in(tma_desc_ptr, AddressSpace.gmem, AddressSpace.smem)
    base, numbers = map_operands(trace, gmem_tensor, atom.boxes)
    attributes = {"type": trace.builder.string(atom.word)}
    trace.operation(TENSORMAP_REPLACE, (target.ir_value(), base, *numbers), attributes=attributes)


@device_function
def fence_tma_desc_release() -> None:
    """Let other blocks, and copies, see tensor maps that the thread has changed in place."""
    device_trace().operation(TENSORMAP_RELEASE)


@device_function
def fence_tma_desc_acquire(tma_desc_ptr: Pointer) -> None:
    """Have the copies that follow see a tensor map as it was when it was released."""
    device_trace().operation(TENSORMAP_ACQUIRE, (_in(tma_desc_ptr, AddressSpace.gmem).ir_value(),))


@device_function
def cp_fence_tma_desc_release(tma_desc_global_ptr: Pointer, tma_desc_shared_ptr: Pointer) -> None:
    """Copy a tensor map from shared to global memory, by a whole warp, and let others see it."""
    target = _in(tma_desc_global_ptr, AddressSpace.gmem).ir_value()
    source = _in(tma_desc_shared_ptr, AddressSpace.smem).ir_value()
    device_trace().operation(TENSORMAP_CP_FENCEPROXY, (target, source))


def _in(pointer: Pointer, *spaces: AddressSpace) -> Pointer:
    """A pointer in one of the memories; one that may be anywhere is taken for one of the first."""
    if pointer.memspace in spaces:
        return pointer
    if pointer.memspace is AddressSpace.generic:
        return in_space(pointer, spaces[0])
    raise CopyMemoryError(
        "no tensor map can be changed there",
        span=place(),
        found=str(pointer),
        expected=f"a pointer into {' or '.join(space.name for space in spaces)}",
    )


def in_space(pointer: Pointer, space: AddressSpace) -> Pointer:
    """The same address as one of another kind of memory, which contains it or lies in it."""
    if pointer.memspace is space:
        return pointer
    # Any: the value of a pointer is one of MLIR.
    cast: Any = device_trace().value("llvm.addrspacecast", (pointer.ir_value(),), space.pointer_type)
    value: Value = cast
    return Pointer(value, pointer.dtype, space, pointer.alignment)


def _require_alike(atom: TmaAtom, tensor: Tensor) -> None:
    shape: Any = atom.shape
    if not is_congruent(shape, tensor.layout.shape):
        raise CopyMemoryError(
            "a tensor map becomes one of a tensor with the same modes",
            span=place(),
            found=f"{tensor}",
            expected=f"modes as in the shape {shape} that the atom was made of",
        )
    if 8 * atom.boxes.element_bytes % tensor.pointer.dtype.width:
        raise CopyMemoryError(
            "a tensor map keeps the size of its elements",
            span=place(),
            found=f"{tensor}",
            expected=f"elements of {8 * atom.boxes.element_bytes} bits, or some that make up so many",
        )
