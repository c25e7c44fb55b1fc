"""Each form of `multimem` over the memory of three ranks, against NumPy; without torch and further processes."""

from __future__ import annotations

import itertools
import sys
from typing import Any

import ml_dtypes
import numpy as np
import pytest

import triptych as tt
from tests.support.rank_memory import RANKS, array_at, heap_of_three
from triptych import cute
from triptych.cute.runtime import make_ptr
from triptych.frontends.ptx.lowerings import NoPtxMeaningError

pytestmark = pytest.mark.skipif(sys.platform != "linux", reason="ranks need addresses that Linux lets a program choose")

TYPES: dict[str, tuple[Any, int]] = {
    "u32": (np.uint32, 1),
    "s32": (np.int32, 1),
    "b32": (np.uint32, 1),
    "u64": (np.uint64, 1),
    "s64": (np.int64, 1),
    "b64": (np.uint64, 1),
    "f16": (np.float16, 1),
    "bf16": (ml_dtypes.bfloat16, 1),
    "f32": (np.float32, 1),
    "f64": (np.float64, 1),
    "f16x2": (np.float16, 2),
    "bf16x2": (ml_dtypes.bfloat16, 2),
    "e4m3x4": (ml_dtypes.float8_e4m3fn, 4),
    "e5m2x4": (ml_dtypes.float8_e5m2, 4),
    "e4m3x2": (ml_dtypes.float8_e4m3fn, 2),
    "e5m2x2": (ml_dtypes.float8_e5m2, 2),
}
"""What a register of each type holds."""
INTEGERS = [f"{op}.{kind}" for op in ("add", "min", "max") for kind in ("u32", "s32", "u64", "s64")]
BITS = [f"{op}.{kind}" for op in ("and", "or", "xor") for kind in ("b32", "b64")]
HALVES = [f"{op}.{kind}" for op in ("add", "min", "max") for kind in ("f16", "bf16", "f16x2", "bf16x2")]
WIDER = [f"add.acc::f32{v}.{kind}" for v in ("", ".v2", ".v4") for kind in ("f16x2", "bf16x2")]
BYTES = [f"add.acc::f16{v}.{kind}" for v in ("", ".v4") for kind in ("e4m3x4", "e5m2x4")]
FLOATS = ["add.f32", "add.f64", "add.v2.f32", "add.v4.f32", "add.v2.f64", "add.v4.f16x2", "max.v8.f16"]
LOADS = [*INTEGERS, *BITS, *HALVES, *WIDER, *BYTES, *FLOATS, "add.acc::f16.e4m3x2"]
UPDATES = [*INTEGERS, *BITS, *HALVES, "add.f32", "add.f64", "add.v2.f32", "add.v4.f32", "add.v4.f16x2"]
STORES = ["b32", "u64", "f16x2", "v2.f32", "v4.f32", "f64", "v4.bf16x2", "e4m3x4"]
_JOINED = {
    "add": np.add,
    "min": np.minimum,
    "max": np.maximum,
    "and": np.bitwise_and,
    "or": np.bitwise_or,
    "xor": np.bitwise_xor,
}
_LETTERS = {16: "h", 32: "r", 64: "l"}
_NUMBERS = {16: tt.Uint16, 32: tt.Uint32, 64: tt.Uint64}
COUNT = 32


def parts(form: str) -> tuple[Any, int, int, int]:
    """The type of numbers, how many a thread has, registers, and the bits of one."""
    *words, kind = form.split(".")
    registers = next((int(word[1]) for word in words if word in ("v2", "v4", "v8")), 1)
    dtype, packed = TYPES[kind]
    return dtype, packed * registers, registers, 8 * packed * np.dtype(dtype).itemsize


def braces(first: int, count: int) -> str:
    names = ", ".join(f"${i}" for i in range(first, first + count))
    return f"{{{names}}}" if count > 1 else names


@tt.kernel
def load_kernel(
    place: cute.Pointer, out: cute.Pointer, form: tt.Constexpr[str], count: tt.Constexpr[int], bits: tt.Constexpr[int]
) -> None:
    thread, _, _ = cute.arch.thread_idx()
    text = f"multimem.ld_reduce.{form} {braces(0, count)}, [${count}];"
    constraints = ",".join([f"={_LETTERS[bits]}"] * count + ["l"])
    kinds = (_NUMBERS[bits],) * count
    found = cute.arch.inline_ptx(text, constraints, [place + thread * count], kinds)
    for i in tt.range_constexpr(count):
        (out + (thread * count + i)).store(found[i])


@tt.jit
def load(
    place: cute.Pointer, out: cute.Pointer, form: tt.Constexpr[str], count: tt.Constexpr[int], bits: tt.Constexpr[int]
) -> None:
    load_kernel(place, out, form, count, bits).launch(grid=1, block=COUNT)


@tt.kernel
def write_kernel(
    place: cute.Pointer, given: cute.Pointer, form: tt.Constexpr[str], count: tt.Constexpr[int], bits: tt.Constexpr[int]
) -> None:
    thread, _, _ = cute.arch.thread_idx()
    words = [(given + (thread * count + i)).load() for i in range(count)]
    constraints = ",".join(["l"] + [_LETTERS[bits]] * count)
    cute.arch.inline_ptx(f"multimem.{form} [$0], {braces(1, count)};", constraints, [place + thread * count, *words])


@tt.jit
def write(
    place: cute.Pointer, given: cute.Pointer, form: tt.Constexpr[str], count: tt.Constexpr[int], bits: tt.Constexpr[int]
) -> None:
    write_kernel(place, given, form, count, bits).launch(grid=1, block=COUNT)


def numbers(dtype: Any, count: int, seed: int) -> Any:
    """Small ones, so that sums of bytes and halves stay finite."""
    random = np.random.default_rng(seed)
    kind = np.dtype(dtype)
    low = 0 if kind.kind == "u" else -8
    return random.integers(low, 8, count).astype(dtype)


def pointer(address: int, bits: int) -> Any:
    return make_ptr(_NUMBERS[bits], address, cute.AddressSpace.gmem, assumed_align=16)


def memory_of_ranks(dtype: Any, count: int) -> tuple[int, list[Any]]:
    heap = heap_of_three()
    offset = heap.allocate(count * np.dtype(dtype).itemsize)
    made = [array_at(heap.address(rank, offset), count, dtype) for rank in range(RANKS)]
    for rank, each in enumerate(made):
        each[:] = numbers(dtype, count, rank)
    return offset, made


def joined(form: str, values: list[Any]) -> Any:
    """In the order of ranks; rounded once at the end where the sum is wider, otherwise each time."""
    name = form.partition(".")[0]
    wide = {"acc::f32": np.float32, "acc::f16": np.float16}
    kind = next((wide[word] for word in form.split(".") if word in wide), None)
    if kind is None:
        total = values[0]
        for each in values[1:]:
            total = _JOINED[name](total, each).astype(values[0].dtype)
        return total
    total = values[0].astype(kind)
    for each in values[1:]:
        total = (total + each.astype(kind)).astype(kind)
    return total.astype(values[0].dtype)


@pytest.mark.parametrize("form", LOADS)
def test_what_all_ranks_have_joined(form: str) -> None:
    dtype, each, registers, bits = parts(form)
    offset, values = memory_of_ranks(dtype, COUNT * each)
    out = np.zeros(COUNT * each, dtype)
    full = f"relaxed.sys.global.{form}"
    load(
        pointer(heap_of_three().multicast_address(offset), bits), pointer(out.ctypes.data, bits), full, registers, bits
    )
    np.testing.assert_array_equal(out.astype(np.float64), joined(form, values).astype(np.float64))


@pytest.mark.parametrize("form", STORES)
def test_a_store_reaches_all_ranks(form: str) -> None:
    dtype, each, registers, bits = parts(form)
    offset, values = memory_of_ranks(dtype, COUNT * each)
    given = numbers(dtype, COUNT * each, 77)
    place = pointer(heap_of_three().multicast_address(offset), bits)
    write(place, pointer(given.ctypes.data, bits), f"st.relaxed.sys.global.{form}", registers, bits)
    for value in values:
        np.testing.assert_array_equal(value, given)


@pytest.mark.parametrize("form", UPDATES)
def test_an_update_reaches_all_ranks(form: str) -> None:
    dtype, each, registers, bits = parts(form)
    offset, values = memory_of_ranks(dtype, COUNT * each)
    before, given = [value.copy() for value in values], numbers(dtype, COUNT * each, 78)
    place = pointer(heap_of_three().multicast_address(offset), bits)
    write(place, pointer(given.ctypes.data, bits), f"red.release.sys.global.{form}", registers, bits)
    for value, old in zip(values, before, strict=True):
        np.testing.assert_array_equal(value.astype(np.float64), joined(form, [old, given]).astype(np.float64))


@pytest.mark.parametrize(
    "order", ["weak.global", "relaxed.gpu.global", "acquire.sys.global", "acquire.sys", "relaxed.cta.global"]
)
def test_orders_of_loads(order: str) -> None:
    offset, values = memory_of_ranks(np.uint32, COUNT)
    out = np.zeros(COUNT, np.uint32)
    place = pointer(heap_of_three().multicast_address(offset), 32)
    load(place, pointer(out.ctypes.data, 32), f"{order}.add.u32", 1, 32)
    np.testing.assert_array_equal(out, sum(values))


REFUSED = [
    "ld_reduce.relaxed.sys.global.min.f32",  # floats of 32 bits are added only
    "ld_reduce.relaxed.global.add.u32",  # no scope
    "ld_reduce.relaxed.sys.global.add.v4.u32",  # vectors are of floats
    "ld_reduce.relaxed.sys.global.add.v8.f32",  # 32 bytes
    "ld_reduce.relaxed.sys.global.and.u32",
    "ld_reduce.release.sys.global.add.u32",
    "red.acquire.sys.global.add.u32",
    "st.relaxed.sys.global.add.u32",
]


@pytest.mark.parametrize("form", REFUSED)
def test_what_is_no_form_is_refused(form: str) -> None:
    with pytest.raises(NoPtxMeaningError, match="has a meaning on NVIDIA's GPUs only"):
        write(pointer(16, 32), pointer(16, 32), form, 1, 32)


def test_every_order_and_operation_is_tried() -> None:
    tried = {form.partition(".")[0] for form in itertools.chain(LOADS, UPDATES)}
    assert tried == set(_JOINED)
