"""Machines whose warps have 64 or 16 lanes: targets of somebody else, made of the CPU's passes and a `DeviceModel`.

What threads of a warp do together is compared with NumPy, over blocks of whole warps and with a last one that is not.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator
from dataclasses import replace
from typing import Any

import numpy as np
import pytest

import triptych as tt
from tests.integration import lanes_when_imported
from triptych import cute
from triptych.diagnostics.kernel_errors import DeadlockError, DivergentBarrierError
from triptych.diagnostics.runtime_errors import AssertionFailedError
from triptych.driver.compiling import CompiledFunction
from triptych.ir.errors import LoweringError
from triptych.metastage.trace.errors import KernelCallError, OperandTypeError
from triptych.objectstage.target import TARGETS, find_target
from triptych.support.device_model import DeviceModel

Array = np.ndarray[Any, Any]
OfWarp = Callable[[Array], Any]
WIDTHS = (16, 64)
BLOCKS = (128, 96)


@pytest.fixture(autouse=True)
def targets(monkeypatch: pytest.MonkeyPatch) -> None:
    """`warps-of-64` and the like, as a package would register them."""
    monkeypatch.setattr(TARGETS, "_loaded", dict(TARGETS._loaded))
    for lanes in WIDTHS:
        name = f"warps-of-{lanes}"
        TARGETS.register(name, replace(find_target("cpu"), name=name, device_model=DeviceModel(lanes=lanes)))


def run(lanes: int, kernel: Any, block: int, *tensors: Array, static: tuple[Any, ...] = ()) -> CompiledFunction:
    """Compile and call a launch of `kernel(*tensors, *static)` with one block."""

    @tt.jit
    def host(given: Any) -> None:
        kernel(*given, *static).launch(grid=1, block=block)

    made = tt.compile(host, tensors, target=f"warps-of-{lanes}")
    made(tensors)
    return made


def by_warp(lanes: int, values: Array) -> Iterator[tuple[int, Array]]:
    """The first thread of each warp, and the values of its threads."""
    for start in range(0, len(values), lanes):
        yield start, values[start : start + lanes]


def for_each_warp(lanes: int, values: Array, of_warp: OfWarp) -> Array:
    """What every thread gets when a warp makes one number of its values."""
    return np.concatenate([np.full(len(warp), of_warp(warp)) for _, warp in by_warp(lanes, values)])


def mask_of(holds: Array) -> int:
    """A ballot, as the integer with a sign that it is: of 32 bits for up to 32 lanes."""
    return sum(1 << lane for lane, each in enumerate(holds) if each)


def as_unsigned(ballots: Array) -> list[int]:
    return [int(ballot) % 2**64 for ballot in ballots]


# shuffles -------------------------------------------------------------------------------------------------------------
@tt.kernel
def summed_down(x: cute.Tensor, out: cute.Tensor) -> None:
    thread, _, _ = cute.arch.thread_idx()
    total = x[thread]
    offset = cute.arch.WARP_SIZE // 2
    while offset > 0:
        total += cute.arch.shuffle_sync_down(total, offset)
        offset //= 2
    out[thread] = total


@tt.kernel
def summed_by_butterfly(x: cute.Tensor, out: cute.Tensor) -> None:
    thread, _, _ = cute.arch.thread_idx()
    total = x[thread]
    offset = 1
    while offset < cute.arch.WARP_SIZE:
        total += cute.arch.shuffle_sync_bfly(total, offset)
        offset *= 2
    out[thread] = total


@pytest.mark.parametrize("lanes", WIDTHS)
def test_reduction_by_shuffles_is_vectors_of_all_lanes(lanes: int) -> None:
    x = np.arange(128, dtype=np.float32) ** 2 % 101
    out = np.zeros_like(x)
    for kernel in (summed_down, summed_by_butterfly):
        made = run(lanes, kernel, 128, x, out)
        expected = for_each_warp(lanes, x, np.sum)
        first = slice(0, None, lanes if kernel is summed_down else 1)
        np.testing.assert_array_equal(out[first], expected[first])
        assert f"triptych.device = {{lanes = {lanes} : i32" in made.mlir
        assert f"<{lanes} x float>" in made.llvm
        assert "<32 x " not in made.llvm


def source_lane(kind: str, lane: int, offset: int, control: int, lanes: int) -> int:
    """The lane that the instruction reads, with as many bits as a lane's number has."""
    bits = lanes - 1
    bound, segments, offset = control & bits, control >> 8 & bits, offset & bits
    last = lane & segments | bound & ~segments
    source = {
        "up": lane - offset,
        "down": lane + offset,
        "bfly": lane ^ offset,
        "idx": lane & segments | offset & ~segments,
    }[kind]
    return source if (source >= last if kind == "up" else source <= last) else lane


@pytest.mark.parametrize("kind", ["idx", "up", "down", "bfly"])
@pytest.mark.parametrize("lanes", WIDTHS)
def test_shuffle_by_constant_and_dynamic_offsets(lanes: int, kind: Any) -> None:
    controls = [None, 0 if kind == "up" else lanes - 1, (lanes - 8) << 8 | (0 if kind == "up" else 7)]
    offsets = [0, 3, lanes // 2 + 1, lanes - 1]

    @tt.kernel
    def shuffled(x: cute.Tensor, by: cute.Tensor, out: cute.Tensor) -> None:
        thread, _, _ = cute.arch.thread_idx()
        value = x[thread]
        for c, control in enumerate(controls):
            for i, offset in enumerate(offsets):
                out[c, i, 0, thread] = cute.arch.shuffle_sync_op(value, offset, None, control, kind)
                out[c, i, 1, thread] = cute.arch.shuffle_sync_op(value, by[i], None, control, kind)

    for block in BLOCKS:
        x = np.arange(block, dtype=np.int64) << 33 | 5
        out = np.zeros((len(controls), len(offsets), 2, block), np.int64)
        run(lanes, shuffled, block, x, np.array(offsets, np.int32), out)
        for c, control in enumerate(controls):
            for i, offset in enumerate(offsets):
                for thread in range(block):
                    lane = thread % lanes
                    given = lanes - 1 if control is None else control
                    source = thread - lane + source_lane(kind, lane, offset, given, lanes)
                    if source < block:  # the register of a thread that is not there is undefined
                        assert list(out[c, i, :, thread]) == [x[source]] * 2, (control, offset, thread)


@tt.kernel
def shuffled_and_counted(x: cute.Tensor, out: cute.Tensor) -> None:
    thread, _, _ = cute.arch.thread_idx()
    out[thread] = cute.arch.shuffle_sync(x[thread], x[thread]) + cute.arch.atomic_add(x.iterator + x[thread] % 3, 1)


def test_scratch_memory_is_no_more_aligned_than_what_is_allocated() -> None:
    x, out = np.zeros(128, np.int64), np.zeros(128, np.int64)
    made = run(64, shuffled_and_counted, 128, x, out)
    assert max(int(number) for number in re.findall(r"align (\d+)", made.llvm)) == 64


# votes, matches, reductions -------------------------------------------------------------------------------------------
@tt.kernel
def voted(x: cute.Tensor, out: cute.Tensor, ballots: cute.Tensor) -> None:
    thread, _, _ = cute.arch.thread_idx()
    held = x[thread] > 0
    upper = cute.arch.FULL_MASK ^ (1 << cute.arch.WARP_SIZE // 2) - 1
    out[0, thread] = cute.arch.vote_any_sync(held).to(tt.Int32)
    out[1, thread] = cute.arch.vote_all_sync(held).to(tt.Int32)
    out[2, thread] = cute.arch.vote_uni_sync(held).to(tt.Int32)
    out[3, thread] = cute.arch.popc(cute.arch.vote_ballot_sync(held))
    ballots[0, thread] = cute.arch.vote_ballot_sync(held).to(tt.Int64)
    if cute.arch.lane_idx() >= cute.arch.WARP_SIZE // 2:
        ballots[1, thread] = cute.arch.vote_ballot_sync(held, upper).to(tt.Int64)


@pytest.mark.parametrize("block", BLOCKS)
@pytest.mark.parametrize("lanes", WIDTHS)
def test_votes(lanes: int, block: int) -> None:
    x = np.where(np.arange(block) < 64, np.arange(block) * 5 % 7 - 3, 1).astype(np.int32)
    out, ballots = np.zeros((4, block), np.int32), np.zeros((2, block), np.int64)
    run(lanes, voted, block, x, out, ballots)
    held = x > 0
    questions: tuple[OfWarp, ...] = (np.any, np.all, lambda warp: warp.all() or not warp.any(), np.sum)
    for found, of_warp in zip(out, questions, strict=True):
        np.testing.assert_array_equal(found, for_each_warp(lanes, held, of_warp))
    half = lanes // 2
    for start, warp in by_warp(lanes, held):
        assert set(as_unsigned(ballots[0, start : start + len(warp)])) == {mask_of(warp)}
        above = as_unsigned(ballots[1, start + half : start + len(warp)])
        assert set(above) <= {mask_of(warp) >> half << half}


@tt.kernel
def matched(x: cute.Tensor, out: cute.Tensor, elected: cute.Tensor) -> None:
    thread, _, _ = cute.arch.thread_idx()
    out[0, thread] = cute.arch.match_any_sync(x[thread]).to(tt.Int64)
    same, all_of_them = cute.arch.match_all_sync(thread // cute.arch.WARP_SIZE)
    out[1, thread] = same.to(tt.Int64)
    elected[0, thread] = all_of_them.to(tt.Int32)
    with cute.arch.elect_one():
        elected[1, thread] = 1


@pytest.mark.parametrize("lanes", WIDTHS)
def test_matches_and_elections(lanes: int) -> None:
    x = (np.arange(128) ** 2 % 5).astype(np.int64)
    out, elected = np.zeros((2, 128), np.int64), np.zeros((2, 128), np.int32)
    run(lanes, matched, 128, x, out, elected)
    every = (1 << lanes) - 1
    for start, warp in by_warp(lanes, x):
        assert as_unsigned(out[0, start : start + lanes]) == [mask_of(warp == own) for own in warp]
        assert set(as_unsigned(out[1, start : start + lanes])) == {every}
    assert elected[0].all()
    assert list(np.flatnonzero(elected[1])) == list(range(0, 128, lanes))


@tt.kernel
def reduced(x: cute.Tensor, y: cute.Tensor, integers: cute.Tensor, floats: cute.Tensor) -> None:
    thread, _, _ = cute.arch.thread_idx()
    for i, kind in enumerate(("add", "max", "min", "and", "or", "xor")):
        integers[i, thread] = cute.arch.warp_redux_sync(x[thread], kind)
    floats[0, thread] = cute.arch.warp_reduction_sum(y[thread])
    floats[1, thread] = cute.arch.warp_reduction_max(y[thread])
    floats[2, thread] = cute.arch.warp_reduction_min(y[thread], threads_in_group=8)


@pytest.mark.parametrize("lanes", WIDTHS)
def test_reductions(lanes: int) -> None:
    x = (np.arange(128) * 97 % 64 + 128).astype(np.int32)
    y = x.astype(np.float64) / 4
    integers, floats = np.zeros((6, 128), np.int32), np.zeros((3, 128))
    run(lanes, reduced, 128, x, y, integers, floats)
    kinds: tuple[OfWarp, ...] = (
        np.sum,
        np.max,
        np.min,
        np.bitwise_and.reduce,
        np.bitwise_or.reduce,
        np.bitwise_xor.reduce,
    )
    for found, of_warp in zip(integers, kinds, strict=True):
        np.testing.assert_array_equal(found, for_each_warp(lanes, x, of_warp))
    for row, of_group, size in zip(floats, kinds[:3], (lanes, lanes, 8), strict=True):
        np.testing.assert_array_equal(row, for_each_warp(size, y, of_group))


@tt.kernel
def reduced_by_part(x: cute.Tensor, out: cute.Tensor) -> None:
    thread, _, _ = cute.arch.thread_idx()
    out[thread] = cute.arch.warp_redux_sync(x[thread], "add", mask_and_clamp=-1)


def test_threads_that_are_not_there_take_no_part() -> None:
    x, out = np.arange(96, dtype=np.int32), np.zeros(96, np.int32)
    run(64, reduced_by_part, 96, x, out)
    np.testing.assert_array_equal(out, for_each_warp(64, x, np.sum))


@tt.kernel
def reduced_in_large_groups(out: cute.Tensor) -> None:
    out[0] = cute.arch.warp_reduction_sum(1.0, threads_in_group=32)


def test_groups_are_parts_of_the_warp_that_there_is() -> None:
    out = np.zeros(1, np.float32)
    run(64, reduced_in_large_groups, 64, out)
    assert out[0] == 32
    with pytest.raises(OperandTypeError, match="1, 2, 4, 8 or 16"):
        run(16, reduced_in_large_groups, 64, out)


# threads --------------------------------------------------------------------------------------------------------------
@tt.kernel
def numbered(out: cute.Tensor) -> None:
    thread, _, _ = cute.arch.thread_idx()
    found = (cute.arch.lane_idx(), cute.arch.warp_idx(), cute.arch.make_warp_uniform(thread), cute.arch.WARP_SIZE)
    for i, number in enumerate(found):
        out[i, thread] = number


@tt.kernel
def numbered_with_much_to_keep(out: cute.Tensor) -> None:
    """Threads keep so much that vectors are halves of warps, and lane 0 of a vector is not lane 0 of a warp."""
    thread, _, _ = cute.arch.thread_idx()
    kept = cute.make_rmem_tensor(64, tt.Float32)
    for i in range(64):
        kept[i] = thread + i
    total = kept.load().reduce(cute.ReductionOp.ADD, 0.0, 0)
    out[0, thread] = cute.arch.lane_idx()
    out[1, thread] = cute.arch.warp_idx()
    out[2, thread] = total.to(tt.Int32)
    out[3, thread] = cute.arch.WARP_SIZE


@pytest.mark.parametrize("block", BLOCKS)
@pytest.mark.parametrize("lanes", WIDTHS)
def test_numbers_of_lanes_and_warps(lanes: int, block: int) -> None:
    threads = np.arange(block)
    out = np.zeros((4, block), np.int32)
    run(lanes, numbered, block, out)
    np.testing.assert_array_equal(
        out, [threads % lanes, threads // lanes, threads // lanes * lanes, threads * 0 + lanes]
    )
    made = run(lanes, numbered_with_much_to_keep, block, out)
    sums = 64 * threads + sum(range(64))
    np.testing.assert_array_equal(out, [threads % lanes, threads // lanes, sums, threads * 0 + lanes])
    assert f"<{lanes // 2} x float>" in made.llvm
    assert f"<{lanes} x float>" not in made.llvm


def test_outside_of_traces_a_warp_has_the_lanes_that_most_machines_have() -> None:
    assert (cute.arch.WARP_SIZE, cute.arch.FULL_MASK) == (32, 2**32 - 1)


def test_a_module_that_has_asked_too_early_is_refused() -> None:
    """It has computed with 32, and would give wrong numbers without a word."""
    out = np.zeros(1, np.int32)
    tt.compile(lanes_when_imported.run, out, target="cpu")(out)
    assert out[0] == 8
    with pytest.raises(KernelCallError, match="counts on warps of 32 lanes, and here they have 64") as refused:
        tt.compile(lanes_when_imported.run, out, target="warps-of-64")
    said = str(refused.value)
    assert "WARPS = 256 // cute.arch.WARP_SIZE" in said
    assert "inside of functions" in said


@tt.kernel
def divergent(x: cute.Tensor, out: cute.Tensor, order: cute.Tensor) -> None:
    thread, _, _ = cute.arch.thread_idx()
    lane = cute.arch.lane_idx()
    steps = 0
    value = x[thread]
    while value != 1:
        value = value // 2 if value % 2 == 0 else 3 * value + 1
        steps += 1
    if lane >= cute.arch.WARP_SIZE - 5:
        steps = -steps
    out[thread] = steps
    if steps < 0 and thread % 2 == 0:
        order[thread] = cute.arch.atomic_add(order.iterator, 1)


@pytest.mark.parametrize("block", BLOCKS)
@pytest.mark.parametrize("lanes", WIDTHS)
def test_lanes_diverge_and_reconverge(lanes: int, block: int) -> None:
    x = np.arange(block, dtype=np.int32) + 1
    out, order = np.zeros(block, np.int32), np.zeros(block, np.int32)
    run(lanes, divergent, block, x, out, order)
    steps = np.array([_collatz(int(n)) for n in x])
    last = np.arange(block) % lanes >= lanes - 5
    np.testing.assert_array_equal(out, np.where(last, -steps, steps))
    counted = [thread for thread in np.flatnonzero(last & (steps > 0)) if thread % 2 == 0]
    assert list(order[counted]) == list(range(len(counted)))  # lanes update one after the other
    assert order[0] == len(counted)


def _collatz(n: int) -> int:
    steps = 0
    while n != 1:
        n, steps = (n // 2 if n % 2 == 0 else 3 * n + 1), steps + 1
    return steps


# blocks ---------------------------------------------------------------------------------------------------------------
@tt.kernel
def block_sum(x: cute.Tensor, out: cute.Tensor, threads: tt.Constexpr[int]) -> None:
    """A sum of each warp, and one over the warps after a barrier."""
    thread, _, _ = cute.arch.thread_idx()
    warps = threads // cute.arch.WARP_SIZE
    partial = cute.SmemAllocator().allocate_tensor(tt.Float64, cute.make_layout(warps))
    total = cute.arch.warp_reduction_sum(x[thread])
    if cute.arch.lane_idx() == 0:
        partial[cute.arch.warp_idx()] = total
    cute.arch.sync_threads()
    whole = 0.0
    for warp in tt.range_constexpr(warps):
        whole += partial[warp]
    out[thread] = whole - total


@tt.kernel
def handed_over(x: cute.Tensor, out: cute.Tensor, threads: tt.Constexpr[int]) -> None:
    """The last warp produces for the others at a named barrier: warps are coroutines that suspend with live vectors."""
    thread, _, _ = cute.arch.thread_idx()
    shared = cute.SmemAllocator().allocate_tensor(tt.Float64, cute.make_layout(cute.arch.WARP_SIZE))
    lane = cute.arch.lane_idx()
    own = x[thread] * 2.0
    if cute.arch.warp_idx() == threads // cute.arch.WARP_SIZE - 1:
        shared[lane] = cute.arch.warp_reduction_sum(own) + lane
        cute.arch.barrier_arrive(barrier_id=1, number_of_threads=threads)
        out[thread] = own
    else:
        cute.arch.barrier(barrier_id=1, number_of_threads=threads)
        out[thread] = own + shared[lane]


@pytest.mark.parametrize("block", [128, 1024])
@pytest.mark.parametrize("lanes", WIDTHS)
def test_warps_of_a_block_meet_at_barriers(lanes: int, block: int) -> None:
    x = np.arange(block, dtype=np.float64) % 17
    out = np.zeros_like(x)
    run(lanes, block_sum, block, x, out, static=(block,))
    np.testing.assert_array_equal(out, x.sum() - for_each_warp(lanes, x, np.sum))
    made = run(lanes, handed_over, block, x, out, static=(block,))
    assert f"coro.id(i32 {max(256, 8 * lanes)}" in made.llvm  # the frame's alignment, for vectors of Float64
    given = x[-lanes:].sum() * 2 + np.arange(lanes)
    expected = 2 * x + np.tile(given, block // lanes)
    expected[-lanes:] = 2 * x[-lanes:]
    np.testing.assert_array_equal(out, expected)


# mistakes -------------------------------------------------------------------------------------------------------------
@tt.kernel
def checked(x: cute.Tensor) -> None:
    thread, _, _ = cute.arch.thread_idx()
    assert x[thread] < 50, "too large"


@tt.kernel
def missed_barrier(x: cute.Tensor) -> None:
    thread, _, _ = cute.arch.thread_idx()
    if thread < 50:
        cute.arch.sync_threads()
    x[thread] = 1


@tt.kernel
def waits_for_nobody(x: cute.Tensor) -> None:
    if cute.arch.warp_idx() == 1:
        cute.arch.barrier(barrier_id=1, number_of_threads=x.shape[0])


@pytest.mark.parametrize(
    ("kernel", "error", "thread"),
    [
        (checked, AssertionFailedError, 50),
        (missed_barrier, DivergentBarrierError, 50),
        (waits_for_nobody, DeadlockError, 64),
    ],
)
def test_threads_to_blame_are_counted_in_warps_of_the_machine(kernel: Any, error: type[Exception], thread: int) -> None:
    with pytest.raises(error, match=rf"thread \({thread}, 0, 0\)"):
        run(64, kernel, 128, np.arange(128, dtype=np.int32))


def test_instructions_of_32_threads_are_refused() -> None:
    @tt.kernel
    def copied() -> None:
        shared = cute.SmemAllocator().allocate_tensor(tt.Float16, cute.make_layout((8, 8), stride=(8, 1)), 16)
        atom = cute.make_copy_atom(cute.nvgpu.warp.LdMatrix8x8x16bOp(False, 1), tt.Float16)
        copy = cute.make_tiled_copy_tv(atom, cute.make_layout((8, 4), stride=(4, 1)), cute.make_layout((1, 2)))
        mine = copy.get_slice(cute.arch.thread_idx()[0])
        source = mine.partition_S(shared)
        cute.copy(copy, source, cute.make_rmem_tensor(mine.partition_D(shared).shape, tt.Float16))

    with pytest.raises(LoweringError, match="an instruction of 32 threads on a machine whose warps have 64 lanes"):
        run(64, copied, 64)
