"""UMMA pipelines: products in tensor memory empty or fill stages, and a commit says when they have.

In a pair of CTAs the first one issues the products. Copies of both count on its barriers, and its commits arrive in all
blocks whose stages the products have read, or in both blocks of the pair.
"""

from __future__ import annotations

import enum
from collections.abc import Callable
from typing import Any, Self

from triptych.cute.arch.indices import block_idx_in_cluster
from triptych.cute.arch.warp import elect_one
from triptych.cute.dynamic.traced_integers import ints
from triptych.cute.memory.pointers import Pointer
from triptych.cute.pipeline.mbarrier_pipelines import PipelineAsync, PipelineTmaAsync, barrier_arrays
from triptych.cute.pipeline.mbarrier_ring import MbarrierArray, begin, several, when
from triptych.cute.pipeline.participants import Agent, CooperativeGroup
from triptych.cute.pipeline.states import PipelineState, Place
from triptych.cute.tensors.layout_queries import make_layout_image_mask
from triptych.cute.tracing.device import Integer, bits32, device_function, device_trace
from triptych.cute.tracing.errors import PipelineError
from triptych.kernel_ir.dialects.tile import TMEM_FENCE, UMMA_COMMIT
from triptych.layout import Layout, size
from triptych.metastage.trace.trace import place

_M, _N = 1, 2
"""Modes of a cluster (v, m, n, k)."""


def commit_products(barrier: Pointer, ctas: int, blocks: Integer | None) -> None:
    """One thread of the warp arrives when the products that it has begun are complete; on a barrier of this block, or
    of every block of a mask."""
    trace = device_trace()
    attributes = {
        "ctas": trace.builder.integer("i64", ctas),
        "multicast": trace.builder.attribute("false" if blocks is None else "true"),
    }
    mask = bits32(0 if blocks is None else blocks)
    trace.operation(UMMA_COMMIT, (barrier.ir_value(), mask), attributes=attributes)


def fence_after_wait() -> None:
    """What this thread does with tensor memory from here on comes after what it has waited for."""
    trace = device_trace()
    trace.operation(TMEM_FENCE, attributes={"kind": trace.builder.string("after")})


def _ctas(blocks: Layout | None) -> int:
    """CTAs that compute a product together."""
    count: Any = 1 if blocks is None else size(blocks, [0])
    return int(count)


def _coordinate(blocks: Layout) -> tuple[Any, ...]:
    found: Any = blocks.get_flat_coord(ints(block_idx_in_cluster()))
    return tuple(found)


def _of_pair(blocks: Layout, *modes: int) -> Any:
    """A mask of the blocks that differ from this one along one of the modes, with the other CTA of the pair of each."""
    _, *here = _coordinate(blocks)
    masks = [make_layout_image_mask(blocks, (v, *here), mode) for v in range(_ctas(blocks)) for mode in modes]
    mask = masks[0]
    for more in masks[1:]:
        mask = mask | more
    return mask


class PipelineTmaUmma(PipelineTmaAsync):
    """Stages that TMA copies fill and products read: a stage is empty when its products are complete."""

    def producer_acquire(self, state: Place, try_acquire_token: object = None) -> None:
        """Wait until the stage is empty, then expect its bytes: in a pair, those of both, by the first."""
        if _ctas(self._blocks) == 1:
            super().producer_acquire(state, try_acquire_token)
            return
        PipelineAsync.producer_acquire(self, state, try_acquire_token)
        when(block_idx_in_cluster() % 2 == 0, lambda: self._expect(state.index))

    def _expect(self, index: Integer) -> None:
        with elect_one():
            self.sync_object_full.arrive_and_expect_tx(index, self.tx_count)

    def consumer_release(self, state: Place) -> None:
        """The stage is empty, in all blocks whose copies reach this one, when products begun so far are complete."""
        self._calls.record("consumer_release", state)
        sharing = [mode for mode, is_shared in zip((_N, _M), self._sides, strict=True) if is_shared]
        blocks = None if self._blocks is None else _of_pair(self._blocks, *sharing)
        commit_products(self.sync_object_empty.get_barrier(state.index), _ctas(self._blocks), blocks)


class PipelineOp(enum.Enum):
    """Who uses a stage: threads, or products in tensor memory."""

    AsyncThread = enum.auto()
    TCGen05Mma = enum.auto()


class PipelineTmaMultiConsumersAsync(PipelineTmaUmma):
    """Stages that TMA copies fill, and that both products and threads read: it is empty when all of them are done."""

    @classmethod
    @device_function
    def create(  # type: ignore[override]
        cls,
        *,
        num_stages: int,
        producer_group: CooperativeGroup,
        consumer_group_umma: CooperativeGroup,
        consumer_group_async: CooperativeGroup,
        tx_count: Integer,
        barrier_storage: object = None,
        cta_layout_vmnk: Layout | None = None,
        defer_sync: bool = False,
    ) -> Self:
        """An empty pipeline whose stages are full when `tx_count` bytes have come."""
        if several(cta_layout_vmnk) is not None:
            raise PipelineError(
                "products and threads release the stages of one CTA",
                span=place(),
                found=f"cta_layout_vmnk={cta_layout_vmnk}",
                expected="no cluster, or one of a single CTA",
            )
        everyone = CooperativeGroup(Agent.Thread, consumer_group_umma.size + consumer_group_async.size)
        return super().create(
            num_stages=num_stages,
            producer_group=producer_group,
            consumer_group=everyone,
            tx_count=tx_count,
            barrier_storage=barrier_storage,
            defer_sync=defer_sync,
        )

    def consumer_release(self, state: Place, op_type: PipelineOp = PipelineOp.AsyncThread) -> None:
        """This thread does not read the stage any more, or products that this warp has begun, when they are
        complete."""
        if op_type is PipelineOp.TCGen05Mma:
            super().consumer_release(state)
        else:
            PipelineAsync.consumer_release(self, state)


class _OfPairs(PipelineAsync):
    """A pipeline between products, which the first CTA of a pair issues, and threads of both."""

    def __init__(self, full: MbarrierArray, empty: MbarrierArray, blocks: Layout | None = None) -> None:
        super().__init__(full, empty)
        self._blocks = blocks

    @classmethod
    @device_function
    def create(  # type: ignore[override]
        cls,
        *,
        num_stages: int,
        producer_group: CooperativeGroup,
        consumer_group: CooperativeGroup,
        barrier_storage: object = None,
        cta_layout_vmnk: Layout | None = None,
        defer_sync: bool = False,
    ) -> Self:
        """An empty pipeline, of the pair of CTAs where there is one."""
        blocks = several(cta_layout_vmnk)
        arrays = barrier_arrays(barrier_storage, num_stages, producer_group, consumer_group)
        begin(arrays, blocks, defer_sync=defer_sync)
        return cls(*arrays, blocks)

    def _commit(self, barriers: MbarrierArray, index: Integer) -> None:
        """Arrive, in both CTAs of a pair, when the products that this warp has begun are complete."""
        ctas = _ctas(self._blocks)
        blocks = _of_pair(self._blocks, 0) if self._blocks is not None and ctas > 1 else None
        commit_products(barriers.get_barrier(index), ctas, blocks)

    def _arrive(self, barriers: MbarrierArray, index: Integer) -> None:
        """This thread arrives, counted by the first CTA of a pair."""
        if _ctas(self._blocks) == 1:
            barriers.arrive(index)
        else:
            rank = block_idx_in_cluster()
            barriers.arrive(index, rank - rank % 2)

    def _when_first(self, act: Callable[[], None]) -> None:
        """By the first CTA of a pair."""
        if _ctas(self._blocks) == 1:
            act()
        else:
            when(block_idx_in_cluster() % 2 == 0, act)


class PipelineUmmaAsync(_OfPairs):
    """Sums in tensor memory that products fill and threads empty."""

    def producer_commit(self, state: Place) -> None:
        """The stage is full, in both CTAs of a pair, when the products that this warp has begun are complete."""
        self._calls.record("producer_commit", state)
        self._commit(self.sync_object_full, state.index)

    def producer_tail(self, state: PipelineState) -> None:
        """Wait until all stages are empty: in a pair, by the first CTA, where both say so."""
        self._when_first(lambda: PipelineAsync.producer_tail(self, state))

    def consumer_wait(self, state: Place, try_wait_token: object = None) -> None:
        """Wait until the products are complete; loads of tensor memory come after."""
        super().consumer_wait(state, try_wait_token)
        fence_after_wait()

    def consumer_release(self, state: Place) -> None:
        """This thread does not read the stage any more: counted by the first CTA of a pair."""
        self._calls.record("consumer_release", state)
        self._arrive(self.sync_object_empty, state.index)


class PipelineAsyncUmma(_OfPairs):
    """Operands, in shared or tensor memory, that threads fill and products empty."""

    def producer_commit(self, state: Place) -> None:
        """This thread has filled its part of the stage: counted by the first CTA of a pair."""
        self._calls.record("producer_commit", state)
        self._arrive(self.sync_object_full, state.index)

    def consumer_wait(self, state: Place, try_wait_token: object = None) -> None:
        """Wait until the stage is full; products come after what was stored to tensor memory."""
        super().consumer_wait(state, try_wait_token)
        fence_after_wait()

    def consumer_release(self, state: Place) -> None:
        """The stage is empty, in both CTAs of a pair, when the products that this warp has begun are complete."""
        self._calls.record("consumer_release", state)
        self._commit(self.sync_object_empty, state.index)
