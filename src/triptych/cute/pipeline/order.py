"""Named barriers, for some warps of a block or for all, and groups of threads that take turns."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from triptych.cute.arch.barriers import barrier, barrier_arrive
from triptych.cute.pipeline.mbarrier_ring import MbarrierArray, barriers_at, meet
from triptych.cute.pipeline.participants import CooperativeGroup, PipelineOp
from triptych.cute.pipeline.recorded_calls import RecordedCalls
from triptych.cute.pipeline.states import PipelineState
from triptych.cute.tensors.value_functions import where
from triptych.cute.tracing.device import Integer, device_function
from triptych.metastage.values.scalars import Int32
from triptych.support.dataclass import dataclass


class PipelineOrder:
    """`length` groups pass through `depth` places of the program in the order of their numbers, again and again.

    A group waits for its turn, and arrives when the next one may come. Group 0 is the first.
    """

    __runtime_mutable__ = __runtime_state__ = True

    def __init__(
        self,
        barriers: MbarrierArray,
        length: int,
        group_id: Integer,
        state: PipelineState,
        calls: RecordedCalls | None = None,
    ) -> None:
        self.sync_object_full = barriers
        self.depth, self.length = barriers.num_stages // length, length
        self._group = group_id
        self._state = state
        self._calls = calls or RecordedCalls(type(self).__name__, self.depth, length)

    def __repr__(self) -> str:
        return f"PipelineOrder({self.depth} places, {self.length} groups)"

    @staticmethod
    @device_function
    def create(
        *,
        barrier_storage: object = None,
        depth: int,
        length: int,
        group_id: Integer,
        producer_group: CooperativeGroup,
        defer_sync: bool = False,
    ) -> PipelineOrder:
        """The order as a group sees it; all threads of the block make it."""
        first = barriers_at(barrier_storage, depth * length)
        barriers = MbarrierArray(first, depth * length, (PipelineOp.AsyncThread, producer_group))
        if not defer_sync:
            meet()
        phase = where(Int32(group_id) == 0, 1, 0)
        return PipelineOrder(barriers, length, group_id, PipelineState(depth, 0, 0, phase))

    @property
    def state(self) -> PipelineState:
        """Where this group is, for programs that keep it themselves and give it to each call."""
        return self._state

    @device_function
    def wait(self, state: PipelineState | None = None) -> None:
        """Wait for this group's turn."""
        place = state or self._state
        self._calls.record("wait", place, self._group)
        self.sync_object_full.wait(self._barrier(place, self._group), place.phase)

    @device_function
    def arrive(self, state: PipelineState | None = None) -> PipelineState:
        """The next group may come; this one goes to the next place, which is the result."""
        place = state or self._state
        self._calls.record("arrive", place, self._group)
        following = Int32(self._group) + 1
        self.sync_object_full.arrive(self._barrier(place, where(following == self.length, 0, following)))
        place.advance()
        return place

    def _barrier(self, place: PipelineState, group: Any) -> Any:
        return place.index * self.length + group

    def __extract_mlir_values__(self) -> list[Any]:
        return [Int32(self._group), *self._state.__extract_mlir_values__()]

    def __new_from_mlir_values__(self, values: Sequence[Any]) -> PipelineOrder:
        group, *place = values
        state = self._state.__new_from_mlir_values__(place)
        return PipelineOrder(self.sync_object_full, self.length, group, state, self._calls)


@dataclass(frozen=True)
class NamedBarrier:
    """The barrier `barrier_id` of a block, complete when `num_threads` threads have come to it.

    Those that wait and those that only arrive both count. It can be made outside of the kernel.
    """

    barrier_id: int
    num_threads: int

    @device_function
    def arrive(self) -> None:
        """Count as having come, and go on."""
        barrier_arrive(barrier_id=self.barrier_id, number_of_threads=self.num_threads)

    @device_function
    def arrive_and_wait(self) -> None:
        """Come, and wait for the others."""
        barrier(barrier_id=self.barrier_id, number_of_threads=self.num_threads)

    @device_function
    def wait(self) -> None:
        """The same as `arrive_and_wait`: who waits at such a barrier also counts."""
        self.arrive_and_wait()

    sync = arrive_and_wait

    def get_barrier(self) -> int:
        """Its number among the barriers of a block."""
        return self.barrier_id


@device_function
def sync(barrier_id: int = 0) -> None:
    """Wait at a barrier for all threads of the block."""
    barrier(barrier_id=barrier_id)


@device_function
def arrive_and_wait(barrier_id: int, num_threads: int) -> None:
    """Come to a barrier of `num_threads` threads, and wait for the others."""
    barrier(barrier_id=barrier_id, number_of_threads=num_threads)


@device_function
def arrive(barrier_id: int, num_threads: int) -> None:
    """Count as having come to a barrier of `num_threads` threads, and go on."""
    barrier_arrive(barrier_id=barrier_id, number_of_threads=num_threads)
