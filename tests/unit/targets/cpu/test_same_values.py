"""Several threads that write one value to the same bytes are a note, whatever the type; another value is an error."""

from __future__ import annotations

import numpy as np

import triptych as tt
from triptych import cute
from triptych.sanitizer.findings import Collection, Kind, collecting
from triptych.support.config import override

THREADS = 64
VECTORS, SCALARS = (tt.Float32, tt.BFloat16, tt.Float8E4M3FN), (tt.Float16, tt.Int16)


def _shared(dtype: type[tt.Numeric], count: int) -> cute.Tensor:
    return cute.make_tensor(cute.arch.alloc_smem(dtype, count, 32), cute.make_layout(count))


@tt.kernel
def every_type(numbers: cute.Tensor) -> None:
    """Each thread writes its number to a place of all threads, as several types."""
    t, _, _ = cute.arch.thread_idx()
    for i in tt.range_constexpr(len(VECTORS)):
        mine = cute.make_rmem_tensor(4, VECTORS[i])
        mine.fill(numbers[t].to(VECTORS[i]))
        _shared(VECTORS[i], 4).store(mine.load())
    for i in tt.range_constexpr(len(SCALARS)):
        _shared(SCALARS[i], 1)[0] = numbers[t].to(SCALARS[i])


@tt.jit
def run_every_type(numbers: cute.Tensor) -> None:
    every_type(numbers).launch(grid=1, block=THREADS)


@tt.kernel
def in_turns(numbers: cute.Tensor, kept: cute.Tensor) -> None:
    """One lane after the other, at one line, at the same place of shared and of global memory."""
    t, _, _ = cute.arch.thread_idx()
    shared = _shared(tt.Float32, 1)
    for i in range(2):
        if t == i:
            shared[0] = numbers[i]
            kept[0] = numbers[i]


@tt.jit
def run_in_turns(numbers: cute.Tensor, kept: cute.Tensor) -> None:
    in_turns(numbers, kept).launch(grid=1, block=32)


@tt.kernel
def overlapping(kept: cute.Tensor) -> None:
    """Vectors of the same numbers, each half on that of the neighbour: others meet there."""
    t, _, _ = cute.arch.thread_idx()
    mine = cute.make_rmem_tensor(4, tt.Float32)
    for i in tt.range_constexpr(4):
        mine[i] = 1.0 + i // 2
    for tensor in (_shared(tt.Float32, 2 * THREADS + 2), kept):
        pairs = cute.recast_tensor(tensor, tt.Int64)
        cute.make_tensor((pairs.iterator + t).align(8), cute.make_layout(2)).store(
            cute.recast_tensor(mine, tt.Int64).load()
        )


@tt.jit
def run_overlapping(kept: cute.Tensor) -> None:
    overlapping(kept).launch(grid=1, block=32)


@tt.kernel
def copied(numbers: cute.Tensor, kept: cute.Tensor, step: tt.Int32) -> None:
    """Lanes of a warp copy to one place, asynchronously, from one place or from several."""
    t, _, _ = cute.arch.thread_idx()
    shared = _shared(tt.Float32, 1)
    atom = cute.make_copy_atom(cute.nvgpu.cpasync.CopyG2SOp(), tt.Float32, num_bits_per_copy=32)
    cute.copy(atom, cute.local_tile(numbers, (1,), (t * step,)), shared)
    cute.arch.cp_async_commit_group()
    cute.arch.cp_async_wait_group(0)
    cute.arch.sync_threads()
    kept[t] = shared[0]


@tt.jit
def run_copied(numbers: cute.Tensor, kept: cute.Tensor, step: tt.Int32) -> None:
    copied(numbers, kept, step).launch(grid=1, block=32)


def kinds(collection: Collection) -> set[Kind]:
    return {Kind(each.kind) for each in collection.findings}


def test_every_type() -> None:
    with override(debug="races"):
        compiled = tt.compile(run_every_type, np.zeros(THREADS, np.float32))
        with collecting() as same:
            compiled(np.ones(THREADS, np.float32))
        with collecting() as others:
            compiled((np.arange(THREADS) % 2).astype(np.float32))
    assert kinds(same) == {Kind.SAME_VALUE}
    assert len(same.findings) == 2, "one for each line"
    assert kinds(others) == {Kind.WRITE_AFTER_WRITE}


def test_what_one_line_wrote_before_is_in_memory() -> None:
    kept = np.zeros(1, np.float32)
    with override(debug="races,global"), collecting() as others:
        run_in_turns(np.array([1, 2], np.float32), kept)
    with override(debug="races,global"), collecting() as same:
        run_in_turns(np.array([3, 3], np.float32), kept)
    assert [Kind(each.kind) for each in others.findings] == [Kind.WRITE_AFTER_WRITE] * 2
    assert [Kind(each.kind) for each in same.findings] == [Kind.SAME_VALUE] * 2


def test_equal_vectors_that_overlap_partly() -> None:
    with override(debug="races,global"), collecting() as found:
        run_overlapping(np.zeros(2 * THREADS + 2, np.float32))
    assert kinds(found) == {Kind.WRITE_AFTER_WRITE}


def test_lanes_that_copy_one_place() -> None:
    numbers, kept = np.arange(32, dtype=np.float32) + 1, np.zeros(32, np.float32)
    with override(debug="races"), collecting() as same:
        run_copied(numbers, kept, 0)
    assert kinds(same) == {Kind.SAME_VALUE}
    assert (kept == 1).all()
    with override(debug="races"), collecting() as others:
        run_copied(numbers, kept, 1)
    assert kinds(others) == {Kind.BEFORE_IT_LANDS}
