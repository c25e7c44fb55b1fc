"""Mbarrier pipelines: two mbarriers per stage, full and empty, synchronize producers and consumers.

`barrier_storage` has the full barriers of all stages, then the empty ones. A producer waits until a stage is empty and
says that it is full; a consumer the other way round. Bytes that are copied in the background say it themselves.
"""

from __future__ import annotations

from typing import Any, Self

from triptych.cute.arch.indices import block_idx_in_cluster, lane_idx
from triptych.cute.arch.mbarriers import MOST_BYTES
from triptych.cute.arch.warp import elect_one
from triptych.cute.dynamic.traced_integers import ints
from triptych.cute.memory.pointers import Pointer
from triptych.cute.pipeline.mbarrier_ring import MbarrierArray, barriers_at, begin, several, when
from triptych.cute.pipeline.participants import CooperativeGroup, PipelineConsumer, PipelineProducer
from triptych.cute.pipeline.states import PipelineUserType, Place, RecordedCalls, make_pipeline_state
from triptych.cute.tracing.device import Integer, device_function, device_model
from triptych.cute.tracing.errors import PipelineError
from triptych.layout import Layout, size
from triptych.metastage.trace.trace import place
from triptych.metastage.values.scalars import Boolean


class PipelineAsync:
    """Stages that threads fill and threads empty: each of them arrives for itself."""

    def __init__(self, full: MbarrierArray, empty: MbarrierArray) -> None:
        self.num_stages = full.num_stages
        self.sync_object_full = full
        self.sync_object_empty = empty
        self._calls = RecordedCalls(type(self).__name__, full.num_stages)

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
        producer_mask: object = None,
        consumer_mask: object = None,
        defer_sync: bool = False,
    ) -> Self:
        """An empty pipeline, made by all threads of the block; with `defer_sync` the program lets them meet."""
        arrays = barrier_arrays(barrier_storage, num_stages, producer_group, consumer_group)
        begin(arrays, None, defer_sync=defer_sync)
        return cls(*arrays)

    def make_participants(self) -> tuple[PipelineProducer, PipelineConsumer]:
        """A producer and a consumer at the first stage, which remember where they are."""
        return self.make_producer(), self.make_consumer()

    def make_producer(self) -> PipelineProducer:
        """A producer at the first stage."""
        return PipelineProducer(self, make_pipeline_state(PipelineUserType.Producer, self.num_stages))

    def make_consumer(self) -> PipelineConsumer:
        """A consumer at the first stage."""
        return PipelineConsumer(self, make_pipeline_state(PipelineUserType.Consumer, self.num_stages))

    # producers --------------------------------------------------------------------------------------------------
    def producer_acquire(self, state: Place, try_acquire_token: object = None) -> None:
        """Wait until the stage is empty, unless the token of `producer_try_acquire` says that it is."""
        self._calls.record("producer_acquire", state)
        self._wait(self.sync_object_empty, state, try_acquire_token)

    def producer_try_acquire(self, state: Place) -> Boolean:
        """Whether the stage is empty."""
        return self.sync_object_empty.try_wait(state.index, state.phase)

    def producer_commit(self, state: Place) -> None:
        """This thread has filled its part of the stage."""
        self._calls.record("producer_commit", state)
        self.sync_object_full.arrive(state.index)

    def producer_get_barrier(self, state: Place) -> Pointer:
        """The barrier that says that the stage is full: copies complete their bytes on it."""
        return self.sync_object_full.get_barrier(state.index)

    def producer_tail(self, state: Any) -> None:
        """Wait until all stages are empty: nobody arrives any more at the barriers of a block that then ends."""
        self._calls.record("producer_tail", state)
        self.sync_object_empty.wait_for_all(state)

    # consumers --------------------------------------------------------------------------------------------------
    def consumer_wait(self, state: Place, try_wait_token: object = None) -> None:
        """Wait until the stage is full, unless the token of `consumer_try_wait` says that it is."""
        self._calls.record("consumer_wait", state)
        self._wait(self.sync_object_full, state, try_wait_token)

    def consumer_try_wait(self, state: Place) -> Boolean:
        """Whether the stage is full."""
        return self.sync_object_full.try_wait(state.index, state.phase)

    def consumer_release(self, state: Place) -> None:
        """This thread does not read the stage any more."""
        self._calls.record("consumer_release", state)
        self.sync_object_empty.arrive(state.index)

    def _wait(self, barriers: MbarrierArray, state: Place, token: object) -> None:
        index, phase = state.index, state.phase
        if token is None:
            barriers.wait(index, phase)
        else:
            when(token, lambda: None, lambda: barriers.wait(index, phase))


class PipelineTmaAsync(PipelineAsync):
    """Stages that TMA copies fill: who acquires a stage expects its bytes, and the bytes say that it is full.

    Consumers are counted by warps. In a cluster a warp releases the stage in all blocks whose copies reach this one.
    """

    def __init__(
        self,
        full: MbarrierArray,
        empty: MbarrierArray,
        tx_count: int,
        blocks: Layout | None,
        sides: tuple[int, int],
        lane: Integer | None,
    ) -> None:
        super().__init__(full, empty)
        self.tx_count = tx_count
        self._blocks = blocks
        self._sides = sides
        self._lane = lane

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
        if not isinstance(tx_count, int) or not 0 <= tx_count <= MOST_BYTES:
            raise PipelineError(
                "the bytes of a stage are part of the program",
                span=place(),
                found=f"tx_count={tx_count}",
                expected=f"a number that is known while tracing, 0 to {MOST_BYTES}",
            )
        blocks = several(cta_layout_vmnk)
        lane = None if tidx is None else tidx % device_model().lanes
        arrays = barrier_arrays(barrier_storage, num_stages, producer_group, consumer_group)
        made = cls(*arrays, tx_count, blocks, mcast_mode_mn, lane)
        begin(arrays, blocks, defer_sync=defer_sync)
        return made

    @property
    def consumer_mask(self) -> Integer | None:
        """The block at whose barrier this thread arrives when it releases a stage; None: its own."""
        if self._blocks is None:
            return None
        return lane_idx() if self._lane is None else self._lane

    def producer_acquire(self, state: Place, try_acquire_token: object = None) -> None:
        """Wait until the stage is empty, then expect its bytes: one thread of each warp that comes here does it."""
        super().producer_acquire(state, try_acquire_token)
        with elect_one():
            self.sync_object_full.arrive_and_expect_tx(state.index, self.tx_count)

    def producer_commit(self, state: Place) -> None:
        """Nothing: the bytes say it."""
        self._calls.record("producer_commit", state)

    def consumer_release(self, state: Place) -> None:
        """This warp does not read the stage any more."""
        self._calls.record("consumer_release", state)
        index, lane = state.index, lane_idx() if self._lane is None else self._lane
        if self._blocks is None:
            when(lane == 0, lambda: self.sync_object_empty.arrive(index))
            return
        shares = self._shares(self._blocks, lane)
        when(lane < size(self._blocks), lambda: when(shares, lambda: self.sync_object_empty.arrive(index, lane)))

    def _shares(self, blocks: Layout, rank: Integer) -> Any:
        """Whether copies of the block `rank` of the cluster reach this one: those of A along m, of B along n, and none
        of the other block of a pair."""
        own, other = (_coordinate(blocks, number) for number in (block_idx_in_cluster(), rank))
        same = [own[1 + side] == other[1 + side] for side in range(2) if self._sides[side]]
        return (own[0] == other[0]) & (same[0] if len(same) == 1 else same[0] | same[1])


def _coordinate(blocks: Layout, number: Integer) -> Any:
    """Where a block is in its cluster, as (v, m, n, k)."""
    return blocks.get_flat_coord(ints(number))


def barrier_arrays(
    storage: object, num_stages: Integer, producers: CooperativeGroup, consumers: CooperativeGroup
) -> tuple[MbarrierArray, MbarrierArray]:
    """The full barriers and the empty ones."""
    if not isinstance(num_stages, int) or num_stages < 1:
        raise PipelineError(
            "the number of stages is part of the program",
            span=place(),
            found=f"num_stages={num_stages}",
            expected="a positive number that is known while tracing",
        )
    first = barriers_at(storage, f"2 * {num_stages}")
    full = MbarrierArray(first, num_stages, producers.size)
    return full, MbarrierArray(first + num_stages, num_stages, consumers.size)
