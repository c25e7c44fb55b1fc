"""Cluster launch control pipeline: one warp of a cluster asks for the next one, and all its threads read the answer."""

from __future__ import annotations

from typing import Any, Self

from triptych.cute.arch.indices import lane_idx
from triptych.cute.arch.mbarriers import mbarrier_arrive_and_expect_tx
from triptych.cute.pipeline.mbarrier_pipelines import PipelineAsync, barrier_arrays
from triptych.cute.pipeline.mbarrier_ring import MbarrierArray, begin, several, when
from triptych.cute.pipeline.participants import CooperativeGroup
from triptych.cute.pipeline.states import Place
from triptych.cute.tracing.device import device_function
from triptych.layout import Layout, size


class PipelineClcFetchAsync(PipelineAsync):
    """Stages that answers fill: those of the first block of the cluster say when all threads have read them."""

    def __init__(self, full: MbarrierArray, empty: MbarrierArray, tx_count: int, blocks: Layout | None) -> None:
        super().__init__(full, empty)
        self.tx_count = tx_count
        self._blocks = blocks

    @classmethod
    @device_function
    def create(  # type: ignore[override]
        cls,
        *,
        num_stages: int,
        producer_group: CooperativeGroup,
        consumer_group: CooperativeGroup,
        tx_count: int,
        barrier_storage: object = None,
        cta_layout_vmnk: Layout | None = None,
        defer_sync: bool = False,
    ) -> Self:
        """An empty pipeline; consumers are counted over all blocks of the cluster."""
        blocks = several(cta_layout_vmnk)
        arrays = barrier_arrays(barrier_storage, num_stages, producer_group, consumer_group)
        begin(arrays, blocks, defer_sync=defer_sync)
        return cls(*arrays, tx_count, blocks)

    def producer_acquire(self, state: Place, try_acquire_token: object = None) -> None:
        """Wait until all have read the last answer, then expect the next one's bytes in every block, by a lane each."""
        super().producer_acquire(state, try_acquire_token)
        barrier = self.sync_object_full.get_barrier(state.index)
        if self._blocks is None:
            when(lane_idx() == 0, lambda: mbarrier_arrive_and_expect_tx(barrier, self.tx_count))
            return
        count: Any = size(self._blocks)
        when(lane_idx() < count, lambda: mbarrier_arrive_and_expect_tx(barrier, self.tx_count, lane_idx()))

    def consumer_release(self, state: Place) -> None:
        """This thread has read the answer: counted by the first block."""
        self._calls.record("consumer_release", state)
        self.sync_object_empty.arrive(state.index, None if self._blocks is None else 0)
