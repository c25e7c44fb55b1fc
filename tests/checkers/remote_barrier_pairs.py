"""Faults written by a table: ways in which a block uses an mbarrier of another one, and ways to come too early.

The barrier of the cluster, or what stands in its place, is all that orders the use behind `mbarrier_init`.
"""

from __future__ import annotations

from tests.checkers.pairs import Pair

_PROGRAM = """
import triptych as tt
from triptych import cute
from triptych.cute.nvgpu import cpasync
arch = cute.arch

@tt.kernel
def k(load: cute.CopyAtom, xs: cute.Tensor, out: cute.Tensor):
    t, _, _ = arch.thread_idx()
    rank = arch.block_idx_in_cluster()
    bar = arch.alloc_smem(tt.Int64, 1, 8)
    tile = cute.SmemAllocator().allocate_tensor(tt.Float32, cute.make_layout(64), 128)
    source = cute.group_modes(cute.local_tile(xs, (64,), (0,)), 0, 1)
    into, source = cpasync.tma_partition(load, 0, cute.make_layout(1), cute.group_modes(tile, 0, 1), source)
    if t == 0:
        arch.mbarrier_init(bar, 1) #<
        arch.mbarrier_init_fence()
    arch.sync_threads()
{body}
    arch.cluster_arrive()
    arch.cluster_wait()
    out[rank * 64 + t] = rank

@tt.jit
def run(x: cute.Tensor, out: cute.Tensor):
    atom = cpasync.CopyBulkTensorTileG2SMulticastOp()
    load, xs = cpasync.make_tiled_tma_atom(atom, x, cute.make_layout(64), (64,), num_multicast=1)
    k(load, xs, out).launch(grid={grid}, block={block}, cluster=({grid}, 1, 1))
"""
_USES = {
    "arrives": "    if t == 32:\n        arch.mbarrier_arrive(bar, 0) #>",
    "lanes arrive each at its own": "    if t == 32:\n        arch.mbarrier_arrive(bar, t - 32) #>",
    "expects bytes": "    if t == 32:\n        arch.mbarrier_expect_tx(bar, 64, 0) #>",
    "arrives and expects": "    if t == 32:\n        arch.mbarrier_arrive_and_expect_tx(bar, 64, 0) #>",
    "loads a box": "    if t >= 32:\n        cute.copy(load, source, into, tma_bar_ptr=bar, mcast_mask=tt.Int16(1)) #>",
    "stores and counts": "    if t == 32:\n"
    "        places = [arch.map_dsmem_ptr(each, 0).toint() for each in (tile.iterator, bar)]\n"
    "        store = 'st.async.shared::cluster.mbarrier::complete_tx::bytes.f32 [$0], $1, [$2];'\n"
    "        arch.inline_ptx(store, 'r,f,r', [places[0], tt.Float32(1), places[1]]) #>",
}
_ORDERS = {
    "nothing": "arch.cluster_arrive() #!\narch.cluster_wait() #!\n",
    "a barrier of the block": "arch.cluster_arrive() #~ arch.sync_threads()\narch.cluster_wait() #!\n",
    "a relaxed arrival is missing": "arch.cluster_arrive_relaxed() #!\narch.cluster_wait() #!\n",
    "one warp waits and nobody is told": "arch.cluster_arrive_relaxed()\n"
    "if t < 32:\n    arch.cluster_wait()\narch.sync_threads() #!\nif t >= 32:\n    arch.sync_warp()\n",
}


def _pair(use: str, order: str, blocks: int) -> Pair:
    rest = f"{_ORDERS[order]}if rank == {blocks - 1}:\n{_USES[use]}"
    if order.startswith("one warp"):
        rest += "\nif t >= 32:\n    arch.cluster_wait()"
    name = f"mbarrier of another block of {blocks}: {use}, {order}"
    return Pair(name, rest, 64, blocks, says="`cute.arch.cluster_arrive()`", program=_PROGRAM)


REMOTE: tuple[Pair, ...] = tuple(_pair(use, order, blocks) for use in _USES for order in _ORDERS for blocks in (2, 16))
