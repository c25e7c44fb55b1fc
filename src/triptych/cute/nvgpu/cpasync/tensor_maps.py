"""Atoms of copies of tiles of tensors: made in host code, partitioned and used in kernels."""

from __future__ import annotations

from triptych.cute.arch.votes import elect_one
from triptych.cute.copies.atoms import CopyAtom
from triptych.cute.copies.errors import CopyInstructionError, TensorMapError
from triptych.cute.copies.tma_atoms import BoxAtom, make_box_atom, partition_boxes, require_box_atom
from triptych.cute.nvgpu.cpasync.tma_operations import BoxOperation
from triptych.cute.tensors.program_integers import Coord
from triptych.cute.tensors.tensor import Tensor
from triptych.cute.tracing.device import device_function, device_trace
from triptych.kernel_ir.dialects.tile import TENSORMAP_PREFETCH
from triptych.layout import AnyLayout, Layout, Tile
from triptych.metastage.trace.trace import place
from triptych.metastage.values.scalars import Numeric


def make_tiled_tma_atom(
    op: BoxOperation,
    gmem_tensor: Tensor,
    smem_layout: AnyLayout,
    cta_tiler: Tile,
    num_multicast: int = 1,
    *,
    internal_type: type[Numeric] | None = None,
    loc: object = None,
    ip: object = None,
) -> tuple[BoxAtom, Tensor]:
    """The copy of tiles that `cta_tiler` takes of a tensor, from or to shared memory of a layout; in host code.

    The second result has the shape of the tensor, and coordinates as elements: it is tiled and partitioned in the place
    of the tensor. `internal_type` is how the copy takes the elements, where that is not their own type.
    """
    if not isinstance(op, BoxOperation):
        raise CopyInstructionError(
            "this is no copy of boxes",
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
    return make_box_atom(op, gmem_tensor, smem_layout, cta_tiler, num_multicast, internal_type)


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
    return partition_boxes(require_box_atom(atom), cta_coord, cta_layout, smem_tensor, gmem_tensor)


@device_function
def prefetch_descriptor(atom: CopyAtom) -> None:
    """Bring the tensor map of an atom where copies look for it. No result depends on it."""
    used = require_box_atom(atom).map
    with elect_one():
        device_trace().operation(TENSORMAP_PREFETCH, (used.ir_value(),))
