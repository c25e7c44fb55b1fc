"""Block copies: a tile between global and shared memory by TMA, whose parts and receivers the copy finds itself."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from triptych.cute.arch.indices import block_idx_in_cluster
from triptych.cute.copies.atoms import CopyAtom
from triptych.cute.copies.dispatch import copy
from triptych.cute.copies.tma_atoms import require_tma_atom
from triptych.cute.memory.address_spaces import AddressSpace
from triptych.cute.memory.pointers import Pointer
from triptych.cute.nvgpu.cpasync.tensor_maps import tma_partition
from triptych.cute.tensors.tensor import Tensor
from triptych.cute.tracing.device import device_function
from triptych.cute.tracing.errors import BoxCopyError
from triptych.layout import make_layout
from triptych.metastage.trace.trace import place
from triptych.metastage.values.scalars import Int32


@device_function
def block_copy(
    atom: CopyAtom,
    src: Tensor,
    dst: Tensor,
    *,
    tma_bar_ptr: Pointer | None = None,
    tma_multicast: Mapping[str, Any] | None = None,
    cache_policy: int | None = None,
) -> None:
    """Copy one tile, the first mode of both tensors.

    `tma_multicast` says of a load which blocks want the same tile: those of the `cluster_shape` (M, N) whose coordinate
    `multicast_dim`, "M" or "N", is the same. By an atom that is made for so many each loads a part, for all of them;
    by one that is not, each loads all for itself.
    """
    is_load = dst.memspace is AddressSpace.smem
    shared, outside = (dst, src) if is_load else (src, dst)
    mine, count, mask = (Int32(0), 1, None) if tma_multicast is None else _sharing(tma_multicast)
    if require_tma_atom(atom).boxes.shares == 1:
        count, mask = 1, None
    near, far = tma_partition(atom, mine if count > 1 else 0, make_layout(count), shared, outside)
    source, target = (far, near) if is_load else (near, far)
    copy(atom, source, target, tma_bar_ptr=tma_bar_ptr, mcast_mask=mask, cache_policy=cache_policy)


def _sharing(given: Mapping[str, Any]) -> tuple[Int32, int, Any]:
    """Which of the blocks that share a load this one is, how many they are, and the mask of them."""
    rows, columns = given["cluster_shape"]
    fixed = given["multicast_dim"]
    if fixed not in ("M", "N") or given.get("use_2cta_mma_inst"):
        raise BoxCopyError(
            "a load that blocks share",
            span=place(),
            found=str(dict(given)),
            expected='"multicast_dim": "M" or "N", and no pairs of blocks (`use_2cta_mma_inst`)',
            instead="cpasync.tma_partition and cute.copy with mcast_mask",
        )
    rank: Any = block_idx_in_cluster()
    row, column = rank % rows, rank // rows
    if fixed == "M":
        mine, count, first, step = column, columns, row, rows
    else:
        mine, count, first, step = row, rows, column * rows, 1
    mask = None if count == 1 else Int32(sum(1 << step * i for i in range(count))) << first
    return mine, count, mask
