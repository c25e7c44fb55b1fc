"""Groups of ranks without torch: memory at the same addresses, agreement, and errors where one waits in vain."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from tests.support.rank_memory import array_at, run_ranks
from triptych.ranks.addresses import BASE, MULTICAST, WINDOW, memory_of, span_of
from triptych.ranks.errors import RankError
from triptych.ranks.group import group, join, joined, make_folder
from triptych.ranks.heap import ALIGNMENT, SymmetricHeap, is_multicast, rank_of
from triptych.targets.cpu.runtime.launch_errors import other_ranks

pytestmark = pytest.mark.skipif(sys.platform != "linux", reason="ranks need addresses that Linux lets a program choose")


def exchange(heap: SymmetricHeap) -> Any:
    there = heap.group
    first, second = heap.allocate(1000), heap.allocate(8)
    array_at(heap.address(there.rank, second), 1, np.int64)[0] = 100 + there.rank
    there.agree("the place", second)
    there.barrier()
    seen = [int(array_at(heap.address(rank, second), 1, np.int64)[0]) for rank in range(there.size)]
    heap.free(first)
    return seen, second, heap.allocate(ALIGNMENT), there.exchange("a number", there.rank * there.rank)


def test_ranks_see_each_others_memory() -> None:
    assert run_ranks(3, exchange) == [([100, 101, 102], 1024, 0, [0, 1, 4])] * 3


def disagree(heap: SymmetricHeap) -> None:
    heap.group.agree("the bytes", 8 * heap.group.rank)


def test_ranks_that_do_not_agree_are_told_of_each_other() -> None:
    for said in run_ranks(2, disagree):
        assert "[TT0737] the ranks do not agree on the bytes" in said
        assert "rank 0: 0, rank 1: 8" in said


def leave_early(heap: SymmetricHeap) -> Any:
    if heap.group.rank:
        return None
    heap.group.barrier("the end of the test")


def test_a_barrier_that_one_never_comes_to_is_an_error() -> None:
    said, nothing = run_ranks(2, leave_early)
    assert nothing is None
    assert "rank 0 waits for rank 1, which has ended" in said
    assert "rank 0 of 2 waits at the end of the test" in said
    assert "heap.group.barrier" in said


def test_windows() -> None:
    assert [rank_of(memory_of(rank) + 5) for rank in range(3)] == [0, 1, 2]
    assert rank_of(MULTICAST) is None
    assert rank_of(BASE - 1) is None
    assert is_multicast(MULTICAST + WINDOW - 1)
    assert not is_multicast(memory_of(0))
    assert memory_of(2) + WINDOW == BASE + span_of(3)


def test_a_process_by_itself_is_no_rank() -> None:
    assert group() is None
    with pytest.raises(RankError, match="belongs to no group"):
        joined()


@pytest.mark.parametrize("ranks", [0, 17])
def test_other_numbers_of_gpus_are_refused(ranks: int) -> None:
    with pytest.raises(RankError, match="that many GPUs"):
        join(Path(make_folder()), 0, ranks)


def others(heap: SymmetricHeap) -> Any:
    return other_ranks() is None


@pytest.mark.parametrize("size", [1, 2])
def test_errors_speak_of_ranks_where_there_are_several(size: int) -> None:
    assert run_ranks(size, others) == [size == 1] * size
