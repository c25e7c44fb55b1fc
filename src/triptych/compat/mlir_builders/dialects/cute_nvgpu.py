"""Builder calls of tensor maps: `cutlass._mlir.dialects.cute_nvgpu`."""

from __future__ import annotations

from triptych.cute.copies.tma_atoms import TmaAtom
from triptych.cute.nvgpu.cpasync.copy_operations import (
    CopyBulkTensorTileG2SMulticastOp,
    CopyBulkTensorTileG2SOp,
    TmaCopyOp,
)
from triptych.cute.nvgpu.cpasync.tensor_maps import make_atom_of_tiles
from triptych.cute.tensors.tensor import Tensor
from triptych.cute.tracing.errors import TensorMapError
from triptych.layout import AnyLayout, Layout
from triptych.metastage.trace.trace import place
from triptych.support.dataclass import dataclass

__all__ = ["TmaDescriptorTiledType", "atom_make_non_exec_tiled_tma_load"]


def __dir__() -> list[str]:
    return __all__


@dataclass(frozen=True, slots=True)
class TmaDescriptorTiledType:
    """The type of a tensor map of tiles in memory: pointers to one are made with it."""

    @staticmethod
    def get() -> TmaDescriptorTiledType:
        """There is one."""
        return TmaDescriptorTiledType()


def atom_make_non_exec_tiled_tma_load(
    gmem_tensor: Tensor,
    smem_layout: AnyLayout,
    cta_v_map: Layout,
    op: TmaCopyOp,
    *,
    num_multicast: int = 1,
    loc: object = None,
    ip: object = None,
) -> tuple[TmaAtom, Tensor]:
    """The load of tiles, and the tensor of coordinates.

    `cta_v_map` takes an element of a tile to its coordinate, and `smem_layout` to its place in shared memory. A program
    that has several boxes in a tile, pages for example, says one of them by it.
    """
    wrong = _wrong(gmem_tensor, smem_layout, cta_v_map, op)
    if wrong is not None:
        found, expected = wrong
        raise TensorMapError(
            "a load of tiles is made of a tensor, two layouts and an operation",
            span=place(),
            found=repr(found),
            expected=expected,
            instead="cpasync.make_tiled_tma_atom, which takes a tiler in the place of the layout of coordinates",
        )
    return make_atom_of_tiles(op, gmem_tensor, smem_layout, cta_v_map, num_multicast)


def _wrong(tensor: object, shared: object, tile: object, op: object) -> tuple[object, str] | None:
    """The first argument that is not what it should be, and what it should be."""
    for found, kind, expected in (
        (tensor, Tensor, "a tensor in global memory: `tensor.value`"),
        (shared, AnyLayout, "the layout of a tile in shared memory: `layout.value`"),
        (tile, Layout, "a layout from elements of a tile to coordinates, of `make_identity_layout(tensor.shape)`"),
        (
            op,
            CopyBulkTensorTileG2SOp | CopyBulkTensorTileG2SMulticastOp,
            "an operation that loads: `CopyBulkTensorTileG2SOp()._to_ir()`",
        ),
    ):
        if not isinstance(found, kind):
            return found, expected
    return None
