"""Pipelines on mbarriers: what is waited for is there, whoever holds which stage, however handles travel."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import triptych as tt
from triptych import cute, pipeline
from triptych.cute.arch.mbarriers import barrier_address
from triptych.cute.tracing.device import bits32, device_trace
from triptych.cute.tracing.errors import PipelineError
from triptych.kernel_ir.dialects import simt
from triptych.metastage.trace.errors import OperandTypeError

WARP = 32
COUNT = 11


def group(size: int) -> pipeline.CooperativeGroup:
    return pipeline.CooperativeGroup(pipeline.Agent.Thread, size)


def storage(stages: int) -> tuple[Any, Any]:
    """Barriers, and a number for each lane in each stage."""
    barriers = cute.arch.alloc_smem(tt.Int64, 2 * stages)
    shape = cute.make_layout((WARP, stages))
    return barriers, cute.make_tensor(cute.arch.alloc_smem(tt.Int32, WARP * stages), shape)


@tt.jit
def launched(
    kernel: tt.Constexpr[Any],
    out: cute.Tensor,
    stages: tt.Constexpr[int],
    threads: tt.Constexpr[int],
    cluster: tt.Constexpr[int],
) -> None:
    kernel(out, stages).launch(grid=2, block=threads, cluster=(cluster, 1, 1))


def out_of(kernel: Any, stages: int, threads: int = 2 * WARP, cluster: int = 1) -> Any:
    out = np.full((COUNT, WARP), -1, np.int32)
    launched(kernel, out, stages, threads, cluster)
    return out


EXPECTED = np.arange(COUNT)[:, None] * 1000 + np.arange(WARP)[::-1]
"""What a consumer sees that reads what the lane at the other end of the warp wrote."""


@tt.kernel
def with_states(out: cute.Tensor, stages: tt.Constexpr[int]) -> None:
    barriers, buffer = storage(stages)
    pipe = pipeline.PipelineAsync.create(
        num_stages=stages, producer_group=group(WARP), consumer_group=group(WARP), barrier_storage=barriers
    )
    lane = cute.arch.lane_idx()
    if cute.arch.warp_idx() == 0:
        state = pipeline.make_pipeline_state(pipeline.PipelineUserType.Producer, stages)
        for i in range(COUNT):
            pipe.producer_acquire(state, pipe.producer_try_acquire(state))
            buffer[lane, state.index] = i * 1000 + lane
            pipe.producer_commit(state)
            state.advance()
        pipe.producer_tail(state)
    else:
        state = pipeline.make_pipeline_state(pipeline.PipelineUserType.Consumer, stages)
        token = pipe.consumer_try_wait(state)
        for i in range(COUNT):
            pipe.consumer_wait(state, token)
            out[i, lane] = buffer[WARP - 1 - lane, state.index]
            pipe.consumer_release(state)
            state.advance()
            token = tt.Boolean(False)
            if i + 1 < COUNT:
                token = pipe.consumer_try_wait(state)


def release(consumer: Any, held: Any) -> Any:
    """Handles are arguments and results."""
    consumer.release(held)
    return consumer


@tt.kernel
def with_handles(out: cute.Tensor, stages: tt.Constexpr[int]) -> None:
    """The consumer releases a stage one turn late: its handle crosses the loop, a branch and a function."""
    barriers, buffer = storage(stages)
    pipe = pipeline.PipelineAsync.create(
        num_stages=stages,
        producer_group=group(WARP),
        consumer_group=group(WARP),
        barrier_storage=barriers,
        defer_sync=True,
    )
    pipeline.pipeline_init_arrive(cluster_shape_mn=(1, 1))
    pipeline.pipeline_init_wait(cluster_shape_mn=(1, 1))
    producer, consumer = pipe.make_participants()
    lane = cute.arch.lane_idx()
    if cute.arch.warp_idx() == 0:
        for i in range(COUNT):
            handle = producer.acquire()
            buffer[lane, handle.index] = handle.count * 1000 + lane
            if i % 2 == 0:
                handle.commit()
            else:
                producer.commit()
            producer.advance()
        producer.tail()
    else:
        held = consumer.wait_and_advance(consumer.try_wait())
        for i in range(1, COUNT):
            following = consumer.wait_and_advance()
            out[i - 1, lane] = buffer[WARP - 1 - lane, held.index]
            if held.count % 2 == 0:
                held.release()
            else:
                consumer = release(consumer, held)
            held = following.clone()
        out[COUNT - 1, lane] = buffer[WARP - 1 - lane, held.index]
        held.release()


@pytest.mark.parametrize(("kernel", "stages"), [(with_states, 1), (with_states, 3), (with_handles, 2)])
def test_consumers_read_what_producers_wrote(kernel: Any, stages: int) -> None:
    assert (out_of(kernel, stages) == EXPECTED).all()


def advanced(producer: Any) -> tuple[Any, Any]:
    """Where a participant is, and itself one further: public programs read the state by its mangled name."""
    state = producer._PipelineProducer__state.clone()
    producer.advance()
    return state, producer


@tt.kernel
def handed_on(out: cute.Tensor, count: tt.Int32, copies: tt.Constexpr[bool]) -> None:
    """A participant that functions return is the same one, also where a loop assigns it."""
    barriers, _ = storage(4)
    pipe = pipeline.PipelineAsync.create(
        num_stages=4, producer_group=group(WARP), consumer_group=group(WARP), barrier_storage=barriers
    )
    producer, _ = pipe.make_participants()
    alias = producer
    for i in range(count):
        state, producer = advanced(producer)
        out[i, 0] = state.index
        if copies:
            producer = producer.clone()
    state, _ = advanced(producer)
    out[count, 0] = state.index
    state, _ = advanced(alias)
    out[count, 1] = state.index


@pytest.mark.parametrize("copies", [False, True])
def test_loops_hand_participants_on(copies: bool) -> None:
    @tt.jit
    def run(out: cute.Tensor, count: tt.Int32) -> None:
        handed_on(out, count, copies).launch(grid=1, block=1)

    out = np.full((COUNT, WARP), -1, np.int32)
    run(out, 2)
    assert list(out[:3, 0]) == [0, 1, 2]
    assert copies or out[2, 1] == 3


def complete(pointer: Any, amount: Any) -> None:
    device_trace().operation(simt.MBARRIER_COMPLETE, (barrier_address(pointer), bits32(amount)))


@tt.kernel
def with_bytes(out: cute.Tensor, stages: tt.Constexpr[int]) -> None:
    filled_by_bytes(out, stages, 1)


@tt.kernel
def with_bytes_in_a_pair(out: cute.Tensor, stages: tt.Constexpr[int]) -> None:
    filled_by_bytes(out, stages, 2)


def filled_by_bytes(out: Any, stages: int, blocks: int) -> None:
    """Two warps of consumers, counted as warps; the bytes say when a stage is full."""
    barriers, buffer = storage(stages)
    pipe = pipeline.PipelineTmaAsync.create(
        num_stages=stages,
        producer_group=group(1),
        consumer_group=group(2),
        tx_count=4 * WARP,
        barrier_storage=barriers,
        cta_layout_vmnk=cute.make_layout((blocks, 1, 1, 1)),
    )
    producer, consumer = pipe.make_participants()
    lane, warp = cute.arch.lane_idx(), cute.arch.warp_idx()
    if warp == 0:
        for i in range(COUNT):
            handle = producer.acquire_and_advance(producer.try_acquire())
            buffer[lane, handle.index] = i * 1000 + lane
            cute.arch.fence_proxy("async.shared", space="cta")
            cute.arch.sync_warp()
            complete(handle.barrier, 4)
            handle.commit()
        producer.tail()
    else:
        for i in range(COUNT):
            full = consumer.wait_and_advance()
            if i % 2 + 1 == warp:
                out[i, lane] = buffer[WARP - 1 - lane, full.index]
            cute.arch.sync_warp()  # one lane releases what all have read
            full.release()


def test_bytes_fill_a_stage_and_warps_empty_it() -> None:
    assert (out_of(with_bytes, 2, 3 * WARP) == EXPECTED).all()


def test_each_block_of_a_pair_has_its_own_bytes() -> None:
    """Copies of A reach the blocks along n that have the same place in their pairs: here only the block itself."""
    assert (out_of(with_bytes_in_a_pair, 2, 3 * WARP, 2) == EXPECTED).all()


@tt.kernel
def emptied_by_products(out: cute.Tensor, stages: tt.Constexpr[int]) -> None:
    """A warp that fills and empties stages; of the two blocks along n, B of each reaches only itself."""
    barriers, _ = storage(stages)
    pipe = pipeline.PipelineTmaUmma.create(
        num_stages=stages,
        producer_group=group(1),
        consumer_group=group(1),
        tx_count=4 * WARP,
        barrier_storage=barriers,
        cta_layout_vmnk=cute.make_layout((1, 1, 2, 1)),
        mcast_mode_mn=(0, 1),
    )
    producer, consumer = pipe.make_participants()
    for i in range(COUNT):
        handle = producer.acquire_and_advance()
        complete(handle.barrier, 4)
        consumer.wait_and_advance().release()
        out[i, cute.arch.lane_idx()] = i * 1000 + 31 - cute.arch.lane_idx()
    producer.tail()


@pytest.mark.parametrize("stages", [1, 3])
def test_products_empty_the_stages_that_share_an_operand(stages: int) -> None:
    assert (out_of(emptied_by_products, stages, WARP, 2) == EXPECTED).all()


@tt.kernel
def in_turns(out: cute.Tensor, stages: tt.Constexpr[int]) -> None:
    """Three warps append their number to the list of each place, in order."""
    barriers, lengths = cute.arch.alloc_smem(tt.Int64, 3 * stages), cute.arch.alloc_smem(tt.Int32, stages)
    lane, warp = cute.arch.lane_idx(), cute.arch.warp_idx()
    order = pipeline.PipelineOrder.create(
        barrier_storage=barriers, depth=stages, length=3, group_id=warp, producer_group=group(WARP)
    )
    if warp == 0 and lane == 0:
        for i in tt.range_constexpr(stages):
            (lengths + i).store(0)
    cute.arch.sync_threads()
    for turn in range(3 if stages == 1 else 2):
        order.wait()
        length = lengths + turn % stages
        at = length.load()
        out[turn % stages * 3 + at, lane] = warp
        cute.arch.sync_warp()
        if lane == 0:
            length.store(at + 1)
        order.arrive()
    pipeline.arrive_and_wait(barrier_id=1, num_threads=3 * WARP)


@pytest.mark.parametrize("depth", [1, 2])
def test_groups_take_turns(depth: int) -> None:
    turns = 3 if depth == 1 else 2
    assert (out_of(in_turns, depth, 3 * WARP)[: 3 * turns] == np.array([0, 1, 2] * turns)[:, None]).all()


@tt.kernel
def in_turns_by_a_state(out: cute.Tensor, stages: tt.Constexpr[int]) -> None:
    """The same with a state that the program keeps and gives to each call."""
    barriers, length = cute.arch.alloc_smem(tt.Int64, 3 * stages), cute.arch.alloc_smem(tt.Int32, 1)
    lane, warp = cute.arch.lane_idx(), cute.arch.warp_idx()
    order = pipeline.PipelineOrder.create(
        barrier_storage=barriers, depth=stages, length=3, group_id=warp, producer_group=group(WARP)
    )
    state = order.state
    if warp == 0 and lane == 0:
        length.store(0)
    cute.arch.sync_threads()
    for _ in range(2):
        order.wait(state)
        at = length.load()
        out[at, lane] = warp
        cute.arch.sync_warp()
        if lane == 0:
            length.store(at + 1)
        state = order.arrive(state)
    pipeline.arrive_and_wait(barrier_id=1, num_threads=3 * WARP)


def test_groups_take_turns_by_a_state() -> None:
    assert (out_of(in_turns_by_a_state, 1, 3 * WARP)[:6] == np.array([0, 1, 2] * 2)[:, None]).all()


@tt.kernel
def several_stages_at_once(out: cute.Tensor, stages: tt.Constexpr[int]) -> None:
    """Programs that leave the stages of others out change the parts of a state themselves."""
    lane = cute.arch.lane_idx()
    state = pipeline.make_pipeline_state(pipeline.PipelineUserType.Consumer, stages)
    for _ in range(3):
        if state._index + 2 >= state.stages:
            state._phase ^= 1
        state._index = (state._index + 2) % state.stages
        state._count += 2
    out[0, lane], out[1, lane], out[2, lane] = state.count, state.index, state.phase


def test_a_state_goes_several_stages_at_once() -> None:
    assert (out_of(several_stages_at_once, 4)[:3] == np.array([6, 2, 1])[:, None]).all()


@pytest.mark.parametrize("reserved", [False, True])
def test_a_pipeline_that_is_given_no_memory_has_its_own(reserved: bool) -> None:
    @tt.kernel
    def kernel(out: cute.Tensor, stages: tt.Constexpr[int]) -> None:
        _, buffer = storage(stages)
        pipe = pipeline.PipelineAsync.create(
            num_stages=stages,
            producer_group=group(WARP),
            consumer_group=group(WARP),
            barrier_storage=pipeline.alloc_reserved_mbarrier(stages) if reserved else None,
        )
        producer, consumer = pipe.make_participants()
        lane = cute.arch.lane_idx()
        if cute.arch.warp_idx() == 0:
            for i in range(COUNT):
                filled = producer.acquire_and_advance()
                buffer[lane, filled.index] = i * 1000 + lane
                filled.commit()
        else:
            for i in range(COUNT):
                full = consumer.wait_and_advance()
                out[i, lane] = buffer[WARP - 1 - lane, full.index]
                full.release()

    assert (out_of(kernel, 2) == EXPECTED).all()


def test_mistakes_are_refused_while_tracing() -> None:
    @tt.kernel
    def without_memory(out: cute.Tensor, stages: tt.Constexpr[int]) -> None:
        words = cute.arch.alloc_smem(tt.Int32, 2 * stages)
        pipeline.PipelineAsync.create(
            num_stages=stages, producer_group=group(1), consumer_group=group(1), barrier_storage=words
        )

    @tt.kernel
    def of_too_many_bytes(out: cute.Tensor, stages: tt.Constexpr[int]) -> None:
        barriers, _ = storage(stages)
        pipeline.PipelineTmaAsync.create(
            num_stages=stages,
            producer_group=group(1),
            consumer_group=group(1),
            tx_count=1 << 20,
            barrier_storage=barriers,
        )

    with pytest.raises(PipelineError, match="memory for its barriers"):
        out_of(without_memory, 1)
    with pytest.raises(PipelineError, match="bytes of a stage"):
        out_of(of_too_many_bytes, 1)
    with pytest.raises(OperandTypeError, match="not aligned"):
        pipeline.CooperativeGroup(pipeline.Agent.Thread, 48, alignment=32)
