"""Copy pipelines: a circular buffer in shared memory that cp.async fills, or that TMA stores to global memory.

The copies of a stage are one group. A group is complete when few enough younger ones are under way, and what a thread
has copied is visible to the others after a barrier: so waiting for a stage is a wait for groups and a barrier.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from typing import Any, Protocol, Self

from triptych.cute.arch.async_copies import (
    cp_async_bulk_commit_group,
    cp_async_bulk_wait_group,
    cp_async_commit_group,
    cp_async_wait_group,
)
from triptych.cute.arch.barriers import barrier, barrier_arrive, sync_threads
from triptych.cute.memory.pointers import Pointer
from triptych.cute.nvgpu.cta_groups import CtaGroup
from triptych.cute.pipeline.mbarrier_pipelines import PipelineAsync, SyncObject
from triptych.cute.pipeline.mbarrier_ring import full_and_empty, when
from triptych.cute.pipeline.participants import Agent, CooperativeGroup, PipelineOp
from triptych.cute.pipeline.recorded_calls import RecordedCalls
from triptych.cute.pipeline.states import PipelineState, RunTimeInt
from triptych.cute.tracing.device import Integer, device_function, kernel_body
from triptych.cute.tracing.errors import PipelineError
from triptych.metastage.trace.trace import place
from triptych.metastage.values.scalars import Boolean, Numeric
from triptych.support.dataclass import dataclass

_LAST_BARRIER = 15


@dataclass(frozen=True, eq=False, repr=False)
class PipelineCpAsync(PipelineAsync):
    """Stages that `cp.async` fills. Producers `acquire`, copy and `commit`; consumers `wait`, compute and `release`.

    With `Agent.ThreadBlock` for both groups every thread copies and computes. Otherwise the groups are different
    warps, and a producer that commits waits for its copies, unless there are mbarriers.
    """

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
        """A pipeline with an empty buffer, made by all threads of the block.

        Groups of different warps have mbarriers in `barrier_storage`, and barriers of the block where it is None. The
        whole block counts groups of copies, and leaves the memory untouched.
        """
        shared = [group.agent is Agent.ThreadBlock for group in (producer_group, consumer_group)]
        sides: tuple[SyncObject, SyncObject]
        if all(shared):
            sides = _OneGroup(num_stages).sides()
        elif any(shared):
            raise PipelineError(
                "the whole block on one side of a pipeline, and a part of it on the other",
                span=place(),
                found=f"producers: {producer_group}, consumers: {consumer_group}",
                expected="Agent.ThreadBlock for both, or groups of different warps",
            )
        elif barrier_storage is not None:
            copies, threads = (PipelineOp.AsyncLoad, producer_group), (PipelineOp.AsyncThread, consumer_group)
            sides = full_and_empty(barrier_storage, num_stages, copies, threads, defer_sync=defer_sync)
        else:
            sides = _TwoGroups(num_stages, producer_group.threads, consumer_group.threads).sides()
        full, empty = sides
        return cls(full, empty, num_stages, producer_mask, consumer_mask)


class Synchronisation(Protocol):
    """What the operations of a pipeline without mbarriers wait for and announce, by the number of a stage."""

    def acquire(self, index: Integer) -> None: ...
    def commit(self, index: Integer) -> None: ...
    def tail(self) -> None: ...
    def wait(self, index: Integer) -> None: ...
    def release(self, index: Integer) -> None: ...


class _Side:
    """The synchronization object of one side of it."""

    def __init__(
        self, wait: Callable[[Integer], None], arrive: Callable[[Integer], None], tail: Callable[[], None]
    ) -> None:
        self._wait, self._arrive, self._tail = wait, arrive, tail

    @device_function
    def wait(self, index: Integer, phase: Integer) -> None:
        """Wait until the stage is full, or empty; the synchronization counts phases itself."""
        self._wait(index)

    @device_function
    def arrive(self, index: Integer, dst: Integer | None = None, cta_group: CtaGroup | None = None) -> None:
        """The stage is full, or empty, as far as this thread knows."""
        self._arrive(index)

    @device_function
    def wait_for_all(self, state: PipelineState) -> None:
        """Wait until all stages are empty."""
        self._tail()

    @device_function
    def try_wait(self, index: Integer, phase: Integer) -> Boolean:
        """Whether `wait` would not wait, as far as is known: nothing is."""
        return Boolean(False)

    @device_function
    def get_barrier(self, index: Integer) -> Pointer:
        """There is none."""
        raise PipelineError(
            "a pipeline without mbarriers has none to give",
            span=place(),
            found="PipelineCpAsync whose stages are full by barriers of the block",
            expected="groups of different warps, and memory for their mbarriers",
            instead="PipelineCpAsync.create(barrier_storage=...), with an agent other than Agent.ThreadBlock",
        )


class _OfBlockBarriers:
    """Full and empty stages of a synchronization."""

    def sides(self: Synchronisation) -> tuple[_Side, _Side]:
        """The full side and the empty one."""
        return _Side(self.wait, self.commit, self.tail), _Side(self.acquire, self.release, self.tail)


class _OneGroup(_OfBlockBarriers):
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

    def acquire(self, index: Integer) -> None:
        when(self._taken.get() >= self._stages, self._meet)
        self._in_use.set(self._in_use.get() + 1)
        self._taken.set(self._taken.get() + 1)

    def commit(self, index: Integer) -> None:
        cp_async_commit_group()
        self._pending.set(self._pending.get() + 1)

    def wait(self, index: Integer) -> None:
        younger = max(self._stages - 2, 0)
        if younger:
            enough = self._pending.get() > younger
            when(enough, lambda: cp_async_wait_group(younger), lambda: cp_async_wait_group(0))
        else:
            cp_async_wait_group(0)
        self._pending.set(self._pending.get() - 1)
        self._meet()

    def release(self, index: Integer) -> None:
        self._in_use.set(self._in_use.get() - 1)

    def tail(self) -> None:
        cp_async_wait_group(0)
        self._meet()

    def _meet(self) -> None:
        sync_threads()
        self._taken.set(self._in_use.get())


class _TwoGroups(_OfBlockBarriers):
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

    def acquire(self, index: Integer) -> None:
        when(self._acquired.get() >= self._stages, lambda: self._wait(self._empty(index)))
        self._acquired.set(self._acquired.get() + 1)

    def commit(self, index: Integer) -> None:
        cp_async_commit_group()
        cp_async_wait_group(0)
        barrier_arrive(barrier_id=self._full(index), number_of_threads=self._threads)

    def wait(self, index: Integer) -> None:
        self._wait(self._full(index))

    def release(self, index: Integer) -> None:
        barrier_arrive(barrier_id=self._empty(index), number_of_threads=self._threads)

    def tail(self) -> None:
        for stage in range(self._stages):
            when(self._acquired.get() > stage, partial(self._wait, self._empty(stage)))

    def _wait(self, number: Numeric | int) -> None:
        barrier(barrier_id=number, number_of_threads=self._threads)

    def _full(self, stage: Integer) -> Any:
        return stage + self._first

    def _empty(self, stage: Integer) -> Any:
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

    @device_function
    def producer_acquire(self) -> None:
        """Wait until the stage that was committed longest ago has been read."""
        self._calls.record("producer_acquire")
        cp_async_bulk_wait_group(self.num_stages - 1, read=True)

    @device_function
    def producer_commit(self) -> None:
        """The copies since the last commit read a stage."""
        self._calls.record("producer_commit")
        cp_async_bulk_commit_group()

    @device_function
    def producer_tail(self) -> None:
        """Wait until all stages have been read."""
        self._calls.record("producer_tail")
        cp_async_bulk_wait_group(0, read=True)
