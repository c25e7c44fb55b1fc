"""Mbarrier pipelines: two mbarriers per stage, full and empty, synchronize producers and consumers.

`barrier_storage` has the full barriers of all stages, then the empty ones. A producer waits until a stage is empty and
says that it is full; a consumer the other way round. Bytes that are copied in the background say it themselves.

Programs derive pipelines of their own: from fields that are part of the interface, by methods that call those of the
synchronization objects, and by giving a pipeline that was made here another class.
"""

from __future__ import annotations

from typing import Any, Protocol, Self

from triptych.cute.arch.indices import block_idx_in_cluster, lane_idx
from triptych.cute.arch.mbarriers import MOST_BYTES
from triptych.cute.dynamic.traced_integers import ints
from triptych.cute.memory.pointers import Pointer
from triptych.cute.nvgpu.cta_groups import CtaGroup
from triptych.cute.pipeline.mbarrier_ring import MbarrierArray, Users, full_and_empty, several, when
from triptych.cute.pipeline.participants import CooperativeGroup, PipelineConsumer, PipelineOp, PipelineProducer
from triptych.cute.pipeline.recorded_calls import RecordedCalls, RecordsCalls
from triptych.cute.pipeline.states import PipelineState, PipelineUserType, Place, make_pipeline_state
from triptych.cute.tracing.device import Integer, device_function, device_model
from triptych.cute.tracing.errors import PipelineError
from triptych.layout import Layout, size
from triptych.metastage.trace.trace import place
from triptych.metastage.values.scalars import Boolean
from triptych.support.dataclass import dataclass


class SyncObject(Protocol):
    """What says, for each stage, that it is full, or that it is empty."""

    def get_barrier(self, index: Integer) -> Pointer: ...
    def arrive(self, index: Integer, dst: Integer | None = None, cta_group: CtaGroup | None = None) -> None: ...
    def wait(self, index: Integer, phase: Integer) -> None: ...
    def wait_for_all(self, state: PipelineState) -> None: ...
    def try_wait(self, index: Integer, phase: Integer) -> Boolean: ...


@dataclass(frozen=True, eq=False, repr=False)
class PipelineAsync(RecordsCalls):
    """Stages that threads fill and threads empty: each of them arrives for itself."""

    sync_object_full: Any
    sync_object_empty: Any
    num_stages: int
    producer_mask: Integer | None
    """Where a producer arrives: a block of the cluster, or a mask of blocks for products; None: its own."""
    consumer_mask: Integer | None

    def __post_init__(self) -> None:
        kind = next(base.__name__ for base in type(self).__mro__ if base.__module__.startswith(__package__))
        object.__setattr__(self, "_calls", RecordedCalls(kind, self.num_stages))

    def __repr__(self) -> str:
        return f"{type(self).__name__}({self.num_stages} stages)"

    @classmethod
    @device_function
    def create(
        cls,
        *,
        num_stages: int,
        producer_group: CooperativeGroup,
        consumer_group: CooperativeGroup,
        barrier_storage: object = None,
        producer_mask: Integer | None = None,
        consumer_mask: Integer | None = None,
        defer_sync: bool = False,
    ) -> Self:
        """An empty pipeline, made by all threads of the block; with `defer_sync` the program lets them meet."""
        producers, consumers = (PipelineOp.AsyncThread, producer_group), (PipelineOp.AsyncThread, consumer_group)
        arrays = full_and_empty(barrier_storage, num_stages, producers, consumers, defer_sync=defer_sync)
        return cls(*arrays, num_stages, producer_mask, consumer_mask)

    @staticmethod
    @device_function
    def _make_sync_object(barrier_storage: Pointer, num_stages: int, agent: Users, tx_count: int = 0) -> MbarrierArray:
        return MbarrierArray(barrier_storage, num_stages, agent, tx_count)

    @device_function
    def make_participants(self) -> tuple[PipelineProducer, PipelineConsumer]:
        """A producer and a consumer at the first stage, which remember where they are."""
        return self.make_producer(), self.make_consumer()

    @device_function
    def make_producer(self) -> PipelineProducer:
        """A producer at the first stage."""
        return PipelineProducer(self, make_pipeline_state(PipelineUserType.Producer, self.num_stages))

    @device_function
    def make_consumer(self) -> PipelineConsumer:
        """A consumer at the first stage."""
        return PipelineConsumer(self, make_pipeline_state(PipelineUserType.Consumer, self.num_stages))

    # producers --------------------------------------------------------------------------------------------------
    def producer_acquire(self, state: Place, try_acquire_token: object = None) -> None:
        """Wait until the stage is empty, unless the token of `producer_try_acquire` says that it is."""
        self._wait(self.sync_object_empty, state, try_acquire_token)

    @device_function
    def producer_try_acquire(self, state: Place) -> Boolean:
        """Whether the stage is empty."""
        asked: Boolean = self.sync_object_empty.try_wait(state.index, state.phase)
        return asked

    def producer_commit(self, state: Place) -> None:
        """The stage is filled, as far as this producer fills it."""
        self.sync_object_full.arrive(state.index, self.producer_mask)

    @device_function
    def producer_get_barrier(self, state: Place) -> Pointer:
        """The barrier that says that the stage is full: copies complete their bytes on it."""
        barrier: Pointer = self.sync_object_full.get_barrier(state.index)
        return barrier

    def producer_tail(self, state: Any) -> None:
        """Wait until all stages are empty: nobody arrives any more at the barriers of a block that then ends."""
        self.sync_object_empty.wait_for_all(state)

    # consumers --------------------------------------------------------------------------------------------------
    def consumer_wait(self, state: Place, try_wait_token: object = None) -> None:
        """Wait until the stage is full, unless the token of `consumer_try_wait` says that it is."""
        self._wait(self.sync_object_full, state, try_wait_token)

    @device_function
    def consumer_try_wait(self, state: Place) -> Boolean:
        """Whether the stage is full."""
        asked: Boolean = self.sync_object_full.try_wait(state.index, state.phase)
        return asked

    def consumer_release(self, state: Place) -> None:
        """The stage is not read any more, as far as this consumer reads it."""
        self.sync_object_empty.arrive(state.index, self.consumer_mask)

    def _wait(self, barriers: SyncObject, state: Place, token: object) -> None:
        index, phase = state.index, state.phase
        if token is None:
            barriers.wait(index, phase)
        else:
            when(token, lambda: None, lambda: barriers.wait(index, phase))


@dataclass(frozen=True, eq=False, repr=False)
class PipelineTmaAsync(PipelineAsync):
    """Stages that TMA copies fill: who acquires a stage expects its bytes, and the bytes say that it is full.

    Consumers are counted by warps. In a cluster a warp releases the stage in all blocks whose copies reach this one:
    one of its threads tells one block, which is `consumer_mask`.
    """

    is_signalling_thread: Any

    @classmethod
    @device_function
    def create(  # type: ignore[override]
        cls,
        *,
        num_stages: int,
        producer_group: CooperativeGroup,
        consumer_group: CooperativeGroup,
        tx_count: Integer,
        barrier_storage: object = None,
        cta_layout_vmnk: Layout | None = None,
        tidx: Integer | None = None,
        mcast_mode_mn: tuple[int, int] = (1, 1),
        defer_sync: bool = False,
    ) -> Self:
        """An empty pipeline whose stages are full when `tx_count` bytes have come."""
        blocks = several(cta_layout_vmnk)
        arrays = full_and_empty(
            barrier_storage,
            num_stages,
            (PipelineOp.TmaLoad, producer_group),
            (PipelineOp.AsyncThread, consumer_group),
            bytes_of_a_stage(tx_count),
            blocks=blocks,
            defer_sync=defer_sync,
        )
        block, signals = cls.init_empty_barrier_arrive_signal(blocks, tidx, mcast_mode_mn)
        return cls(*arrays, num_stages, None, block, signals)

    @staticmethod
    @device_function
    def init_empty_barrier_arrive_signal(
        cta_layout_vmnk: Layout | None, tidx: Integer | None, mcast_mode_mn: tuple[int, int] = (1, 1)
    ) -> tuple[Integer | None, Any]:
        """The block that this thread tells that a stage is empty (None: its own), and whether it tells any."""
        lane: Any = lane_idx() if tidx is None else tidx % device_model().lanes
        blocks = several(cta_layout_vmnk)
        if blocks is None:
            return None, lane == 0
        return lane, (lane < size(blocks)) & _shares(blocks, lane, mcast_mode_mn)

    def producer_acquire(self, state: Place, try_acquire_token: object = None) -> None:
        """Wait until the stage is empty, then expect its bytes: one thread of each warp that comes here does it."""
        super().producer_acquire(state, try_acquire_token)
        self.sync_object_full.arrive(state.index, self.producer_mask)

    def producer_commit(self, state: Place) -> None:
        """Nothing: the bytes say it."""

    def consumer_release(self, state: Place) -> None:
        """This warp does not read the stage any more."""
        index = state.index
        when(self.is_signalling_thread, lambda: self.sync_object_empty.arrive(index, self.consumer_mask))


def bytes_of_a_stage(tx_count: Integer) -> int:
    """How many bytes fill a stage."""
    if isinstance(tx_count, int) and 0 <= tx_count <= MOST_BYTES:
        return tx_count
    raise PipelineError(
        "the bytes of a stage are part of the program",
        span=place(),
        found=f"tx_count={tx_count}",
        expected=f"a number that is known while tracing, 0 to {MOST_BYTES}",
    )


def _shares(blocks: Layout, rank: Integer, sides: tuple[int, int]) -> Any:
    """Whether copies of the block `rank` of the cluster reach this one: those of A along m, of B along n, and none of
    the other block of a pair."""
    own, other = (_coordinate(blocks, number) for number in (block_idx_in_cluster(), rank))
    same = [own[1 + side] == other[1 + side] for side in range(2) if sides[side]]
    return (own[0] == other[0]) & (same[0] if len(same) == 1 else same[0] | same[1])


def _coordinate(blocks: Layout, number: Integer) -> Any:
    """Where a block is in its cluster, as (v, m, n, k)."""
    return blocks.get_flat_coord(ints(number))
