"""Copy pipelines: a circular buffer in shared memory that cp.async fills, or that TMA stores to global memory.

The copies of a stage are one group. A group is complete when few enough younger ones are under way, and what a thread
has copied is visible to the others after a barrier: so waiting for a stage is a wait for groups and a barrier.
"""

from __future__ import annotations

from functools import partial
from typing import Any, Protocol

from triptych.cute.arch.async_copies import (
    cp_async_bulk_commit_group,
    cp_async_bulk_wait_group,
    cp_async_commit_group,
    cp_async_wait_group,
)
from triptych.cute.arch.barriers import barrier, barrier_arrive, sync_threads
from triptych.cute.arch.mbarriers import cp_async_mbarrier_arrive_noinc
from triptych.cute.memory.pointers import Pointer
from triptych.cute.pipeline.mbarrier_pipelines import barrier_arrays
from triptych.cute.pipeline.mbarrier_ring import MbarrierArray, begin, when
from triptych.cute.pipeline.participants import Agent, CooperativeGroup
from triptych.cute.pipeline.states import PipelineState, RecordedCalls, RunTimeInt
from triptych.cute.tracing.device import device_function, kernel_body
from triptych.cute.tracing.errors import PipelineError
from triptych.metastage.trace.trace import place
from triptych.metastage.values.scalars import Boolean, Numeric

_LAST_BARRIER = 15


class Synchronisation(Protocol):
    """What the operations of a pipeline wait for and announce."""

    def acquire(self, state: PipelineState) -> None: ...
    def commit(self, state: PipelineState) -> None: ...
    def tail(self, state: PipelineState) -> None: ...
    def wait(self, state: PipelineState) -> None: ...
    def release(self, state: PipelineState) -> None: ...


class PipelineCpAsync:
    """Stages that `cp.async` fills. Producers `acquire`, copy and `commit`; consumers `wait`, compute and `release`.

    With `Agent.ThreadBlock` for both groups every thread copies and computes. Otherwise the groups are different
    warps, and a producer that commits waits for its copies.
    """

    def __init__(self, num_stages: int, synchronisation: Synchronisation) -> None:
        self.num_stages = num_stages
        self._synchronisation = synchronisation
        self._calls = RecordedCalls(type(self).__name__, num_stages)

    def __repr__(self) -> str:
        return f"PipelineCpAsync({self.num_stages} stages)"

    @staticmethod
    @device_function
    def create(
        *,
        num_stages: int,
        producer_group: CooperativeGroup,
        consumer_group: CooperativeGroup,
        barrier_storage: object = None,
        producer_mask: object = None,
        consumer_mask: object = None,
        defer_sync: bool = False,
    ) -> PipelineCpAsync:
        """A pipeline with an empty buffer, made by all threads of the block.

        Groups of different warps have mbarriers in `barrier_storage`, and barriers of the block where it is None. The
        whole block counts groups of copies, and leaves the memory untouched.
        """
        shared = [group.agent is Agent.ThreadBlock for group in (producer_group, consumer_group)]
        if all(shared):
            return PipelineCpAsync(num_stages, _OneGroup(num_stages))
        if any(shared):
            raise PipelineError(
                "the whole block on one side of a pipeline, and a part of it on the other",
                span=place(),
                found=f"producers: {producer_group}, consumers: {consumer_group}",
                expected="Agent.ThreadBlock for both, or groups of different warps",
            )
        if barrier_storage is not None:
            arrays = barrier_arrays(barrier_storage, num_stages, producer_group, consumer_group)
            begin(arrays, None, defer_sync=defer_sync)
            return PipelineCpAsync(num_stages, _Mbarriers(*arrays))
        return PipelineCpAsync(num_stages, _TwoGroups(num_stages, producer_group.threads, consumer_group.threads))

    def producer_acquire(self, state: PipelineState, try_acquire_token: object = None) -> None:
        """Wait until nobody reads the stage any more."""
        self._calls.record("producer_acquire", state)
        self._synchronisation.acquire(state)

    def producer_commit(self, state: PipelineState) -> None:
        """What has been copied since the last commit is the contents of the stage."""
        self._calls.record("producer_commit", state)
        self._synchronisation.commit(state)

    def producer_get_barrier(self, state: PipelineState) -> Pointer:
        """The mbarrier that says that the stage is full, where there is one."""
        if isinstance(self._synchronisation, _Mbarriers):
            return self._synchronisation.full(state)
        raise PipelineError(
            "a pipeline without mbarriers has none to give",
            span=place(),
            found=f"{self} whose stages are full by barriers of the block",
            expected="groups of different warps, and memory for their mbarriers",
            instead="PipelineCpAsync.create(barrier_storage=...), with an agent other than Agent.ThreadBlock",
        )

    def producer_tail(self, state: PipelineState) -> None:
        """Wait until all stages are empty and all copies have ended, before shared memory gets another use."""
        self._calls.record("producer_tail", state)
        self._synchronisation.tail(state)

    def consumer_wait(self, state: PipelineState, try_wait_token: object = None) -> None:
        """Wait until the stage is full, for the copies of all producers."""
        self._calls.record("consumer_wait", state)
        self._synchronisation.wait(state)

    def consumer_release(self, state: PipelineState) -> None:
        """This thread does not read the stage any more."""
        self._calls.record("consumer_release", state)
        self._synchronisation.release(state)

    def producer_try_acquire(self, state: PipelineState) -> Boolean:
        """Whether `producer_acquire` would not wait, as far as is known: nothing is."""
        return Boolean(False)

    def consumer_try_wait(self, state: PipelineState) -> Boolean:
        """Whether `consumer_wait` would not wait, as far as is known: nothing is."""
        return Boolean(False)


class _OneGroup:
    """All threads of the block copy and compute, in step.

    Barriers that are not needed are left out: when the next wait comes before the next acquire, as in a loop that
    fills the stage it emptied in the turn before, one barrier serves both. What decides it are differences that are the
    same in every turn, so that a compiler decides it once.
    """

    def __init__(self, stages: int) -> None:
        self._stages = stages
        self._pending = RunTimeInt(0)
        """Groups committed and not yet waited for."""
        self._in_use = RunTimeInt(0)
        """Stages acquired and not yet released by this thread."""
        self._taken = RunTimeInt(0)
        """Stages acquired and not yet released by all threads, as of the last barrier."""

    def acquire(self, state: PipelineState) -> None:
        when(self._taken.get() >= self._stages, self._meet)
        self._in_use.set(self._in_use.get() + 1)
        self._taken.set(self._taken.get() + 1)

    def commit(self, state: PipelineState) -> None:
        cp_async_commit_group()
        self._pending.set(self._pending.get() + 1)

    def wait(self, state: PipelineState) -> None:
        younger = max(self._stages - 2, 0)
        if younger:
            enough = self._pending.get() > younger
            when(enough, lambda: cp_async_wait_group(younger), lambda: cp_async_wait_group(0))
        else:
            cp_async_wait_group(0)
        self._pending.set(self._pending.get() - 1)
        self._meet()

    def release(self, state: PipelineState) -> None:
        self._in_use.set(self._in_use.get() - 1)

    def tail(self, state: PipelineState) -> None:
        cp_async_wait_group(0)
        self._meet()

    def _meet(self) -> None:
        sync_threads()
        self._taken.set(self._in_use.get())


class _Mbarriers:
    """Some warps copy and others compute. Every stage has two mbarriers: it is full when the copies have landed."""

    def __init__(self, full: MbarrierArray, empty: MbarrierArray) -> None:
        self._full, self._empty = full, empty

    def full(self, state: PipelineState) -> Pointer:
        """The mbarrier of a full stage."""
        return self._full.get_barrier(state.index)

    def acquire(self, state: PipelineState) -> None:
        self._empty.wait(state.index, state.phase)

    def commit(self, state: PipelineState) -> None:
        cp_async_mbarrier_arrive_noinc(self.full(state))

    def wait(self, state: PipelineState) -> None:
        self._full.wait(state.index, state.phase)

    def release(self, state: PipelineState) -> None:
        self._empty.arrive(state.index)

    def tail(self, state: PipelineState) -> None:
        self._empty.wait_for_all(state)


class _TwoGroups:
    """Some warps copy and others compute. Every stage has two barriers of the block: it is full, it is empty."""

    def __init__(self, stages: int, producers: int, consumers: int) -> None:
        reserved = kernel_body().reserved_barriers
        self._stages, self._threads = stages, producers + consumers
        self._first = _LAST_BARRIER - reserved - 2 * stages + 1
        if self._first < 1:
            raise PipelineError(
                "a pipeline of too many stages",
                span=place(),
                found=f"{stages} stages need {2 * stages} barriers, {_LAST_BARRIER - reserved} are left",
                expected="at most seven stages for all pipelines of a kernel whose producers are warps of their own",
            )
        kernel_body().reserved_barriers += 2 * stages
        self._acquired = RunTimeInt(0)

    def acquire(self, state: PipelineState) -> None:
        when(self._acquired.get() >= self._stages, lambda: self._wait(self._empty(state.index)))
        self._acquired.set(self._acquired.get() + 1)

    def commit(self, state: PipelineState) -> None:
        cp_async_commit_group()
        cp_async_wait_group(0)
        barrier_arrive(barrier_id=self._full(state.index), number_of_threads=self._threads)

    def wait(self, state: PipelineState) -> None:
        self._wait(self._full(state.index))

    def release(self, state: PipelineState) -> None:
        barrier_arrive(barrier_id=self._empty(state.index), number_of_threads=self._threads)

    def tail(self, state: PipelineState) -> None:
        for stage in range(self._stages):
            when(self._acquired.get() > stage, partial(self._wait, self._empty(stage)))

    def _wait(self, number: Numeric | int) -> None:
        barrier(barrier_id=number, number_of_threads=self._threads)

    def _full(self, stage: Numeric | int) -> Any:
        return stage + self._first

    def _empty(self, stage: Numeric | int) -> Any:
        return stage + (self._first + self._stages)


class PipelineTmaStore:
    """The warp that stores commits each stage, and acquires the next one when it has been read.

    Which stage is which the program counts itself; the threads that fill stages meet at a barrier of their own.
    """

    def __init__(self, num_stages: int) -> None:
        self.num_stages = num_stages
        self._calls = RecordedCalls(type(self).__name__, num_stages)

    def __repr__(self) -> str:
        return f"PipelineTmaStore({self.num_stages} stages)"

    @staticmethod
    @device_function
    def create(*, num_stages: int, producer_group: CooperativeGroup) -> PipelineTmaStore:
        """A pipeline whose stages are all free."""
        return PipelineTmaStore(num_stages)

    def producer_acquire(self) -> None:
        """Wait until the stage that was committed longest ago has been read."""
        self._calls.record("producer_acquire")
        cp_async_bulk_wait_group(self.num_stages - 1, read=True)

    def producer_commit(self) -> None:
        """The copies since the last commit read a stage."""
        self._calls.record("producer_commit")
        cp_async_bulk_commit_group()

    def producer_tail(self) -> None:
        """Wait until all stages have been read."""
        self._calls.record("producer_tail")
        cp_async_bulk_wait_group(0, read=True)
