"""Pipelines that programs derive: of another class than `create` made, of their fields, with methods of their own."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
import pytest

import triptych as tt
from triptych import cute, pipeline
from triptych.cute.tracing.errors import PipelineError
from triptych.cutlass_dsl import dsl_user_op, if_generate
from triptych.diagnostics.kernel_errors import DeadlockError
from triptych.metastage.trace.errors import OperandTypeError
from triptych.metastage.trace.locations import is_program
from triptych.metastage.trace.user_code import is_own
from triptych.support.config import override

WARP, COUNT, STAGES = 32, 7, 2


def group(size: int) -> pipeline.CooperativeGroup:
    return pipeline.CooperativeGroup(pipeline.Agent.Thread, size)


def at(index: Any, phase: Any) -> pipeline.PipelineState:
    """A place of no ring, as programs make it that count phases themselves."""
    return pipeline.PipelineState(0, tt.Int32(0), index, phase)


class ByIndex:
    """What programs mix into every pipeline."""

    @dsl_user_op
    def producer_acquire_at(self: Any, index: Any, phase: Any, *, loc: Any = None, ip: Any = None) -> None:
        self.producer_acquire(at(index, phase), loc=loc, ip=ip)

    @dsl_user_op
    def consumer_wait_at(self: Any, index: Any, phase: Any, *, loc: Any = None, ip: Any = None) -> None:
        self.consumer_wait(at(index, phase), loc=loc, ip=ip)

    @dsl_user_op
    def consumer_release_at(self: Any, index: Any, *, loc: Any = None, ip: Any = None) -> None:
        self.consumer_release(at(index, tt.Int32(0)), loc=loc, ip=ip)


def by_one(method: Any, pipe: Any, state: Any, loc: Any, ip: Any) -> None:
    cute.arch.sync_warp()
    with cute.arch.elect_one():
        method(pipe, state, loc=loc, ip=ip)


@dataclass(frozen=True)
class ByOneThread(ByIndex, pipeline.PipelineAsync):
    """One thread of each warp arrives for all, if it is told so."""

    _by_one: bool = False

    @staticmethod
    def create(*args: Any, by_one: bool = False, **kwargs: Any) -> Any:
        made = pipeline.PipelineAsync.create(*args, **kwargs)
        object.__setattr__(made, "__class__", ByOneThread)
        object.__setattr__(made, "_by_one", by_one)
        return made

    @dsl_user_op
    def producer_commit(self, state: Any, *, loc: Any = None, ip: Any = None) -> None:
        if self._by_one:
            by_one(pipeline.PipelineAsync.producer_commit, self, state, loc, ip)
        else:
            pipeline.PipelineAsync.producer_commit(self, state, loc=loc, ip=ip)  # type: ignore[call-arg]

    @dsl_user_op
    def consumer_release(self, state: Any, *, loc: Any = None, ip: Any = None) -> None:
        by_one(pipeline.PipelineAsync.consumer_release, self, state, loc, ip)


@tt.kernel
def by_index(out: cute.Tensor, forgets: tt.Constexpr[bool]) -> None:
    """Phases are numbered on and on: a barrier reads one bit of them."""
    barriers = cute.arch.alloc_smem(tt.Int64, 2 * STAGES)
    memory = cute.arch.alloc_smem(tt.Int32, WARP * STAGES)
    buffer = cute.make_tensor(memory, cute.make_layout((WARP, STAGES)))
    pipe = ByOneThread.create(
        num_stages=STAGES, producer_group=group(1), consumer_group=group(1), barrier_storage=barriers, by_one=True
    )
    lane = cute.arch.lane_idx()
    if cute.arch.warp_idx() == 0:
        for i in range(COUNT):
            pipe.producer_acquire_at(i % STAGES, i // STAGES + 1)
            buffer[lane, i % STAGES] = i * 100 + lane
            pipe.producer_commit(at(i % STAGES, 0))
    else:
        for i in range(COUNT):
            pipe.consumer_wait_at(i % STAGES, i // STAGES)
            out[i, lane] = buffer[WARP - 1 - lane, i % STAGES]
            if not forgets:
                pipe.consumer_release_at(i % STAGES)


@tt.jit
def launched(
    kernel: tt.Constexpr[Any], out: cute.Tensor, choice: tt.Constexpr[Any], threads: tt.Constexpr[int]
) -> None:
    kernel(out, choice).launch(grid=1, block=threads)


EXPECTED = np.arange(COUNT)[:, None] * 100 + np.arange(WARP)[::-1]


@pytest.mark.parametrize("checks", ["", "races"])
def test_a_pipeline_of_another_class(checks: str) -> None:
    out = np.zeros((COUNT, WARP), np.int32)
    with override(debug=checks):
        launched(by_index, out, False, 2 * WARP)
    assert (out == EXPECTED).all()


@dataclass(frozen=True)
class MoreBytes(pipeline.PipelineTmaAsync):
    """Its own bytes are expected by itself, and others by whoever knows of them."""

    @dsl_user_op
    def producer_acquire(
        self, state: Any, try_acquire_token: Any = None, extra_tx_count: int = 0, *, loc: Any = None, ip: Any = None
    ) -> None:
        if_generate(
            try_acquire_token is None or try_acquire_token == 0,
            lambda: self.sync_object_empty.wait(state.index, state.phase, loc=loc, ip=ip),
            loc=loc,
            ip=ip,
        )
        if extra_tx_count == 0:
            self.sync_object_full.arrive(state.index, self.producer_mask, loc=loc, ip=ip)
        else:
            count = self.sync_object_full.tx_count + extra_tx_count
            self.sync_object_full.arrive_and_expect_tx(state.index, count, loc=loc, ip=ip)


@tt.kernel
def of_fields(out: cute.Tensor, extra: tt.Constexpr[int]) -> None:
    """Made of synchronization objects and masks; bytes are counted by hand."""
    barriers = cute.arch.alloc_smem(tt.Int64, 2)
    producers = (pipeline.PipelineOp.TmaLoad, group(1))
    full = pipeline.MbarrierArray(barriers, 1, producers, 8)
    empty = pipeline.PipelineAsync._make_sync_object(barriers + 1, 1, (pipeline.PipelineOp.AsyncThread, group(1)))
    pipeline.agent_sync(pipeline.Agent.ThreadBlock)
    told, tells = pipeline.PipelineTmaAsync.init_empty_barrier_arrive_signal(None, cute.arch.thread_idx()[0])
    pipe = MoreBytes(full, empty, 1, None, told, tells)
    state = pipeline.make_pipeline_state(pipeline.PipelineUserType.Producer, 1)
    pipe.producer_acquire(state, extra_tx_count=extra)
    with cute.arch.elect_one():
        cute.arch.mbarrier_expect_tx(pipe.producer_get_barrier(state), 4)  # further bytes, that come before these
        out[0, 0] = tt.Int32(pipe.consumer_try_wait(at(0, 0)))


@pytest.mark.parametrize("extra", [0, 16])
def test_a_pipeline_of_fields(extra: int) -> None:
    out = np.full((COUNT, WARP), -1, np.int32)
    launched(of_fields, out, extra, WARP)
    assert out[0, 0] == 0


def test_calls_of_a_derived_pipeline_are_checked() -> None:
    out = np.zeros((COUNT, WARP), np.int32)
    with override(debug="races"), pytest.raises(DeadlockError) as caught:
        launched(by_index, out, True, 2 * WARP)
    assert "consumer_release" in str(caught.value)


@tt.kernel
def nobody_arrives(out: cute.Tensor, op: tt.Constexpr[Any]) -> None:
    barriers = cute.arch.alloc_smem(tt.Int64, 1)
    pipeline.MbarrierArray(barriers, 1, (op, group(1))).arrive(0)


@tt.kernel
def goes_on(out: cute.Tensor, op: tt.Constexpr[Any]) -> None:
    at(0, 0).advance()


@tt.kernel
def unnamed_threads_meet(out: cute.Tensor, op: tt.Constexpr[Any]) -> None:
    pipeline.agent_sync(pipeline.Agent.Warp)


def test_what_means_nothing_is_refused() -> None:
    out = np.zeros((COUNT, WARP), np.int32)
    with pytest.raises(PipelineError, match="nobody arrives at an mbarrier"):
        launched(nobody_arrives, out, pipeline.PipelineOp.TmaStore, WARP)
    with pytest.raises(OperandTypeError, match="number of stages"):
        launched(goes_on, out, None, WARP)
    with pytest.raises(PipelineError, match="threads that are not named"):
        launched(unnamed_threads_meet, out, None, WARP)


@dataclass(frozen=True)
class Numbered(pipeline.NamedBarrier):
    @dsl_user_op
    def arrive_and_wait_at(self, index: Any, *, loc: Any = None, ip: Any = None) -> None:
        cute.arch.barrier(barrier_id=self.barrier_id + index, number_of_threads=self.num_threads, loc=loc, ip=ip)  # type: ignore[call-arg]


@tt.kernel
def meets(out: cute.Tensor, index: tt.Constexpr[int]) -> None:
    word = cute.make_tensor(cute.arch.alloc_smem(tt.Int32, 1), cute.make_layout(1))
    barrier = Numbered(2, 2 * WARP)
    if cute.arch.warp_idx() == 1:
        word[0] = 5
    barrier.arrive_and_wait_at(index)
    out[0, cute.arch.lane_idx()] = word[0]
    barrier.arrive_and_wait(loc=None, ip=None)  # type: ignore[call-arg]


def test_a_named_barrier_of_another_class() -> None:
    out = np.zeros((COUNT, WARP), np.int32)
    launched(meets, out, 3, 2 * WARP)
    assert (out[0] == 5).all()


def test_recording_a_method_of_a_program_makes_no_code_of_ours_the_programs() -> None:
    """What a checker or a deadlock names later would be our line."""
    out = np.zeros((COUNT, WARP), np.int32)
    launched(by_index, out, False, 2 * WARP)
    wrapper = vars(ByOneThread)["producer_commit"]
    assert wrapper.__module__ == __name__
    while hasattr(wrapper, "__wrapped__"):
        assert is_own(wrapper)
        assert not is_program(wrapper.__code__)
        wrapper = wrapper.__wrapped__
    assert not is_own(wrapper)
