"""`nvshmem.core` where processes of one machine stand for the GPUs: symmetric tensors, those of others, one for all.

Calls that make or free memory are collective, as NVSHMEM's are: every rank makes the same ones in the same order, and
where they differ, each of them is told.
"""

from __future__ import annotations

import itertools
from collections.abc import Sequence
from enum import IntEnum
from pathlib import Path
from typing import Any

import numpy as np
import torch

from triptych.compat.several_gpus.shared_tensors import bytes_of, heap, is_rank, tensor_at
from triptych.ranks.errors import RankError
from triptych.ranks.group import join, joined, make_folder
from triptych.ranks.heap import is_multicast, rank_of
from triptych.support.tracebacks import caller

__all__ = [
    "Teams",
    "UniqueID",
    "barrier",
    "barrier_all",
    "finalize",
    "free_tensor",
    "get_multicast_tensor",
    "get_peer_tensor",
    "get_unique_id",
    "init",
    "my_pe",
    "n_pes",
    "tensor",
]

_TEXT_BYTES = 124
_ID = np.dtype([("version", np.int32), ("internal", f"S{_TEXT_BYTES}")])


class Teams(IntEnum):
    """Groups of ranks that NVSHMEM makes by itself. All ranks are on one machine here."""

    TEAM_INVALID = -1
    TEAM_WORLD = 0
    TEAM_SHARED = 1
    TEAM_NODE = 2


_WHOLE = (Teams.TEAM_WORLD, Teams.TEAM_SHARED, Teams.TEAM_NODE)


class UniqueID:
    """What ranks find each other by: rank 0 makes it, and the program brings its bytes to the others."""

    def __init__(self, text: str = "") -> None:
        self._data = np.array([(1, text.encode())], dtype=_ID)

    @property
    def text(self) -> str:
        """The folder that they share."""
        return bytes(self._data["internal"][0]).decode()


def get_unique_id(empty: bool = False) -> UniqueID:
    """A new one, or an empty one that the bytes of another are put into."""
    return UniqueID() if empty else UniqueID(str(make_folder()))


def init(
    device: object = None,
    uid: UniqueID | None = None,
    rank: int | None = None,
    nranks: int | None = None,
    mpi_comm: object = None,
    initializer_method: str = "",
) -> None:
    """Begin: this process is a rank."""
    if initializer_method not in ("", "uid") or uid is None or rank is None or nranks is None:
        raise RankError(
            "ranks find each other by an id here",
            span=caller(),
            found=f"initializer_method={initializer_method!r}",
            expected="`init(device=…, uid=…, rank=…, nranks=…, initializer_method='uid')`",
        )
    if not is_rank():
        join(Path(uid.text), rank, nranks)


def finalize() -> None:
    """End, when all have come here."""
    joined().barrier("`nvshmem.core.finalize`")


def my_pe(team: Teams = Teams.TEAM_WORLD) -> int:
    """The number of this rank."""
    return joined().rank


def n_pes(team: Teams = Teams.TEAM_WORLD) -> int:
    """How many ranks there are."""
    return joined().size


def barrier(team: Teams = Teams.TEAM_WORLD, stream: object = None) -> None:
    """Wait for all ranks."""
    _check_team(team)
    joined().barrier("`nvshmem.core.barrier`")


def barrier_all(stream: object = None) -> None:
    """Wait for all ranks."""
    joined().barrier("`nvshmem.core.barrier_all`")


_COUNT = itertools.count(1)


# Any: tensors of torch, which has no types here.
def tensor(shape: int | Sequence[int], dtype: torch.dtype | None = None, **_: object) -> Any:
    """A tensor of zeros that every rank has, and that others reach."""
    extents = (shape,) if isinstance(shape, int) else tuple(shape)
    kind = dtype or torch.get_default_dtype()
    size = bytes_of(extents, kind)
    there = heap()
    there.group.agree(f"the bytes of symmetric tensor {next(_COUNT)}", size)
    offset = there.allocate(size)
    there.group.barrier("`nvshmem.core.tensor`")
    return tensor_at(there.address(there.group.rank, offset), extents, kind)


def get_peer_tensor(tensor: torch.Tensor, pe: int) -> Any:
    """The same tensor of another rank."""
    there, offset = heap(), _offset_of(tensor)
    if not 0 <= pe < there.group.size:
        raise RankError(
            f"there is no rank {pe}",
            span=caller(),
            found=f"{pe}",
            expected=f"a rank from 0 to {there.group.size - 1}",
        )
    return tensor_at(there.address(pe, offset), tensor.shape, tensor.dtype, tensor.stride())


def get_multicast_tensor(team: Teams, tensor: torch.Tensor) -> Any:
    """What stands for the tensor on all ranks: only `multimem` and TMA stores take it."""
    _check_team(team)
    return tensor_at(heap().multicast_address(_offset_of(tensor)), tensor.shape, tensor.dtype, tensor.stride())


def free_tensor(tensor: torch.Tensor) -> None:
    """Give back the memory of this rank's tensor; one of another rank, or for all, has none of its own."""
    address, there = tensor.data_ptr(), heap()
    if is_multicast(address) or rank_of(address) != there.group.rank:
        return
    there.group.barrier("`nvshmem.core.free_tensor`")
    there.free(_offset_of(tensor))


def _offset_of(tensor: torch.Tensor) -> int:
    there = heap()
    address = tensor.data_ptr()
    if there.start_of(address) is None:
        raise RankError(
            "this tensor is not in memory that ranks share",
            span=caller(),
            found=f"a tensor at {address:#x}",
            expected="a tensor of `nvshmem.core.tensor` on this rank, which is not freed",
        )
    return int(address - there.address(there.group.rank, 0))


def _check_team(team: Teams) -> None:
    if team not in _WHOLE:
        raise RankError(
            "only all ranks together are a team here",
            span=caller(),
            found=repr(team),
            expected=", ".join(f"Teams.{each.name}" for each in _WHOLE),
        )
