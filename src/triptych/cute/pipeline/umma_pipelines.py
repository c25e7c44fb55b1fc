"""UMMA pipelines: products in tensor memory empty or fill stages, and a commit says when they have.

In a pair of CTAs the first one issues the products. Copies of both count on its barriers, and its commits arrive in all
blocks whose stages the products have read, or in both blocks of the pair.
"""

from __future__ import annotations

from typing import Any, ClassVar, Self

from triptych.cute.arch.indices import block_idx_in_cluster
from triptych.cute.dynamic.traced_integers import ints
from triptych.cute.nvgpu.cta_groups import CtaGroup
from triptych.cute.pipeline.mbarrier_pipelines import PipelineAsync, bytes_of_a_stage
from triptych.cute.pipeline.mbarrier_ring import full_and_empty, several, when
from triptych.cute.pipeline.participants import Agent, CooperativeGroup, PipelineOp
from triptych.cute.pipeline.states import PipelineState, Place
from triptych.cute.tensors.layout_queries import make_layout_image_mask
from triptych.cute.tracing.device import Integer, device_function, device_trace
from triptych.cute.tracing.errors import PipelineError
from triptych.kernel_ir.dialects.tile import TMEM_FENCE
from triptych.layout import Layout, size
from triptych.metastage.trace.trace import place
from triptych.support.dataclass import dataclass

_PAIR, _M, _N = 0, 1, 2
"""Modes of a cluster (v, m, n, k)."""


@dataclass(frozen=True, eq=False, repr=False)
class PipelineTmaUmma(PipelineAsync):
    """Stages that TMA copies fill and products read: a stage is empty when its products are complete."""

    is_leader_cta: Any
    cta_group: CtaGroup

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
        mcast_mode_mn: tuple[int, int] = (1, 1),
        enable_multicast_signaling: bool = True,
        defer_sync: bool = False,
    ) -> Self:
        """An empty pipeline whose stages are full when `tx_count` bytes have come; all blocks of a cluster whose copies
        reach a stage are told when it is empty."""
        blocks = several(cta_layout_vmnk)
        if not enable_multicast_signaling and blocks is not None:
            raise PipelineError(
                "who copies to other blocks of a cluster has to know when they have room",
                span=place(),
                found=f"enable_multicast_signaling=False, cta_layout_vmnk={cta_layout_vmnk}",
                expected="enable_multicast_signaling=True, or blocks without a cluster",
            )
        arrays = full_and_empty(
            barrier_storage,
            num_stages,
            (PipelineOp.TmaLoad, producer_group),
            (PipelineOp.TCGen05Mma, consumer_group),
            bytes_of_a_stage(tx_count),
            blocks=blocks,
            defer_sync=defer_sync,
        )
        mask = None if blocks is None else cls._compute_mcast_arrival_mask(blocks, mcast_mode_mn)
        return cls(*arrays, num_stages, mask, mask, leads(blocks), cta_group(blocks))

    @staticmethod
    @device_function
    def _compute_mcast_arrival_mask(cta_layout_vmnk: Layout, mcast_mode_mn: tuple[int, int]) -> Any:
        """The blocks whose copies reach this one: those of B along n, of A along m."""
        shared = [mode for mode, is_shared in zip((_N, _M), mcast_mode_mn, strict=True) if is_shared]
        return blocks_along(cta_layout_vmnk, *shared)

    @staticmethod
    @device_function
    def _compute_is_leader_cta(cta_layout_vmnk: Layout) -> Any:
        return leads(cta_layout_vmnk)

    def producer_acquire(self, state: Place, try_acquire_token: object = None) -> None:
        """Wait until the stage is empty, then expect its bytes: in a pair, those of both, by the first."""
        super().producer_acquire(state, try_acquire_token)
        when(self.is_leader_cta, lambda: self.sync_object_full.arrive(state.index, self.producer_mask))

    def producer_commit(self, state: Place) -> None:
        """Nothing: the bytes say it."""

    def consumer_release(self, state: Place) -> None:
        """The stage is empty, in all blocks whose copies reach this one, when products begun so far are complete."""
        self.sync_object_empty.arrive(state.index, self.consumer_mask, self.cta_group)


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
            self.sync_object_empty.arrive_mbarrier(state.index)


@dataclass(frozen=True, eq=False, repr=False)
class _OfPairs(PipelineAsync):
    """A pipeline between products, which the first CTA of a pair issues, and threads of both."""

    cta_group: CtaGroup

    _ops: ClassVar[tuple[PipelineOp, PipelineOp]]
    """How producers and consumers arrive."""

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
        """An empty pipeline, of the pair of CTAs where there is one: products tell both, threads tell the first."""
        blocks = several(cta_layout_vmnk)
        producers, consumers = zip(cls._ops, (producer_group, consumer_group), strict=True)
        arrays = full_and_empty(barrier_storage, num_stages, producers, consumers, blocks=blocks, defer_sync=defer_sync)
        full_mask, empty_mask = (
            _both_of_pair(blocks) if op is PipelineOp.TCGen05Mma else leader(blocks) for op in cls._ops
        )
        return cls(*arrays, num_stages, full_mask, empty_mask, cta_group(blocks))


def _both_of_pair(blocks: Layout | None) -> Any:
    return blocks_along(blocks, _PAIR) if blocks is not None and cta_group(blocks) is CtaGroup.TWO else None


class PipelineUmmaAsync(_OfPairs):
    """Sums in tensor memory that products fill and threads empty."""

    _ops = PipelineOp.TCGen05Mma, PipelineOp.AsyncThread

    def producer_commit(self, state: Place) -> None:
        """The stage is full, in both CTAs of a pair, when the products that this warp has begun are complete."""
        self.sync_object_full.arrive(state.index, self.producer_mask, self.cta_group)

    def producer_tail(self, state: PipelineState) -> None:
        """Wait until all stages are empty: in a pair, by the first CTA, where both say so."""
        alone = self.cta_group is CtaGroup.ONE
        when(alone or block_idx_in_cluster() % 2 == 0, lambda: self.sync_object_empty.wait_for_all(state))

    def consumer_wait(self, state: Place, try_wait_token: object = None) -> None:
        """Wait until the products are complete; loads of tensor memory come after."""
        super().consumer_wait(state, try_wait_token)
        fence_after_wait()


class PipelineAsyncUmma(_OfPairs):
    """Operands, in shared or tensor memory, that threads fill and products empty."""

    _ops = PipelineOp.AsyncThread, PipelineOp.TCGen05Mma

    def consumer_wait(self, state: Place, try_wait_token: object = None) -> None:
        """Wait until the stage is full; products come after what was stored to tensor memory."""
        super().consumer_wait(state, try_wait_token)
        fence_after_wait()

    def consumer_release(self, state: Place) -> None:
        """The stage is empty, in both CTAs of a pair, when the products that this warp has begun are complete."""
        self.sync_object_empty.arrive(state.index, self.consumer_mask, self.cta_group)


# blocks of a cluster ------------------------------------------------------------------------------------------------
def fence_after_wait() -> None:
    """What this thread does with tensor memory from here on comes after what it has waited for."""
    trace = device_trace()
    trace.operation(TMEM_FENCE, attributes={"kind": trace.builder.string("after")})


def cta_group(blocks: Layout | None) -> CtaGroup:
    """The CTAs that compute a product together."""
    count: Any = 1 if blocks is None else size(blocks, [0])
    return CtaGroup(int(count))


def leads(blocks: Layout | None) -> Any:
    """Whether this block issues products: the first of a pair, and every one without."""
    return cta_group(blocks) is CtaGroup.ONE or block_idx_in_cluster() % 2 == 0


def leader(blocks: Layout | None) -> Any:
    """The block of the cluster that issues the products of this one's pair; None: itself."""
    if cta_group(blocks) is CtaGroup.ONE:
        return None
    rank = block_idx_in_cluster()
    return rank - rank % 2


def blocks_along(blocks: Layout, *modes: int) -> Any:
    """A mask of the blocks that differ from this one along one of the modes, with the other CTA of the pair of each."""
    found: Any = blocks.get_flat_coord(ints(block_idx_in_cluster()))
    _, *here = tuple(found)
    ctas = cta_group(blocks).value
    masks = [make_layout_image_mask(blocks, (v, *here), mode) for v in range(ctas) for mode in modes]
    mask = masks[0]
    for more in masks[1:]:
        mask = mask | more
    return mask
