"""Mbarrier arrays of a ring of stages, and their initialization before anybody waits."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from triptych.cute.arch.barriers import cluster_arrive, cluster_arrive_relaxed, cluster_wait, sync_threads
from triptych.cute.arch.indices import warp_idx
from triptych.cute.arch.mbarriers import (
    mbarrier_arrive,
    mbarrier_arrive_and_expect_tx,
    mbarrier_init,
    mbarrier_init_fence,
    mbarrier_try_wait,
    mbarrier_wait,
)
from triptych.cute.arch.warp import elect_one
from triptych.cute.memory.pointers import Pointer
from triptych.cute.pipeline.states import PipelineState
from triptych.cute.tracing.device import Integer, device_function, tracing
from triptych.cute.tracing.errors import PipelineError
from triptych.layout import Layout, size
from triptych.metastage.trace.trace import place
from triptych.metastage.values.scalars import Boolean, Int64


class MbarrierArray:
    """One mbarrier for each stage; every phase of one counts so many arrivals."""

    __slots__ = ("_first", "arrive_count", "num_stages")

    def __init__(self, first: Pointer, num_stages: int, arrive_count: int) -> None:
        self._first = first
        self.num_stages = num_stages
        self.arrive_count = arrive_count

    def __repr__(self) -> str:
        return f"MbarrierArray({self.num_stages} of {self.arrive_count} arrivals)"

    def get_barrier(self, index: Integer) -> Pointer:
        """The barrier of a stage."""
        return self._first + index

    def initialise(self) -> None:
        """By one thread."""
        for index in range(self.num_stages):
            mbarrier_init(self.get_barrier(index), self.arrive_count)

    def arrive(self, index: Integer, rank: Integer | None = None) -> None:
        """Arrive; with a rank, at the barrier of that block of the cluster."""
        mbarrier_arrive(self.get_barrier(index), rank)

    def arrive_and_expect_tx(self, index: Integer, tx_count: int) -> None:
        """Expect bytes, and arrive."""
        mbarrier_arrive_and_expect_tx(self.get_barrier(index), tx_count)

    def wait(self, index: Integer, phase: Integer) -> None:
        """Wait until a phase of a stage is over."""
        mbarrier_wait(self.get_barrier(index), phase)

    def wait_for_all(self, state: PipelineState) -> None:
        """Wait until a phase of every stage is over, from this one on."""
        following = state.clone()
        for _ in range(self.num_stages):
            self.wait(following.index, following.phase)
            following.advance()

    def try_wait(self, index: Integer, phase: Integer) -> Boolean:
        """Whether it is."""
        return mbarrier_try_wait(self.get_barrier(index), phase)


def barriers_at(storage: object, needed: str) -> Pointer:
    """Where the barriers of a pipeline are."""
    if isinstance(storage, Pointer) and storage.dtype.width == Int64.width:
        return storage
    raise PipelineError(
        "a pipeline needs memory for its barriers",
        span=place(),
        found=str(storage) if isinstance(storage, Pointer) else f"barrier_storage={storage!r}",
        expected=f"a pointer to {needed} of Int64 in shared memory",
        instead="`barrier_storage=storage.barriers.data_ptr()` of a field `cute.struct.MemRange[cutlass.Int64, n]`",
    )


def initialise(*arrays: MbarrierArray) -> None:
    """One thread of the block does it; the others must not use the barriers before they have met."""

    def by_one() -> None:
        with elect_one():
            for array in arrays:
                array.initialise()

    when(warp_idx() == 0, by_one)
    mbarrier_init_fence()


def begin(arrays: tuple[MbarrierArray, ...], blocks: Layout | None, *, defer_sync: bool) -> None:
    """Make the barriers of a pipeline, and let the threads that use it meet, unless the program does that."""
    initialise(*arrays)
    if not defer_sync:
        meet(blocks)


def several(blocks: Layout | None) -> Layout | None:
    """The blocks of a cluster, if there is more than one."""
    return blocks if _is_many(blocks) else None


def meet(cluster: object = None) -> None:
    """All threads of the block, or of the cluster if it is larger than the block, wait for each other."""
    pipeline_init_arrive(cluster_shape_mn=cluster)
    pipeline_init_wait(cluster_shape_mn=cluster)


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
