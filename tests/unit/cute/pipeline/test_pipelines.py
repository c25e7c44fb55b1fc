"""Pipelines: states that go round, named barriers, and stages that are full when read and free when written."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

import triptych as tt
from triptych import cute, pipeline
from triptych.cute import nvgpu
from triptych.cute.pipeline import copy_pipelines as async_copy_pipelines
from triptych.cute.tracing.errors import PipelineError
from triptych.metastage.trace.errors import OperandTypeError

EVERYBODY = pipeline.CooperativeGroup(pipeline.Agent.ThreadBlock)


# states -----------------------------------------------------------------------------------------------------------
@tt.kernel
def go_round(out: cute.Tensor, turns: tt.Int32, stages: tt.Constexpr[int]) -> None:
    state = pipeline.make_pipeline_state(pipeline.PipelineUserType.Producer, stages)
    for turn in range(turns):
        out[turn, 0], out[turn, 1], out[turn, 2] = state.count, state.index, state.phase
        state.advance()
    other = state.clone()
    for _ in range(turns):
        other.reverse()
    out[turns, 0], out[turns, 1], out[turns, 2] = other.count, other.index, other.phase
    state.reset_count()
    out[turns + 1, 0], out[turns + 1, 1], out[turns + 1, 2] = state.count, state.index, state.phase


@tt.jit
def went_round(out: cute.Tensor, turns: tt.Int32, stages: tt.Constexpr[int]) -> None:
    go_round(out, turns, stages).launch(grid=1, block=1)


@pytest.mark.parametrize("stages", [1, 2, 3])
def test_a_state_changes_in_a_loop_at_run_time(stages: int) -> None:
    turns = 7
    out = np.full((turns + 2, 3), -1, np.int32)
    went_round(out, turns, stages)
    places = [(i, i % stages, (1 + i // stages) % 2) for i in range(turns + 1)]
    assert out[:turns].tolist() == [list(place) for place in places[:turns]]
    assert out[turns].tolist() == list(places[0])
    assert out[turns + 1].tolist() == [0, *places[turns][1:]]


@tt.kernel
def choose_a_state(out: cute.Tensor, n: tt.Int32) -> None:
    state = pipeline.make_pipeline_state(pipeline.PipelineUserType.Consumer, 4)
    if n > 2:
        state = pipeline.PipelineState(4, 10, 2, 1)
    for _ in range(n):
        state.advance()
    out[0] = state.count


@tt.jit
def chosen(out: cute.Tensor, n: tt.Int32) -> None:
    choose_a_state(out, n).launch(grid=1, block=1)


@pytest.mark.parametrize(("n", "count"), [(2, 2), (3, 13)])
def test_a_state_is_a_variable_like_others(n: int, count: int) -> None:
    out = np.zeros(1, np.int32)
    chosen(out, n)
    assert out[0] == count


@tt.kernel
def one_place(out: cute.Tensor, moves: tt.Constexpr[bool]) -> None:
    state = pipeline.PipelineState(0, 0, 2, 1)
    if tt.const_expr(moves):
        state.advance()
    out[0] = state.index * 10 + state.phase


@tt.jit
def placed(out: cute.Tensor, moves: tt.Constexpr[bool]) -> None:
    one_place(out, moves).launch(grid=1, block=1)


def test_a_state_of_no_stages_is_one_place() -> None:
    out = np.zeros(1, np.int32)
    placed(out, False)
    assert out[0] == 21
    with pytest.raises(OperandTypeError, match="the number of stages is part of the program"):
        placed(out, True)


@tt.kernel
def keep_a_state(out: cute.Tensor, rounds: tt.Int32, turns: tt.Int32, keeps: tt.Constexpr[bool]) -> None:
    state = pipeline.make_pipeline_state(pipeline.PipelineUserType.Consumer, 4)
    done = tt.Int32(0)
    while done < rounds:
        for turn in range(turns):
            if turn % 2 == 0:
                state.advance()
            if tt.const_expr(keeps):
                kept = state.clone()
            state.advance()
            if tt.const_expr(keeps):
                out[done, turn] = 100 * kept.count + state.count
        done += 1


@tt.jit
def kept(out: cute.Tensor, rounds: tt.Int32, turns: tt.Int32) -> None:
    keep_a_state(out, rounds, turns, True).launch(grid=1, block=1)


def test_a_state_may_be_made_in_a_loop_inside_a_loop() -> None:
    """No variable has it before; both loops carry its numbers, which are memory of a thread."""
    out = np.zeros((2, 3), np.int32)
    kept(out, 2, 3)
    assert out.tolist() == [[102, 203, 405], [607, 708, 910]]


@tt.kernel
def stages_at_run_time(n: tt.Int32) -> None:
    pipeline.make_pipeline_state(pipeline.PipelineUserType.Consumer, n)  # type: ignore[arg-type]


@tt.jit
def launch_stages_at_run_time(n: tt.Int32) -> None:
    stages_at_run_time(n).launch(grid=1, block=1)


def test_the_number_of_stages_is_static() -> None:
    with pytest.raises(OperandTypeError, match="part of the program"):
        launch_stages_at_run_time(3)


# barriers ---------------------------------------------------------------------------------------------------------
BLOCK = pipeline.NamedBarrier(barrier_id=1, num_threads=64)
PAIR = pipeline.NamedBarrier(barrier_id=2, num_threads=64)


@tt.kernel
def exchange(out: cute.Tensor) -> None:
    thread, _, _ = cute.arch.thread_idx()
    shared = cute.SmemAllocator().allocate_tensor(tt.Int32, 64)
    shared[thread] = thread
    BLOCK.arrive_and_wait()
    out[thread] = shared[63 - thread]


@tt.kernel
def hand_over(out: cute.Tensor) -> None:
    thread, _, _ = cute.arch.thread_idx()
    shared = cute.SmemAllocator().allocate_tensor(tt.Int32, 64)
    if thread < 32:
        shared[thread] = 2 * thread
        PAIR.arrive()
    else:
        PAIR.wait()
        out[thread - 32] = shared[63 - thread]


@tt.jit
def launched(out: cute.Tensor, kernel: tt.Constexpr[Any]) -> None:
    kernel(out).launch(grid=1, block=64)


def test_all_threads_meet_at_a_named_barrier() -> None:
    out = np.zeros(64, np.int32)
    launched(out, exchange)
    assert out.tolist() == list(range(63, -1, -1))


def test_some_threads_only_arrive() -> None:
    out = np.zeros(64, np.int32)
    launched(out, hand_over)
    assert out[:32].tolist() == list(range(62, -1, -2))


def test_a_barrier_of_the_whole_block_needs_no_coroutines() -> None:
    out = np.zeros(64, np.int32)
    assert "llvm.coro" not in tt.compile(launched, out, exchange).llvm
    assert "llvm.coro" in tt.compile(launched, out, hand_over).llvm


# the order of events ----------------------------------------------------------------------------------------------
class PythonInt:
    """A variable of the pipeline, outside of any kernel."""

    def __init__(self, value: int) -> None:
        self.value = value

    def get(self) -> int:
        return self.value

    def set(self, value: int) -> None:
        self.value = value


def either(condition: bool, then: Callable[[], None], otherwise: Callable[[], None] = lambda: None) -> None:
    then() if condition else otherwise()


@st.composite
def schedules(draw: st.DrawFn) -> tuple[int, list[str]]:
    """Any order in which a thread may use a pipeline: it waits for what was committed and fills what is free."""
    stages = draw(st.integers(1, 5))
    filled = waited = released = 0
    events: list[str] = []
    for choice in draw(st.lists(st.integers(0, 2), max_size=60)):
        if choice == 0 and filled - released < stages:
            events, filled = [*events, "fill"], filled + 1
        elif choice == 1 and waited < filled:
            events, waited = [*events, "wait"], waited + 1
        elif choice == 2 and released < waited:
            events, released = [*events, "release"], released + 1
    return stages, events


@given(schedules())
def test_stages_are_full_when_read_and_free_when_filled(schedule: tuple[int, list[str]]) -> None:
    stages, events = schedule
    log: list[tuple[str, int]] = []
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(async_copy_pipelines, "RunTimeInt", PythonInt)
        patch.setattr(async_copy_pipelines, "when", either)
        patch.setattr(async_copy_pipelines, "cp_async_commit_group", lambda: log.append(("commit", 0)))
        patch.setattr(async_copy_pipelines, "cp_async_wait_group", lambda n: log.append(("complete but", n)))
        patch.setattr(async_copy_pipelines, "sync_threads", lambda: log.append(("meet", 0)))
        pipe = async_copy_pipelines._OneGroup(stages)
        for event in events:
            if event == "fill":
                pipe.acquire(None)  # type: ignore[arg-type]
                log.append(("fill", 0))
                pipe.commit(None)  # type: ignore[arg-type]
            elif event == "wait":
                pipe.wait(None)  # type: ignore[arg-type]
                log.append(("read", 0))
            else:
                log.append(("released", 0))
                pipe.release(None)  # type: ignore[arg-type]
    committed = complete = visible = filled = read = released = free = 0
    for event, number in log:
        match event:
            case "commit":
                committed += 1
            case "complete but":
                complete = max(complete, committed - number)
            case "meet":
                visible, free = complete, released
            case "fill":
                assert filled - stages < free, "another thread may still read what is overwritten"
                filled += 1
            case "read":
                assert read < visible, "a copy of another thread may still be under way"
                read += 1
            case "released":
                released += 1


# execution --------------------------------------------------------------------------------------------------------
def copy_of_rows(threads: int) -> cute.TiledCopy:
    atom = cute.make_copy_atom(nvgpu.cpasync.CopyG2SOp(), tt.Float32, num_bits_per_copy=32)
    return cute.make_tiled_copy_tv(atom, cute.make_layout((threads, 1)), cute.make_layout((1, 1)))


@tt.kernel
def sum_rows(x: cute.Tensor, out: cute.Tensor, stages: tt.Constexpr[int], ahead: tt.Constexpr[int]) -> None:
    """Every thread copies a column of a row ahead of time, and adds the mirrored column."""
    thread, _, _ = cute.arch.thread_idx()
    buffer = cute.SmemAllocator().allocate_tensor(tt.Float32, cute.make_layout((64, 1, stages)))
    mine = copy_of_rows(64).get_slice(thread)
    source, target = mine.partition_S(cute.local_tile(x, (64, 1), (0, None))), mine.partition_D(buffer)
    pipe = pipeline.PipelineCpAsync.create(num_stages=stages, producer_group=EVERYBODY, consumer_group=EVERYBODY)
    filling = pipeline.make_pipeline_state(pipeline.PipelineUserType.Producer, stages)
    using = pipeline.make_pipeline_state(pipeline.PipelineUserType.Consumer, stages)

    def fetch(row: Any) -> None:
        pipe.producer_acquire(filling)
        cute.copy(copy_of_rows(64), source[None, None, None, row], target[None, None, None, filling.index])
        pipe.producer_commit(filling)
        filling.advance()

    rows = x.shape[1]
    for row in tt.range_constexpr(ahead):
        if row < rows:
            fetch(row)
    total = tt.Float32(0.0)
    for row in range(rows):
        pipe.consumer_wait(using)
        if ahead < stages and row + ahead < rows:
            fetch(row + ahead)
        total += buffer[63 - thread, 0, using.index] * tt.Float32(row + 1)
        pipe.consumer_release(using)
        using.advance()
        if ahead == stages and row + ahead < rows:
            fetch(row + ahead)
    pipe.producer_tail(filling)
    out[thread] = total


@tt.jit
def summed(x: cute.Tensor, out: cute.Tensor, stages: tt.Constexpr[int], ahead: tt.Constexpr[int]) -> None:
    sum_rows(cute.select(x, mode=[1, 0]), out, stages, ahead).launch(grid=1, block=64)


@pytest.mark.parametrize(("stages", "ahead"), [(1, 1), (2, 1), (2, 2), (3, 2), (3, 3), (4, 2)])
def test_every_thread_copies_and_computes(stages: int, ahead: int) -> None:
    for rows in (1, 2, 9):
        x = np.random.default_rng(rows).integers(-9, 9, (rows, 64)).astype(np.float32)
        out = np.zeros(64, np.float32)
        summed(x, out, stages, ahead)
        assert out.tolist() == (x[:, ::-1] * np.arange(1, rows + 1, dtype=np.float32)[:, None]).sum(0).tolist()


@tt.kernel
def steady(x: cute.Tensor, out: cute.Tensor) -> None:
    """The usual loop, three stages: it commits in every turn, also when nothing is left to copy."""
    thread, _, _ = cute.arch.thread_idx()
    buffer = cute.SmemAllocator().allocate_tensor(tt.Float32, cute.make_layout((64, 1, 3)))
    mine = copy_of_rows(64).get_slice(thread)
    source, target = mine.partition_S(cute.local_tile(x, (64, 1), (0, None))), mine.partition_D(buffer)
    pipe = pipeline.PipelineCpAsync.create(num_stages=3, producer_group=EVERYBODY, consumer_group=EVERYBODY)
    filling = pipeline.make_pipeline_state(pipeline.PipelineUserType.Producer, 3)
    using = pipeline.make_pipeline_state(pipeline.PipelineUserType.Consumer, 3)
    for row in tt.range_constexpr(2):
        pipe.producer_acquire(filling)
        cute.copy(copy_of_rows(64), source[None, None, None, row], target[None, None, None, filling.index])
        pipe.producer_commit(filling)
        filling.advance()
    total = tt.Float32(0.0)
    for row in range(x.shape[1]):
        pipe.consumer_wait(using)
        pipe.producer_acquire(filling)
        if row + 2 < x.shape[1]:
            cute.copy(copy_of_rows(64), source[None, None, None, row + 2], target[None, None, None, filling.index])
        pipe.producer_commit(filling)
        filling.advance()
        total += buffer[63 - thread, 0, using.index]
        pipe.consumer_release(using)
        using.advance()
    out[thread] = total


@tt.jit
def run_steady(x: cute.Tensor, out: cute.Tensor) -> None:
    steady(cute.select(x, mode=[1, 0]), out).launch(grid=1, block=64)


def test_a_steady_loop_has_one_barrier_and_one_wait_on_a_gpu() -> None:
    ptx = tt.compile(run_steady, np.zeros((5, 64), np.float32), np.zeros(64, np.float32), target="nvptx:sm_80").__ptx__
    assert ptx.count("bar.sync") == 1
    assert ptx.count("cp.async.wait_group") == ptx.count("cp.async.wait_group \t1") == 1
    assert ".local" not in ptx


@tt.kernel
def copy_in_one_warp(x: cute.Tensor, out: cute.Tensor, stages: tt.Constexpr[int], given: tt.Constexpr[bool]) -> None:
    """The first warp copies, the other two add."""
    thread, _, _ = cute.arch.thread_idx()
    smem = cute.SmemAllocator()
    buffer = smem.allocate_tensor(tt.Float32, cute.make_layout((64, 1, stages)))
    barriers = smem.allocate_array(tt.Int64, 2 * stages) if tt.const_expr(given) else None
    pipe = pipeline.PipelineCpAsync.create(
        num_stages=stages,
        producer_group=pipeline.CooperativeGroup(pipeline.Agent.Thread, 32),
        consumer_group=pipeline.CooperativeGroup(pipeline.Agent.Thread, 64),
        barrier_storage=barriers,
    )
    if thread < 32:
        mine = copy_of_rows(32).get_slice(thread)
        source, target = mine.partition_S(cute.local_tile(x, (64, 1), (0, None))), mine.partition_D(buffer)
        filling = pipeline.make_pipeline_state(pipeline.PipelineUserType.Producer, stages)
        for row in range(x.shape[1]):
            pipe.producer_acquire(filling)
            cute.copy(copy_of_rows(32), source[None, None, None, row], target[None, None, None, filling.index])
            pipe.producer_commit(filling)
            filling.advance()
        pipe.producer_tail(filling)
    else:
        using = pipeline.make_pipeline_state(pipeline.PipelineUserType.Consumer, stages)
        total = tt.Float32(0.0)
        for row in range(x.shape[1]):
            pipe.consumer_wait(using)
            total += buffer[thread - 32, 0, using.index] * tt.Float32(row + 1)
            pipe.consumer_release(using)
            using.advance()
        out[thread - 32] = total


@tt.kernel
def get_barrier(storage: tt.Constexpr[bool]) -> None:
    barriers = cute.SmemAllocator().allocate_array(tt.Int64, 4) if tt.const_expr(storage) else None
    group = pipeline.CooperativeGroup(pipeline.Agent.Thread, 32)
    pipe = pipeline.PipelineCpAsync.create(
        num_stages=2, producer_group=group, consumer_group=group, barrier_storage=barriers
    )
    filling = pipeline.make_pipeline_state(pipeline.PipelineUserType.Producer, 2)
    assert "Int64, smem" in str(pipe.producer_get_barrier(filling))


def test_a_pipeline_gives_the_mbarrier_of_a_stage_where_it_has_some() -> None:
    @tt.jit
    def launch(storage: tt.Constexpr[bool]) -> None:
        get_barrier(storage).launch(grid=1, block=64)

    launch(True)
    with pytest.raises(PipelineError, match="without mbarriers"):
        launch(False)


@tt.jit
def copied_in_one_warp(x: cute.Tensor, out: cute.Tensor, stages: tt.Constexpr[int], given: tt.Constexpr[bool]) -> None:
    copy_in_one_warp(cute.select(x, mode=[1, 0]), out, stages, given).launch(grid=1, block=96)


@pytest.mark.parametrize("rows", [1, 2, 19])
@pytest.mark.parametrize(("stages", "given"), [(1, False), (2, False), (3, True), (8, True)])
def test_one_warp_copies_and_others_compute(stages: int, given: bool, rows: int) -> None:
    """By barriers of the block, or by mbarriers where there is memory for them."""
    x = np.random.default_rng(rows).integers(-9, 9, (rows, 64)).astype(np.float32)
    out = np.zeros(64, np.float32)
    copied_in_one_warp(x, out, stages, given)
    assert out.tolist() == (x * np.arange(1, rows + 1, dtype=np.float32)[:, None]).sum(0).tolist()


def test_a_block_has_barriers_for_seven_stages() -> None:
    with pytest.raises(PipelineError, match="too many stages"):
        copied_in_one_warp(np.zeros((1, 64), np.float32), np.zeros(64, np.float32), 8, given=False)
