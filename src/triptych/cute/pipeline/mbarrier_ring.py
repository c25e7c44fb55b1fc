"""Mbarrier arrays of a ring of stages, and their initialization before anybody waits."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

from triptych.cute.arch.barriers import cluster_arrive, cluster_arrive_relaxed, cluster_wait, sync_threads
from triptych.cute.arch.indices import warp_idx
from triptych.cute.arch.mbarriers import (
    cp_async_mbarrier_arrive_noinc,
    mbarrier_arrive,
    mbarrier_arrive_and_expect_tx,
    mbarrier_init,
    mbarrier_init_fence,
    mbarrier_try_wait,
    mbarrier_wait,
)
from triptych.cute.arch.shared import shared_elements
from triptych.cute.arch.warp import elect_one
from triptych.cute.memory.pointers import Pointer
from triptych.cute.nvgpu.cta_groups import CtaGroup, commit
from triptych.cute.pipeline.participants import Agent, CooperativeGroup, PipelineOp
from triptych.cute.pipeline.states import PipelineState
from triptych.cute.tracing.device import Integer, device_function, tracing
from triptych.cute.tracing.errors import PipelineError
from triptych.layout import Layout, size
from triptych.metastage.trace.trace import place
from triptych.metastage.values.scalars import Boolean, Int64

Users = tuple[PipelineOp, CooperativeGroup]
"""Who arrives at the barriers of an array: by what, and how many in each phase."""


class MbarrierArray:
    """One mbarrier for each stage; every phase of one counts so many arrivals, of the kind that its users say.

    All threads of the block make it: one of them initialises the barriers.
    """

    def __init__(
        self, barrier_storage: Pointer, num_stages: int, agent: Users, tx_count: int = 0, *, init: bool = True
    ) -> None:
        _require_stages(num_stages)
        self.barrier_storage = self.mbarrier_base = barriers_at(barrier_storage, num_stages)
        self.num_stages = num_stages
        self.op_type, self.cg = agent
        self.tx_count = tx_count
        self.arrive_count = self.cg.size
        if init:
            self.mbarrier_init()

    def __repr__(self) -> str:
        return f"MbarrierArray({self.num_stages} of {self.arrive_count} arrivals)"

    @device_function
    def get_barrier(self, index: Integer) -> Pointer:
        """The barrier of a stage."""
        return self.mbarrier_base + index

    @device_function
    def mbarrier_init(self) -> None:
        """By one thread of the block; the others must not use the barriers before they have met."""
        initialise(self)

    @device_function
    def arrive(self, index: Integer, dst: Integer | None = None, cta_group: CtaGroup | None = None) -> None:
        """Arrive as its users do. `dst` is the block of the cluster at whose barrier threads arrive, and the mask of
        blocks that products tell; None: this one."""
        match self.op_type:
            case PipelineOp.AsyncThread:
                self.arrive_mbarrier(index, dst)
            case PipelineOp.AsyncLoad:
                self.arrive_cp_async_mbarrier(index)
            case PipelineOp.TmaLoad:
                self.arrive_and_expect_tx(index, self.tx_count)
            case PipelineOp.ClcLoad:
                mbarrier_arrive_and_expect_tx(self.get_barrier(index), self.tx_count, dst)
            case PipelineOp.TCGen05Mma:
                self.arrive_tcgen05mma(index, dst, cta_group or CtaGroup.ONE)
            case _:
                raise PipelineError(
                    "nobody arrives at an mbarrier by such an operation",
                    span=place(),
                    found=str(self.op_type),
                    expected="AsyncThread, AsyncLoad, TmaLoad, ClcLoad or TCGen05Mma of `PipelineOp`",
                )

    @device_function
    def arrive_mbarrier(self, index: Integer, dst_rank: Integer | None = None) -> None:
        """This thread arrives; with a rank, at the barrier of that block of the cluster."""
        mbarrier_arrive(self.get_barrier(index), dst_rank)

    @device_function
    def arrive_cp_async_mbarrier(self, index: Integer) -> None:
        """This thread arrives when all asynchronous copies that it has started have landed."""
        cp_async_mbarrier_arrive_noinc(self.get_barrier(index))

    @device_function
    def arrive_tcgen05mma(self, index: Integer, mask: Integer | None, cta_group: CtaGroup) -> None:
        """One thread of the warp arrives when the products that it has begun are complete, in all blocks of a mask."""
        commit(self.get_barrier(index), mask, cta_group)

    @device_function
    def arrive_and_expect_tx(self, index: Integer, tx_count: Integer) -> None:
        """One thread of the warp expects bytes, and arrives."""
        with elect_one():
            mbarrier_arrive_and_expect_tx(self.get_barrier(index), tx_count)

    @device_function
    def wait(self, index: Integer, phase: Integer) -> None:
        """Wait until a phase of a stage is over."""
        mbarrier_wait(self.get_barrier(index), phase)

    @device_function
    def wait_for_all(self, state: PipelineState) -> None:
        """Wait until a phase of every stage is over, from this one on."""
        following = state.clone()
        for _ in range(self.num_stages):
            self.wait(following.index, following.phase)
            following.advance()

    @device_function
    def try_wait(self, index: Integer, phase: Integer) -> Boolean:
        """Whether it is."""
        return mbarrier_try_wait(self.get_barrier(index), phase)

    def __extract_mlir_values__(self) -> list[Any]:
        return [self.barrier_storage]

    def __new_from_mlir_values__(self, values: Sequence[Any]) -> MbarrierArray:
        (storage,) = values
        return MbarrierArray(storage, self.num_stages, (self.op_type, self.cg), self.tx_count, init=False)


def _require_stages(num_stages: object) -> None:
    if not isinstance(num_stages, int) or num_stages < 1:
        raise PipelineError(
            "the number of stages is part of the program",
            span=place(),
            found=f"num_stages={num_stages}",
            expected="a positive number that is known while tracing",
        )


def full_and_empty(
    storage: object,
    num_stages: int,
    producers: Users,
    consumers: Users,
    tx_count: int = 0,
    *,
    blocks: Layout | None = None,
    defer_sync: bool,
) -> tuple[MbarrierArray, MbarrierArray]:
    """The full barriers of a pipeline and the empty ones, initialised; the threads that use them, in all of the blocks,
    meet, unless the program lets them."""
    _require_stages(num_stages)
    first = barriers_at(storage, 2 * num_stages)
    full = MbarrierArray(first, num_stages, producers, tx_count, init=False)
    empty = MbarrierArray(first + num_stages, num_stages, consumers, init=False)
    initialise(full, empty)
    if not defer_sync:
        meet(blocks)
    return full, empty


@device_function
def alloc_reserved_mbarrier(num_stages: int) -> Pointer:
    """Shared memory for the full and the empty barriers of a pipeline."""
    _require_stages(num_stages)
    return barriers_at(None, 2 * num_stages)


def barriers_at(storage: object, needed: int) -> Pointer:
    """Where the barriers of a pipeline are: where the program says, or in shared memory of their own."""
    if storage is None:
        return shared_elements(f"{needed} mbarriers of a pipeline", Int64, needed, 8)
    if isinstance(storage, Pointer) and storage.dtype.width == Int64.width:
        return storage
    raise PipelineError(
        "a pipeline needs memory for its barriers",
        span=place(),
        found=str(storage) if isinstance(storage, Pointer) else f"barrier_storage={storage!r}",
        expected=f"a pointer to {needed} of Int64 in shared memory, or nothing: the pipeline then allocates them",
        instead="`barrier_storage=storage.barriers.data_ptr()` of a field `cute.struct.MemRange[cutlass.Int64, n]`",
    )


def initialise(*arrays: MbarrierArray) -> None:
    """One thread of the block does it; the others must not use the barriers before they have met."""

    def by_one() -> None:
        with elect_one():
            for array in arrays:
                for index in range(array.num_stages):
                    mbarrier_init(array.get_barrier(index), array.arrive_count)

    when(warp_idx() == 0, by_one)
    mbarrier_init_fence()


def several(blocks: Layout | None) -> Layout | None:
    """The blocks of a cluster, if there is more than one."""
    return blocks if _is_many(blocks) else None


def meet(cluster: object = None) -> None:
    """All threads of the block, or of the cluster if it is larger than the block, wait for each other."""
    pipeline_init_arrive(cluster_shape_mn=cluster)
    pipeline_init_wait(cluster_shape_mn=cluster)


@device_function
def agent_sync(group: Agent, is_relaxed: bool = False) -> None:
    """All threads of the block, or of the cluster, wait for each other."""
    if group is Agent.ThreadBlock:
        sync_threads()
    elif group is Agent.ThreadBlockCluster:
        cluster_arrive_relaxed() if is_relaxed else cluster_arrive()
        cluster_wait()
    else:
        raise PipelineError(
            "threads that are not named cannot wait for each other",
            span=place(),
            found=str(group),
            expected="Agent.ThreadBlock or Agent.ThreadBlockCluster",
            instead="`pipeline.NamedBarrier(...)` for some warps of a block",
        )


@device_function
def pipeline_init_arrive(*, cluster_shape_mn: object = None, is_relaxed: bool = False) -> None:
    """What this thread has initialised is ready; `pipeline_init_wait` follows, with other work in between."""
    mbarrier_init_fence()
    if _is_many(cluster_shape_mn):
        cluster_arrive_relaxed() if is_relaxed else cluster_arrive()


@device_function
def pipeline_init_wait(*, cluster_shape_mn: object = None) -> None:
    """Wait until everybody's barriers are ready, in all blocks of a cluster."""
    if _is_many(cluster_shape_mn):
        cluster_wait()
    else:
        sync_threads()


def _is_many(cluster: Any) -> bool:
    """Whether a cluster (a shape or a layout) has more than one block."""
    return cluster is not None and size(cluster) != 1


def when(condition: object, then: Callable[[], object], otherwise: Callable[[], object] = lambda: None) -> None:
    """A branch of the program."""
    tracing().hooks.if_(condition, then, otherwise)
