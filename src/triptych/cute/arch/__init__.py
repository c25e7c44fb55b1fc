"""Device intrinsics, inside kernels: thread indices, barriers, shuffles, votes, atomics, clocks."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, Any

from triptych.cute.arch.async_copies import (
    cp_async_bulk_commit_group,
    cp_async_bulk_wait_group,
    cp_async_commit_group,
    cp_async_wait_group,
    fence_proxy,
)
from triptych.cute.arch.atomics import (
    atomic_add,
    atomic_and,
    atomic_cas,
    atomic_exch,
    atomic_fmax,
    atomic_fmin,
    atomic_max,
    atomic_min,
    atomic_or,
    atomic_xor,
    fence_acq_rel_cluster,
    fence_acq_rel_cta,
    fence_acq_rel_gpu,
    fence_acq_rel_sys,
)
from triptych.cute.arch.barriers import (
    barrier,
    barrier_arrive,
    cluster_arrive,
    cluster_arrive_relaxed,
    cluster_wait,
    map_dsmem_ptr,
    sync_threads,
    sync_warp,
)
from triptych.cute.arch.execution import (
    clock,
    clock64,
    globaltimer,
    griddepcontrol_launch_dependents,
    griddepcontrol_wait,
    nanosleep,
    setmaxregister_decrease,
    setmaxregister_increase,
    warpgroup_reg_alloc,
    warpgroup_reg_dealloc,
)
from triptych.cute.arch.indices import (
    block_dim,
    block_idx,
    block_idx_in_cluster,
    block_in_cluster_dim,
    block_in_cluster_idx,
    cluster_dim,
    cluster_idx,
    cluster_size,
    grid_dim,
    lane_idx,
    make_warp_uniform,
    thread_idx,
    warp_idx,
)
from triptych.cute.arch.mbarriers import (
    cp_async_mbarrier_arrive_noinc,
    mbarrier_arrive,
    mbarrier_arrive_and_expect_tx,
    mbarrier_conditional_try_wait,
    mbarrier_expect_tx,
    mbarrier_init,
    mbarrier_init_fence,
    mbarrier_try_wait,
    mbarrier_wait,
)
from triptych.cute.arch.numbers import (
    add_packed_f32x2,
    brev,
    clz,
    exp,
    exp2,
    ffs,
    fma,
    fma_packed_f32x2,
    fmax,
    fmin,
    mul_packed_f32x2,
    popc,
    rcp_approx,
    sub_packed_f32x2,
)
from triptych.cute.arch.shared import alloc_smem, dynamic_smem_size, get_dyn_smem, get_dyn_smem_size
from triptych.cute.arch.warp import (
    elect_one,
    match_all_sync,
    match_any_sync,
    shuffle_sync,
    shuffle_sync_bfly,
    shuffle_sync_down,
    shuffle_sync_op,
    shuffle_sync_up,
    vote_all_sync,
    vote_any_sync,
    vote_ballot_sync,
    vote_uni_sync,
    warp_reduction,
    warp_reduction_max,
    warp_reduction_min,
    warp_reduction_sum,
    warp_redux_sync,
)
from triptych.cute.tracing.device import device_model
from triptych.diagnostics.likely_mistakes import missing_name
from triptych.support.forking import import_late

if TYPE_CHECKING:
    from triptych.frontends.ptx.inline import inline_ptx, prmt

WARP_SIZE: int
"""Threads of a warp: of the target, in code that is being traced for one; 32 otherwise."""
FULL_MASK: int
"""A mask with a bit for each of them."""

__all__ = [
    "FULL_MASK",
    "WARP_SIZE",
    "add_packed_f32x2",
    "alloc_smem",
    "atomic_add",
    "atomic_and",
    "atomic_cas",
    "atomic_exch",
    "atomic_fmax",
    "atomic_fmin",
    "atomic_max",
    "atomic_min",
    "atomic_or",
    "atomic_xor",
    "barrier",
    "barrier_arrive",
    "block_dim",
    "block_idx",
    "block_idx_in_cluster",
    "block_in_cluster_dim",
    "block_in_cluster_idx",
    "brev",
    "clock",
    "clock64",
    "cluster_arrive",
    "cluster_arrive_relaxed",
    "cluster_dim",
    "cluster_idx",
    "cluster_size",
    "cluster_wait",
    "clz",
    "cp_async_bulk_commit_group",
    "cp_async_bulk_wait_group",
    "cp_async_commit_group",
    "cp_async_mbarrier_arrive_noinc",
    "cp_async_wait_group",
    "dynamic_smem_size",
    "elect_one",
    "exp",
    "exp2",
    "fence_acq_rel_cluster",
    "fence_acq_rel_cta",
    "fence_acq_rel_gpu",
    "fence_acq_rel_sys",
    "fence_proxy",
    "ffs",
    "fma",
    "fma_packed_f32x2",
    "fmax",
    "fmin",
    "get_dyn_smem",
    "get_dyn_smem_size",
    "globaltimer",
    "grid_dim",
    "griddepcontrol_launch_dependents",
    "griddepcontrol_wait",
    "inline_ptx",
    "lane_idx",
    "make_warp_uniform",
    "map_dsmem_ptr",
    "match_all_sync",
    "match_any_sync",
    "mbarrier_arrive",
    "mbarrier_arrive_and_expect_tx",
    "mbarrier_conditional_try_wait",
    "mbarrier_expect_tx",
    "mbarrier_init",
    "mbarrier_init_fence",
    "mbarrier_try_wait",
    "mbarrier_wait",
    "mul_packed_f32x2",
    "nanosleep",
    "popc",
    "prmt",
    "rcp_approx",
    "setmaxregister_decrease",
    "setmaxregister_increase",
    "shuffle_sync",
    "shuffle_sync_bfly",
    "shuffle_sync_down",
    "shuffle_sync_op",
    "shuffle_sync_up",
    "sub_packed_f32x2",
    "sync_threads",
    "sync_warp",
    "thread_idx",
    "vote_all_sync",
    "vote_any_sync",
    "vote_ballot_sync",
    "vote_uni_sync",
    "warp_idx",
    "warp_reduction",
    "warp_reduction_max",
    "warp_reduction_min",
    "warp_reduction_sum",
    "warp_redux_sync",
    "warpgroup_reg_alloc",
    "warpgroup_reg_dealloc",
]


_OF_PTX = {"prmt": "triptych.frontends.ptx.inline", "inline_ptx": "triptych.frontends.ptx.inline"}
"""Names that a front end on top of this package has."""
_OF_THE_TARGET: dict[str, Callable[[], int]] = {
    "WARP_SIZE": lambda: device_model().lanes,
    "FULL_MASK": lambda: device_model().all_lanes,
}


if not TYPE_CHECKING:  # which would take every name for one of the module's

    def __getattr__(name: str) -> Any:
        if name in _OF_PTX:
            return globals().setdefault(name, getattr(import_late(_OF_PTX[name]), name))
        if name in _OF_THE_TARGET:
            return _OF_THE_TARGET[name]()
        raise missing_name(__name__, name, __all__)


def __dir__() -> list[str]:
    return __all__
