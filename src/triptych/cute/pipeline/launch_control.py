"""Cluster launch control pipeline: one warp of a cluster asks for the next one, and all its threads read the answer."""

from __future__ import annotations

from typing import Any, Self

from triptych.cute.arch.indices import lane_idx
from triptych.cute.pipeline.mbarrier_pipelines import PipelineAsync, bytes_of_a_stage
from triptych.cute.pipeline.mbarrier_ring import full_and_empty, several, when
from triptych.cute.pipeline.participants import CooperativeGroup, PipelineOp
from triptych.cute.pipeline.states import Place
from triptych.cute.tracing.device import device_function
from triptych.layout import Layout, size
from triptych.support.dataclass import dataclass


@dataclass(frozen=True, eq=False, repr=False)
class PipelineClcFetchAsync(PipelineAsync):
    """Stages that answers fill: those of the first block of the cluster say when all threads have read them."""

    is_signalling_thread: Any

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
        arrays = full_and_empty(
            barrier_storage,
            num_stages,
            (PipelineOp.ClcLoad, producer_group),
            (PipelineOp.AsyncThread, consumer_group),
            bytes_of_a_stage(tx_count),
            blocks=blocks,
            defer_sync=defer_sync,
        )
        if blocks is None:
            return cls(*arrays, num_stages, None, None, lane_idx() == 0)
        count: Any = size(blocks)
        return cls(*arrays, num_stages, lane_idx(), 0, lane_idx() < count)

    def producer_acquire(self, state: Place, try_acquire_token: object = None) -> None:
        """Wait until all have read the last answer, then expect the next one's bytes in every block, by a lane each."""
        super().producer_acquire(state, try_acquire_token)
        index = state.index
        when(self.is_signalling_thread, lambda: self.sync_object_full.arrive(index, self.producer_mask))

    def producer_commit(self, state: Place) -> None:
        """Nothing: the bytes say it."""
