"""The reference machine: kernels whose answers are known, and mistakes that it must notice."""

from __future__ import annotations

import numpy as np
import pytest

from tests.differential.kernels.machine import StuckError, run_reference
from tests.differential.kernels.memory import RaceError
from tests.differential.kernels.program import Buffer, Dims, KernelProgram
from tests.differential.kernels.typed import NUMBER_TYPES, InexactError, Number


def result_of(body: str, block: Dims = (64, 1, 1), grid: Dims = (1, 1, 1), size: int = 128) -> list[int]:
    """What a kernel leaves in `o`, an array of zeros; the body knows `t`, the thread's number."""
    lines = (
        "tx, ty, tz = cute.arch.thread_idx()",
        "dx, dy, dz = cute.arch.block_dim()",
        "t = tx + dx * (ty + dy * tz)",
    )
    text = "\n".join(f"    {line}" for line in (*lines, *body.strip().splitlines()))
    buffers = (Buffer("o", "Int32", (size,), (0,)),)
    program = KernelProgram(f"@kernel\ndef fuzzed(o):\n{text}\n", grid, block, False, buffers, (), ((),))
    return [int(value) for value in run_reference(program, ())["o"].tolist()]


def test_threads_are_counted_along_x_first() -> None:
    assert result_of("o[t] = tx + 10 * ty + 100 * tz", (3, 2, 2), size=12)[:8] == [0, 1, 2, 10, 11, 12, 100, 101]


def test_shared_memory_is_exchanged_at_a_barrier() -> None:
    exchange = """
s = SmemAllocator().allocate_tensor(Int32, cute.make_layout(64))
s[t] = t * t
cute.arch.sync_threads()
o[t] = s[63 - t]
"""
    assert result_of(exchange)[:64] == [(63 - t) ** 2 for t in range(64)]


def test_a_missing_barrier_is_a_race() -> None:
    with pytest.raises(RaceError):
        result_of("s = SmemAllocator().allocate_tensor(Int32, cute.make_layout(64))\ns[t] = t\no[t] = s[t ^ 1]")
    with pytest.raises(RaceError):
        result_of("o[t // 2] = t")
    with pytest.raises(RaceError):
        result_of("o[t] = t", grid=(2, 1, 1))


def test_a_barrier_that_some_threads_miss_never_ends() -> None:
    with pytest.raises(StuckError):
        result_of("if t < 7:\n    cute.arch.vote_any_sync(True)\nelse:\n    cute.arch.sync_threads()")
    with pytest.raises(StuckError):
        result_of("if t < 7:\n    cute.arch.sync_threads()\nelse:\n    cute.arch.sync_threads()")


def test_lanes_read_each_other() -> None:
    assert result_of("o[t] = cute.arch.shuffle_sync_up(t, 1)")[30:35] == [29, 30, 32, 32, 33]
    assert result_of("o[t] = cute.arch.shuffle_sync_bfly(t, 16)")[15:18] == [31, 0, 1]
    assert result_of("o[t] = cute.arch.vote_ballot_sync(t % 32 < 3)")[:2] == [7, 7]
    assert result_of("o[t] = cute.arch.warp_reduction_sum(t, threads_in_group=4)")[3:5] == [6, 22]


def test_atomics_add_up() -> None:
    assert result_of("cute.arch.atomic_add(o.iterator + 1, t)")[:3] == [0, 2016, 0]


def int8(value: int) -> Number:
    return NUMBER_TYPES["Int8"](value)


def test_integers_wrap_as_those_of_numpy() -> None:
    for left in (-128, -7, 0, 5, 127):
        for right in (-128, -3, 2, 100, 127):
            ours = int8(left), int8(right)
            with np.errstate(over="ignore"):
                theirs = np.int8(left), np.int8(right)
                pairs = [
                    (ours[0] + ours[1], theirs[0] + theirs[1]),  # type: ignore[operator]
                    (ours[0] * ours[1], theirs[0] * theirs[1]),  # type: ignore[operator]
                    (ours[0] // ours[1], theirs[0] // theirs[1]),  # type: ignore[operator]
                    (ours[0] % ours[1], theirs[0] % theirs[1]),  # type: ignore[operator]
                ]
            assert all(found.value == right for found, right in pairs)


def test_types_promote() -> None:
    wide = int8(100) * NUMBER_TYPES["Int32"](100)  # type: ignore[operator]
    assert (wide.info.name, wide.value) == ("Int32", 10_000)
    assert (int8(100) * 100).value == 16  # type: ignore[operator, attr-defined]


def test_a_float_that_is_rounded_is_refused() -> None:
    with pytest.raises(InexactError):
        NUMBER_TYPES["Float16"](2049.0)
