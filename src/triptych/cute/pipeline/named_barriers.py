"""Meta-stage, pipelines: barriers that have a number, for some warps of a block or for all."""

from __future__ import annotations

from dataclasses import dataclass

from triptych.cute.arch.barriers import barrier, barrier_arrive


@dataclass(frozen=True, slots=True)
class NamedBarrier:
    """The barrier `barrier_id` of a block, complete when `num_threads` threads have come to it.

    Those that wait and those that only arrive both count. It can be made outside of the kernel.
    """

    barrier_id: int
    num_threads: int

    def arrive(self) -> None:
        """Count as having come, and go on."""
        barrier_arrive(barrier_id=self.barrier_id, number_of_threads=self.num_threads)

    def arrive_and_wait(self) -> None:
        """Come, and wait for the others."""
        barrier(barrier_id=self.barrier_id, number_of_threads=self.num_threads)

    def wait(self) -> None:
        """The same as `arrive_and_wait`: who waits at such a barrier also counts."""
        self.arrive_and_wait()

    sync = arrive_and_wait

    def get_barrier(self) -> int:
        """Its number among the barriers of a block."""
        return self.barrier_id


def sync(barrier_id: int = 0) -> None:
    """Wait at a barrier for all threads of the block."""
    barrier(barrier_id=barrier_id)


def arrive_and_wait(barrier_id: int, num_threads: int) -> None:
    """Come to a barrier of `num_threads` threads, and wait for the others."""
    barrier(barrier_id=barrier_id, number_of_threads=num_threads)


def arrive(barrier_id: int, num_threads: int) -> None:
    """Count as having come to a barrier of `num_threads` threads, and go on."""
    barrier_arrive(barrier_id=barrier_id, number_of_threads=num_threads)
