"""What the functions of `cute.arch` compute, compared with models of the instructions in plain Python."""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import triptych as tt
from tests.unit.cute.launched import DTYPES, run
from triptych import cute
from triptych.cute.runtime import from_dlpack

pytestmark = pytest.mark.usefixtures("every_machine")

LANES = range(32)


def element(pointer: cute.Pointer, i: Any) -> Any:
    """One element of memory as a tensor, which is read and written at 0."""
    return cute.make_tensor(pointer + i, cute.make_layout(1))


# who this thread is ---------------------------------------------------------------------------------------------------
@tt.kernel
def indices(out: cute.Pointer) -> None:
    tx, ty, tz = cute.arch.thread_idx()
    bx, by, bz = cute.arch.block_idx()
    dx, dy, dz = cute.arch.block_dim()
    gx, gy, gz = cute.arch.grid_dim()
    thread = (tz * dy + ty) * dx + tx
    block = (bz * gy + by) * gx + bx
    row = (block * (dx * dy * dz) + thread) * 14
    found = (tx, ty, tz, bx, by, bz, dx, dy, dz, gx, gy, gz, cute.arch.lane_idx(), cute.arch.warp_idx())
    for i, value in enumerate(found):
        element(out, row + i)[0] = value


@pytest.mark.parametrize(
    ("grid", "block"),
    [((3, 1, 1), (70, 1, 1)), ((2, 3, 2), (5, 4, 3)), ((1, 1, 1), (1, 33, 2)), ((1, 2, 1), (1, 1, 1))],
)
def test_indices_are_those_of_the_thread(grid: tuple[int, int, int], block: tuple[int, int, int]) -> None:
    threads, blocks = math.prod(block), math.prod(grid)
    out = np.full((blocks, threads, 14), -1, np.int32)
    run(indices, [out], grid=grid, block=block)
    for b in range(blocks):
        for t in range(threads):
            where = [t % block[0], t // block[0] % block[1], t // (block[0] * block[1])]
            which = [b % grid[0], b // grid[0] % grid[1], b // (grid[0] * grid[1])]
            assert list(out[b, t]) == [*where, *which, *block, *grid, t % 32, t // 32]


# shuffles -------------------------------------------------------------------------------------------------------------
def source_lane(kind: str, lane: int, offset: int, control: int) -> int:
    """The lane that the instruction reads, as its manual says; the own one where the result is not valid."""
    clamp, segments, offset = control & 31, control >> 8 & 31, offset & 31
    last = lane & segments | clamp & ~segments
    match kind:
        case "up":
            source, valid = lane - offset, lane - offset >= last
        case "down":
            source, valid = lane + offset, lane + offset <= last
        case "bfly":
            source, valid = lane ^ offset, lane ^ offset <= last
        case _:
            source = lane & segments | offset & ~segments
            valid = source <= last
    return source if valid else lane


@tt.kernel
def shuffled(
    values: cute.Pointer,
    out: cute.Pointer,
    kind: tt.Constexpr[Any],
    offset: tt.Constexpr[Any],
    control: tt.Constexpr[Any],
) -> None:
    lane = cute.arch.lane_idx()
    moved = cute.arch.shuffle_sync_op(element(values, lane)[0], offset, 0xFFFFFFFF, control, kind)
    element(out, lane)[0] = moved


@tt.kernel
def shuffled_by_each(
    values: cute.Pointer, offsets: cute.Pointer, out: cute.Pointer, kind: tt.Constexpr[Any], control: tt.Constexpr[Any]
) -> None:
    """Row i by a run-time offset, and after those one row by a constant offset of 3."""
    lane = cute.arch.lane_idx()
    value = element(values, lane)[0]
    for i in range(5):
        moved = cute.arch.shuffle_sync_op(value, element(offsets, i)[0], 0xFFFFFFFF, control, kind)
        element(out, i * 32 + lane)[0] = moved
    element(out, 160 + lane)[0] = cute.arch.shuffle_sync_op(value, 3, 0xFFFFFFFF, control, kind)


@pytest.mark.parametrize("kind", ["idx", "up", "down", "bfly"])
@pytest.mark.parametrize("control", [31, 0, 0x1800 | 7, 0x1C1F, 0x1003])
def test_shuffle_reads_the_lane_of_the_instruction(kind: str, control: int) -> None:
    values = np.arange(32, dtype=np.int32) * 7 + 3
    offsets = np.array([0, 1, 5, 8, 31], np.int32)
    out = np.zeros((6, 32), np.int32)
    run(shuffled_by_each, [values, offsets, out], kind, control)
    for row, offset in zip(out, [*offsets, 3], strict=True):
        assert list(row) == [values[source_lane(kind, lane, int(offset), control)] for lane in LANES], offset


@pytest.mark.parametrize("dtype", DTYPES, ids=str)
def test_shuffle_moves_every_bit_of_every_type(dtype: np.dtype[Any]) -> None:
    if dtype.kind == "b":
        values = np.arange(32) % 3 == 0
    else:
        values = np.random.default_rng(1).integers(0, 256, 32 * dtype.itemsize, np.uint8).view(dtype)
    out = np.zeros_like(values)
    run(shuffled, [values, out], "bfly", 5, 31)
    assert out.tobytes() == values[[lane ^ 5 for lane in LANES]].tobytes()


@tt.kernel
def shuffled_tf32(out: cute.Pointer) -> None:
    lane = cute.arch.lane_idx()
    moved = cute.arch.shuffle_sync_bfly((lane.to(tt.Float32) * 0.25).to(tt.TFloat32), 5)
    element(out, lane)[0] = moved.to(tt.Float32)


def test_shuffle_of_a_type_without_a_word_of_its_own() -> None:
    out = np.zeros(32, np.float32)
    run(shuffled_tf32, [out])
    assert list(out) == [(lane ^ 5) * 0.25 for lane in LANES]


@tt.kernel
def named_shuffles(out: cute.Pointer) -> None:
    lane = cute.arch.lane_idx()
    moved = (
        cute.arch.shuffle_sync(lane, 5),
        cute.arch.shuffle_sync_up(lane, 3),
        cute.arch.shuffle_sync_down(lane, 3),
        cute.arch.shuffle_sync_bfly(lane, 16),
        cute.arch.shuffle_sync(lane, (lane + 1) % 32),
        cute.arch.make_warp_uniform(lane + 9),
    )
    for i, value in enumerate(moved):
        element(out, lane * 6 + i)[0] = value


def test_named_shuffles() -> None:
    out = np.zeros((32, 6), np.int32)
    run(named_shuffles, [out])
    for lane in LANES:
        up, down = max(lane - 3, lane if lane < 3 else 0), lane + 3 if lane + 3 < 32 else lane
        assert list(out[lane]) == [5, up, down, lane ^ 16, (lane + 1) % 32, 9]


# votes ----------------------------------------------------------------------------------------------------------------
@tt.kernel
def votes(values: cute.Pointer, out: cute.Pointer) -> None:
    lane = cute.arch.lane_idx()
    value = element(values, lane)[0]
    same_mask, same = cute.arch.match_all_sync(value)
    found = (
        cute.arch.vote_any_sync(value > 3).to(tt.Int32),
        cute.arch.vote_all_sync(value > 3).to(tt.Int32),
        cute.arch.vote_uni_sync(value > 3).to(tt.Int32),
        cute.arch.vote_ballot_sync(value > 3),
        cute.arch.match_any_sync(value),
        same_mask,
        same.to(tt.Int32),
    )
    for i, each in enumerate(found):
        element(out, lane * 7 + i)[0] = each


def signed(bits: int) -> int:
    return bits - 2**32 if bits >= 2**31 else bits


@pytest.mark.parametrize("values", [[lane % 5 for lane in LANES], [9] * 32, [0] * 32, [7] + [0] * 31, list(LANES)])
def test_votes_count_all_lanes(values: list[int]) -> None:
    out = np.zeros((32, 7), np.int32)
    run(votes, [np.array(values, np.int32), out])
    truths = [value > 3 for value in values]
    ballot = sum(truth << lane for lane, truth in enumerate(truths))
    same = len(set(values)) == 1
    for lane in LANES:
        alike = sum((value == values[lane]) << other for other, value in enumerate(values))
        expected = [any(truths), all(truths), len(set(truths)) == 1, signed(ballot), signed(alike), -same, same]
        assert list(out[lane]) == expected


@tt.kernel
def elected(out: cute.Pointer) -> None:
    with cute.arch.elect_one():
        cute.arch.atomic_add(out, 1)


def test_one_lane_of_each_warp_is_elected() -> None:
    out = np.zeros(1, np.int32)
    run(elected, [out], block=96)
    assert out[0] == 3


@tt.kernel
def elected_in_a_branch(out: cute.Pointer) -> None:
    thread, _, _ = cute.arch.thread_idx()
    if thread // 32 != 1:
        with cute.arch.elect_one():
            cute.arch.atomic_add(out, 1)


def test_one_lane_is_elected_in_a_branch() -> None:
    out = np.zeros(1, np.int32)
    run(elected_in_a_branch, [out], block=96)
    assert out[0] == 2


# reductions -----------------------------------------------------------------------------------------------------------
@tt.kernel
def reductions(values: cute.Pointer, out: cute.Pointer, group: tt.Constexpr[Any]) -> None:
    lane = cute.arch.lane_idx()
    value = element(values, lane)[0]
    found = (
        cute.arch.warp_reduction_sum(value, threads_in_group=group),
        cute.arch.warp_reduction_max(value, threads_in_group=group),
        cute.arch.warp_reduction_min(value, threads_in_group=group),
        cute.arch.warp_reduction(value, lambda x, y: x * y, threads_in_group=group),
    )
    for i, each in enumerate(found):
        element(out, lane * 4 + i)[0] = each


@pytest.mark.parametrize("group", [1, 4, 32])
@pytest.mark.parametrize("dtype", ["int32", "uint32", "int64", "float32", "float64"])
def test_reduction_gives_every_lane_the_result_of_its_group(dtype: str, group: int) -> None:
    values = np.array([(lane * 5 % 7) % 3 + 1 for lane in LANES], dtype)
    out = np.zeros((32, 4), dtype)
    run(reductions, [values, out], group)
    for lane in LANES:
        part = values[lane // group * group :][:group]
        assert list(out[lane]) == [part.sum(), part.max(), part.min(), part.prod()]


@tt.kernel
def redux(values: cute.Pointer, out: cute.Pointer, kind: tt.Constexpr[Any]) -> None:
    lane = cute.arch.lane_idx()
    element(out, lane)[0] = cute.arch.warp_redux_sync(element(values, lane)[0], kind)


@pytest.mark.parametrize("dtype", ["int32", "uint32"])
@pytest.mark.parametrize(
    ("kind", "model"),
    [
        ("add", np.add),
        ("max", np.maximum),
        ("min", np.minimum),
        ("and", np.bitwise_and),
        ("or", np.bitwise_or),
        ("xor", np.bitwise_xor),
    ],
)
def test_redux_combines_all_lanes(dtype: str, kind: str, model: Any) -> None:
    values = np.random.default_rng(2).integers(0, 2**32, 32, np.uint32).view(dtype)
    out = np.zeros_like(values)
    run(redux, [values, out], kind)
    assert set(out) == {model.reduce(values, dtype=dtype)}


# atomics --------------------------------------------------------------------------------------------------------------
@tt.kernel
def atomic_update(values: cute.Pointer, cell: cute.Pointer, name: tt.Constexpr[Any]) -> None:
    x, _, _ = cute.arch.thread_idx()
    b, _, _ = cute.arch.block_idx()
    getattr(cute.arch, name)(cell, element(values, b * 64 + x)[0])


INTEGERS = ("int32", "uint32", "int64", "uint64")


@pytest.mark.parametrize(
    ("name", "model", "dtypes"),
    [
        ("atomic_add", np.add, (*INTEGERS, "float32", "float64")),
        ("atomic_max", np.maximum, INTEGERS),
        ("atomic_min", np.minimum, INTEGERS),
        ("atomic_fmax", np.maximum, ("float32",)),
        ("atomic_fmin", np.minimum, ("float32",)),
        ("atomic_max_float32", np.maximum, ("float32",)),
        ("atomic_and", np.bitwise_and, INTEGERS),
        ("atomic_or", np.bitwise_or, INTEGERS),
        ("atomic_xor", np.bitwise_xor, INTEGERS),
    ],
    ids=lambda value: value if isinstance(value, str) else "",
)
def test_atomics_lose_no_update(name: str, model: Any, dtypes: tuple[str, ...]) -> None:
    for dtype in dtypes:
        values = np.random.default_rng(3).integers(-1000, 1000, 256).astype(dtype)
        cell = np.array([5], dtype)
        run(atomic_update, [values, cell], name, grid=4, block=64)
        assert cell[0] == model(model.reduce(values, dtype=dtype), np.array(5, dtype)), dtype


@tt.kernel
def tickets(counter: cute.Pointer, out: cute.Pointer) -> None:
    x, _, _ = cute.arch.thread_idx()
    b, _, _ = cute.arch.block_idx()
    element(out, b * 48 + x)[0] = cute.arch.atomic_add(counter, 1)


def test_atomic_add_returns_what_was_there() -> None:
    counter, out = np.array([100], np.int32), np.zeros(144, np.int32)
    run(tickets, [counter, out], grid=3, block=48)
    assert sorted(out) == list(range(100, 244))
    assert counter[0] == 244


@tt.kernel
def count_in_swizzled_memory(out: cute.Pointer) -> None:
    x, _, _ = cute.arch.thread_idx()
    counts = cute.SmemAllocator().allocate_tensor(tt.Int32, cute.make_layout(64), swizzle=cute.make_swizzle(2, 2, 2))
    counts[x] = 0
    cute.arch.sync_threads()
    cute.arch.atomic_add(counts.iterator + x // 2, x)
    cute.arch.sync_threads()
    element(out, x)[0] = counts[x]


def test_atomics_find_the_elements_of_a_swizzled_tensor() -> None:
    out = np.zeros(64, np.int32)
    run(count_in_swizzled_memory, [out], block=64)
    assert list(out) == [4 * i + 1 for i in range(32)] + [0] * 32


@tt.kernel
def once(flag: cute.Pointer, last: cute.Pointer, out: cute.Pointer) -> None:
    x, _, _ = cute.arch.thread_idx()
    before = cute.arch.atomic_cas(flag, cmp=0, val=x + 1)
    if before == 0:
        cute.arch.atomic_add(out, 1)
    cute.arch.atomic_exch(last, x)


def test_compare_and_swap_succeeds_once() -> None:
    flag, last, out = np.zeros(1, np.int32), np.full(1, -1, np.int32), np.zeros(1, np.int32)
    run(once, [flag, last, out], block=70)
    assert out[0] == 1
    assert 1 <= flag[0] <= 70
    assert 0 <= last[0] < 70


# bits and numbers -----------------------------------------------------------------------------------------------------
@tt.kernel
def bits(values: cute.Pointer, out: cute.Pointer) -> None:
    lane = cute.arch.lane_idx()
    value = element(values, lane)[0]
    found = (
        cute.arch.popc(value),
        cute.arch.clz(value),
        cute.arch.ffs(value),
        cute.arch.brev(value),
    )
    for i, each in enumerate(found):
        element(out, lane * 4 + i)[0] = each.to(tt.Int64)


@pytest.mark.parametrize("dtype", ["uint32", "uint64", "uint8"])
def test_bits(dtype: str) -> None:
    width = np.dtype(dtype).itemsize * 8
    values = np.random.default_rng(4).integers(0, 2**width, 32, dtype)
    values[:3] = [0, 1, 2**width - 1]
    out = np.zeros((32, 4), np.int64)
    run(bits, [values, out])
    for lane, value in enumerate(map(int, values)):
        text = f"{value:0{width}b}"
        lowest = (value & -value).bit_length()
        reverse = int(text[::-1], 2)
        reverse -= 2**64 if reverse >= 2**63 else 0
        assert list(out[lane]) == [text.count("1"), width - value.bit_length(), lowest, reverse], value


@tt.kernel
def numbers(values: cute.Pointer, out: cute.Pointer) -> None:
    lane = cute.arch.lane_idx()
    x = element(values, lane)[0]
    low, high = cute.arch.fma_packed_f32x2((x, x), (2.0, 3.0), (1.0, x))
    first, second = cute.arch.exp_packed_f32x2((x, -x))
    found = (
        cute.arch.fma(x, x, -1.0),
        cute.arch.fmax(x, 1.0),
        cute.arch.fmin(x, 1.0),
        cute.arch.rcp_approx(x),
        cute.arch.exp2(x),
        low,
        high,
        first,
        second,
    )
    for i, each in enumerate(found):
        element(out, lane * 9 + i)[0] = each


def test_numbers() -> None:
    values = np.linspace(0.25, 8.0, 32, dtype=np.float32)
    out = np.zeros((32, 9), np.float32)
    run(numbers, [values, out])
    wide = values.astype(np.float64)
    models: tuple[Callable[[Any], Any], ...] = (
        lambda x: x * x - 1,
        lambda x: np.maximum(x, 1),
        lambda x: np.minimum(x, 1),
        lambda x: 1 / x,
        np.exp2,
        lambda x: 2 * x + 1,
        lambda x: 3 * x + x,
        np.exp,
        lambda x: np.exp(-x),
    )
    for i, model in enumerate(models):
        np.testing.assert_allclose(out[:, i], model(wide), rtol=1e-6, atol=1e-6)


@tt.kernel
def larger_of(values: cute.Pointer, out: cute.Pointer) -> None:
    element(out, 0)[0] = cute.arch.fmax(element(values, 0)[0], 2.0)


def test_number_wins_against_nan() -> None:
    out = np.zeros(1, np.float32)
    run(larger_of, [np.array([np.nan], np.float32), out], block=1)
    assert out[0] == 2.0


# barriers and time ----------------------------------------------------------------------------------------------------
@tt.kernel
def exchanged(out: cute.Pointer, threads: tt.Constexpr[Any], name: tt.Constexpr[Any]) -> None:
    x, _, _ = cute.arch.thread_idx()
    shared = cute.SmemAllocator().allocate_tensor(tt.Int32, cute.make_layout(threads))
    shared[x] = x * x
    if tt.const_expr(name == "sync_threads"):
        cute.arch.sync_threads()
    elif tt.const_expr(name == "barrier"):
        cute.arch.barrier()
    else:
        cute.arch.barrier(barrier_id=1, number_of_threads=threads)
    element(out, x)[0] = shared[threads - 1 - x]


@pytest.mark.parametrize("name", ["sync_threads", "barrier", "named"])
def test_barrier_shows_what_other_threads_wrote(name: str) -> None:
    out = np.zeros(128, np.int32)
    run(exchanged, [out], 128, name, block=128)
    assert list(out) == [(127 - x) ** 2 for x in range(128)]


@tt.kernel
def times(out: cute.Pointer) -> None:
    first, start = cute.arch.clock64(), cute.arch.globaltimer()
    cute.arch.nanosleep(1000)
    element(out, 0)[0] = cute.arch.clock64() - first
    element(out, 1)[0] = cute.arch.globaltimer() - start
    element(out, 2)[0] = cute.arch.clock().to(tt.Uint64)


def test_time_goes_on() -> None:
    out = np.zeros(3, np.uint64)
    run(times, [out], block=1)
    assert 0 < out[0] < 10**10
    assert 0 <= out[1] < 10**10


@tt.kernel
def products_kernel(a: cute.Tensor, b: cute.Tensor, wide: cute.Tensor, high: cute.Tensor, logic: cute.Tensor) -> None:
    t, _, _ = cute.arch.thread_idx()
    wide[t] = cute.arch.mul_wide(a[t], b[t])
    high[t] = cute.arch.mul_hi(a[t], b[t])
    logic[t] = cute.arch.lop3(a[t], b[t], 0x0F0F0F0F, (0xF0 & 0xCC) | 0xAA)


@tt.jit
def products(a: cute.Tensor, b: cute.Tensor, wide: cute.Tensor, high: cute.Tensor, logic: cute.Tensor) -> None:
    products_kernel(a, b, wide, high, logic).launch(grid=1, block=32)


@pytest.mark.parametrize(("kind", "wide"), [(np.int32, np.int64), (np.uint32, np.uint64)])
def test_products_of_twice_the_width_and_logic_of_three(kind: Any, wide: Any) -> None:
    random = np.random.default_rng(0)
    a, b = random.integers(0, 2**32, (2, 32), dtype=np.uint32).view(kind)
    whole, high, logic = np.zeros(32, wide), np.zeros(32, kind), np.zeros(32, np.int32)
    products(*map(from_dlpack, (a, b, whole, high, logic)))
    np.testing.assert_array_equal(whole, a.astype(wide) * b.astype(wide))
    np.testing.assert_array_equal(high, (whole >> wide(32)).astype(kind))
    np.testing.assert_array_equal(logic.view(kind), (a & b) | kind(0x0F0F0F0F))
