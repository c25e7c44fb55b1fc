"""Meta-stage, pipelines: stages that copies of boxes store to global memory; their groups say what is free."""

from __future__ import annotations

from triptych.cute.arch.bulk_copies import cp_async_bulk_commit_group, cp_async_bulk_wait_group
from triptych.cute.pipeline.groups import CooperativeGroup
from triptych.cute.pipeline.told_calls import ToldCalls
from triptych.cute.tracing.device import device_function


class PipelineTmaStore:
    """The warp that stores commits each stage, and acquires the next one when it has been read.

    Which stage is which the program counts itself; the threads that fill stages meet at a barrier of their own.
    """

    def __init__(self, num_stages: int) -> None:
        self.num_stages = num_stages
        self._calls = ToldCalls(type(self).__name__, num_stages)

    def __repr__(self) -> str:
        return f"PipelineTmaStore({self.num_stages} stages)"

    @staticmethod
    @device_function
    def create(*, num_stages: int, producer_group: CooperativeGroup) -> PipelineTmaStore:
        """A pipeline whose stages are all free."""
        return PipelineTmaStore(num_stages)

    def producer_acquire(self) -> None:
        """Wait until the stage that was committed longest ago has been read."""
        self._calls.tell("producer_acquire")
        cp_async_bulk_wait_group(self.num_stages - 1, read=True)

    def producer_commit(self) -> None:
        """The copies since the last commit read a stage."""
        self._calls.tell("producer_commit")
        cp_async_bulk_commit_group()

    def producer_tail(self) -> None:
        """Wait until all stages have been read."""
        self._calls.tell("producer_tail")
        cp_async_bulk_wait_group(0, read=True)
