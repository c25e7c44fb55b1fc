"""Loads and stores of tensor memory on the CPU: what one shape stores, every other loads."""

from __future__ import annotations

from itertools import product
from types import SimpleNamespace
from typing import Any, cast

import numpy as np
import pytest

import triptych as tt
from tests.support.places import places
from triptych import cute
from triptych.cute.nvgpu import tcgen05
from triptych.cute.runtime import from_dlpack
from triptych.cute.tracing.errors import CopyInstructionError
from triptych.kernel_ir.dialects.tensor_memory import ACCESSES, accumulator_layout, accumulator_words
from triptych.utils import TmemAllocator

pytestmark = pytest.mark.cpu
SHAPES = ("32x32b", "16x64b", "16x128b", "16x256b")
PAIRS = list(product(SHAPES, SHAPES))
COLUMNS, THREADS = 32, 128


def operation(prefix: str, shape: str, packs: bool = False) -> Any:
    halves = tcgen05.Pack.PACK_16b_IN_32b if prefix == "Ld" else tcgen05.Unpack.UNPACK_32b_IN_16b
    return getattr(tcgen05, f"{prefix}{shape}Op")(tcgen05.Repetition.x2, *([halves] if packs else []))


@tt.kernel
def copies(
    x: cute.Tensor, y: cute.Tensor, store: tt.Constexpr[Any], load: tt.Constexpr[Any], as_registers: tt.Constexpr[bool]
) -> None:
    """`as_registers`: threads divide tensor memory as their registers."""
    thread, _, _ = cute.arch.thread_idx()
    columns = TmemAllocator(cute.SmemAllocator().allocate_array(tt.Int32, 1))
    columns.allocate(COLUMNS)
    columns.wait_for_alloc()
    kind = x.element_type
    words = 32 // kind.width
    place = columns.retrieve_ptr(kind)
    there = cute.make_tensor(place, cute.make_layout((128, COLUMNS), stride=(words << 16, words)))
    to, back = (tcgen05.make_tmem_copy(cute.make_copy_atom(op, kind), there).get_slice(thread) for op in (store, load))
    held = cute.make_rmem_tensor(to.partition_S(x).shape, kind)
    cute.basic_copy(to.partition_S(x), held)
    cute.copy(to.tiled_copy, held, to.partition_S(there) if as_registers else to.partition_D(there))
    cute.arch.fence_view_async_tmem_store()
    cute.arch.sync_threads()
    result = cute.make_rmem_tensor(back.partition_D(y).shape, kind)
    cute.copy(back.tiled_copy, back.partition_D(there) if as_registers else back.partition_S(there), result)
    cute.arch.fence_view_async_tmem_load()
    cute.basic_copy(result, back.partition_D(y))
    cute.arch.sync_threads()
    columns.free(place)


@tt.jit
def copy(
    x: cute.Tensor, y: cute.Tensor, store: tt.Constexpr[Any], load: tt.Constexpr[Any], as_registers: tt.Constexpr[bool]
) -> None:
    copies(x, y, store, load, as_registers).launch(grid=1, block=THREADS)


@pytest.mark.parametrize("shape", SHAPES)
@pytest.mark.parametrize("prefix", ["Ld", "St"])
def test_128_threads_reach_each_element_once(prefix: str, shape: str) -> None:
    """Of every tile that the instruction fits: rows of a CTA, columns, repetitions."""
    of_64_rows = shape != "32x32b"
    for rows, n, repeat in product((64, 128) if of_64_rows else (128,), (16, 32, 64, 128), tcgen05.Repetition):
        if ACCESSES[shape].registers_of(repeat.value) > 128 or ACCESSES[shape].columns * repeat.value > n:
            continue
        op = getattr(tcgen05, f"{prefix}{shape}Op")(repeat)
        sums = accumulator_layout(accumulator_words(rows, n, 1), (1, 1), 32)
        tiled = tcgen05.make_tmem_copy(
            cute.make_copy_atom(op, tt.Float32), cast("Any", SimpleNamespace(layout=sums[0]))
        )
        held = tiled.layout_dst_tv_tiled if prefix == "Ld" else tiled.layout_src_tv_tiled
        found = np.sort(places(held))
        assert (found == np.arange(len(found))).all()


def check(dtype: Any, store: Any, load: Any, *, as_registers: bool = False) -> None:
    x = np.random.default_rng(1).integers(0, 1000, (128, COLUMNS)).astype(dtype)
    y = np.zeros_like(x)
    copy(*(from_dlpack(array) for array in (x, y)), store, load, as_registers)
    np.testing.assert_array_equal(y, x)


@pytest.mark.parametrize(("stored", "loaded"), PAIRS)
def test_words(stored: str, loaded: str) -> None:
    check(np.float32, operation("St", stored), operation("Ld", loaded))


@tt.kernel
def extremes(x: cute.Tensor, y: cute.Tensor, found: cute.Tensor, load: tt.Constexpr[Any]) -> None:
    """Columns that are stored, then loaded with the largest or smallest number of each instruction."""
    thread, _, _ = cute.arch.thread_idx()
    columns = TmemAllocator(cute.SmemAllocator().allocate_array(tt.Int32, 1))
    columns.allocate(COLUMNS)
    columns.wait_for_alloc()
    place = columns.retrieve_ptr(tt.Float32)
    there = cute.make_tensor(place, cute.make_layout((128, COLUMNS), stride=(1 << 16, 1)))
    ops = (tcgen05.St32x32bOp(tcgen05.Repetition.x8), load)
    to, back = (tcgen05.make_tmem_copy(cute.make_copy_atom(op, tt.Float32), there).get_slice(thread) for op in ops)
    held = cute.make_rmem_tensor(to.partition_S(x).shape, tt.Float32)
    cute.basic_copy(to.partition_S(x), held)
    cute.copy(to.tiled_copy, held, to.partition_D(there))
    cute.arch.fence_view_async_tmem_store()
    cute.arch.sync_threads()
    result = cute.make_rmem_tensor(back.partition_D(y).shape, tt.Float32)
    reduced = cute.make_rmem_tensor(4, tt.Float32)
    cute.copy(back.tiled_copy, back.partition_S(there), (result, reduced))
    cute.arch.fence_view_async_tmem_load()
    cute.basic_copy(result, back.partition_D(y))
    cute.basic_copy(reduced, found[thread, None])
    cute.arch.sync_threads()
    columns.free(place)


@tt.jit
def find_extremes(x: cute.Tensor, y: cute.Tensor, found: cute.Tensor, load: tt.Constexpr[Any]) -> None:
    extremes(x, y, found, load).launch(grid=1, block=THREADS)


def check_extremes(kind: str) -> None:
    x = np.random.default_rng(1).integers(-1000, 1000, (128, COLUMNS)).astype(np.float32)
    y, found = np.zeros_like(x), np.zeros((128, 4), np.float32)
    load = tcgen05.LdRed32x32bOp(tcgen05.Repetition.x8, redOp=tcgen05.TmemLoadRedOp(kind))
    find_extremes(*(from_dlpack(array) for array in (x, y, found)), load)
    np.testing.assert_array_equal(y, x)
    parts = x.reshape(128, 4, 8)
    np.testing.assert_array_equal(found, parts.max(axis=2) if kind == "max" else parts.min(axis=2))


@pytest.mark.parametrize("kind", ["max", "min"])
def test_loads_that_reduce(kind: str) -> None:
    check_extremes(kind)


def test_a_load_that_reduces_has_two_destinations() -> None:
    with pytest.raises(CopyInstructionError, match="also loads the maximum of its numbers"):
        check(np.float32, operation("St", "32x32b"), tcgen05.LdRed32x32bOp(tcgen05.Repetition.x8))
    with pytest.raises(CopyInstructionError, match="no such instruction"):
        tcgen05.LdRed32x32bOp(tcgen05.Repetition.x1)


@pytest.mark.parametrize(("stored", "loaded"), list(zip(SHAPES, SHAPES[::-1], strict=True)))
def test_halves(stored: str, loaded: str) -> None:
    check(np.float16, operation("St", stored, packs=True), operation("Ld", loaded, packs=True))


@pytest.mark.parametrize("shape", SHAPES)
@pytest.mark.parametrize("dtype", [np.float32, np.float16])
def test_threads_may_name_what_their_registers_hold(dtype: Any, shape: str) -> None:
    """Of tensor memory, where the instruction is given the address of thread 0."""
    packs = dtype is np.float16
    check(dtype, operation("St", shape, packs), operation("Ld", shape, packs), as_registers=True)
