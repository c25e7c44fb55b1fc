"""Ordered accesses on the CPU are LLVM's atomic ones with that order, however the lanes of a warp come to them."""

from __future__ import annotations

import re
from typing import Any

import numpy as np
import pytest

import triptych as tt
from triptych import cute
from triptych.cute.nvgpu import CopyG2ROp, CopyR2GOp, CopyUniversalOp, MemoryOrder, MemoryScope
from triptych.cute.nvgpu.cpasync import CopyG2SOp
from triptych.cute.runtime import make_ptr
from triptych.metastage.trace.errors import OperandTypeError

WARP = 32
ORDERS = {
    (MemoryOrder.RELAXED, MemoryOrder.RELAXED): ("atomic", "monotonic", "monotonic"),
    (MemoryOrder.ACQUIRE, MemoryOrder.RELEASE): ("atomic", "acquire", "release"),
    (MemoryOrder.ACQ_REL, MemoryOrder.ACQ_REL): ("atomic", "acquire", "release"),
    (MemoryOrder.SC, MemoryOrder.SC): ("atomic", "seq_cst", "seq_cst"),
    (MemoryOrder.VOLATILE, MemoryOrder.VOLATILE): ("atomic volatile", "monotonic", "monotonic"),
    (MemoryOrder.MMIO, MemoryOrder.MMIO): ("atomic volatile", "monotonic", "monotonic"),
}
"""What LLVM's load and store say."""
TYPES = (tt.Int8, tt.Uint16, tt.Float16, tt.BFloat16, tt.Int32, tt.Float32, tt.Int64, tt.Float64, tt.Float8E4M3FN)


def atoms(dtype: Any, orders: Any, bits: int = 0) -> tuple[Any, Any]:
    """A load and a store that everybody sees in order."""
    scope = MemoryScope.GPU
    load = cute.make_copy_atom(CopyG2ROp(), dtype, num_bits_per_copy=bits, memory_order=orders[0], memory_scope=scope)
    store = cute.make_copy_atom(CopyR2GOp(), dtype, num_bits_per_copy=bits, memory_order=orders[1], memory_scope=scope)
    return load, store


@tt.jit
def through(x: cute.Tensor, y: cute.Tensor, place: Any, values: tt.Constexpr[int], orders: tt.Constexpr[Any]) -> None:
    load, store = atoms(x.element_type, orders, values * x.element_type.width)
    registers = cute.make_rmem_tensor((values,), x.element_type)
    cute.copy(load, cute.zipped_divide(x, (values,))[None, place], registers)
    cute.copy(store, registers, cute.zipped_divide(y, (values,))[None, place])


@tt.kernel
def kernel(
    x: cute.Tensor, y: cute.Tensor, way: tt.Constexpr[str], values: tt.Constexpr[int], orders: tt.Constexpr[Any]
) -> None:
    thread, _, _ = cute.arch.thread_idx()
    if tt.const_expr(way == "one"):
        for i in range(WARP):
            through(x, y, i, values, orders)
    elif tt.const_expr(way == "lanes"):
        through(x, y, thread, values, orders)
    elif tt.const_expr(way == "scattered"):
        through(x, y, thread * 7 % WARP, values, orders)
    elif tt.const_expr(way == "masked"):
        if thread % 2 == 0:
            through(x, y, thread, values, orders)
        else:
            through(x, y, thread, values, orders)
    else:
        ready = cute.make_tensor(cute.arch.alloc_smem(tt.Int32, 1), cute.make_layout(1))
        if thread == 0:
            ready[0] = 0
        cute.arch.sync_threads()
        if thread < WARP:
            while ready[0] == 0:
                pass
            through(x, y, thread, values, orders)
        elif thread == WARP:
            ready[0] = 1


@tt.jit
def launched(
    x: cute.Tensor, y: cute.Tensor, way: tt.Constexpr[str], values: tt.Constexpr[int], orders: tt.Constexpr[Any]
) -> None:
    block = {"one": 1, "waiting": 2 * WARP}.get(way, WARP)
    kernel(x, y, way, values, orders).launch(grid=1, block=block)


def data(values: int) -> tuple[np.ndarray, np.ndarray]:
    return np.arange(1, WARP * values + 1, dtype=np.int32), np.zeros(WARP * values, np.int32)


@pytest.mark.parametrize("way", ["one", "lanes", "scattered", "masked", "waiting"])
@pytest.mark.parametrize("values", [1, 4])
@pytest.mark.parametrize("orders", ORDERS, ids=str)
def test_every_way_to_an_access(way: str, values: int, orders: Any) -> None:
    x, y = data(values)
    made = tt.compile(launched, x, y, way, values, orders)
    made(x, y)
    np.testing.assert_array_equal(x, y)
    kind, *wanted = ORDERS[orders]
    for access, order in zip(("load", "store"), wanted, strict=True):
        assert re.search(rf"{access} {kind} i32.* {order}, align 4", made.llvm), access
    assert "syncscope" not in made.llvm


@pytest.mark.parametrize("dtype", TYPES, ids=lambda dtype: dtype.__name__)
def test_every_type(dtype: Any) -> None:
    @tt.kernel
    def moved(x: cute.Tensor, y: cute.Tensor) -> None:
        thread, _, _ = cute.arch.thread_idx()
        of = cute.recast_tensor(x, dtype), cute.recast_tensor(y, dtype)
        through(*of, thread, 1, (MemoryOrder.SC, MemoryOrder.SC))

    @tt.jit
    def host(x: cute.Tensor, y: cute.Tensor) -> None:
        moved(x, y).launch(grid=1, block=WARP)

    x = np.arange(1, WARP * dtype.width // 64 + 1, dtype=np.int64) * 0x0123_4567_89AB
    y = np.zeros_like(x)
    made = tt.compile(host, x, y)
    made(x, y)
    np.testing.assert_array_equal(x, y)
    assert re.search(rf"load atomic .* seq_cst, align {dtype.width // 8}\n", made.llvm)


def test_host_functions() -> None:
    @tt.jit
    def host(x: cute.Tensor, y: cute.Tensor) -> None:
        through(x, y, 3, 4, (MemoryOrder.SC, MemoryOrder.SC))

    x, y = data(4)
    made = tt.compile(host, x, y)
    made(x, y)
    np.testing.assert_array_equal(y[12:16], x[12:16])
    assert len(re.findall(r"load atomic i32, ptr .* seq_cst", made.llvm)) == 4


def test_nothing_moves_across_an_ordered_load() -> None:
    """A load that the block does once for all warps stays behind one that each lane does in order."""

    @tt.kernel
    def reads(x: cute.Tensor, y: cute.Tensor, z: cute.Tensor) -> None:
        thread, _, _ = cute.arch.thread_idx()
        load, _ = atoms(tt.Int32, (MemoryOrder.ACQUIRE, MemoryOrder.RELEASE))
        registers = cute.make_rmem_tensor((1,), tt.Int32)
        cute.copy(load, cute.zipped_divide(x, (1,))[None, thread], registers)
        z[thread] = registers[0] + y[0]

    @tt.jit
    def host(x: cute.Tensor, y: cute.Tensor, z: cute.Tensor) -> None:
        reads(x, y, z).launch(grid=1, block=2 * WARP)

    x = np.arange(2 * WARP, dtype=np.int32)
    text = tt.compile(host, x, np.ones(1, np.int32), np.zeros_like(x)).lowered
    inside = text[text.index("reads.blocks") :]
    atomic = inside.index("atomic")
    assert re.findall(r"llvm.load .*!llvm.ptr -> i32", inside[:atomic].rpartition("\n")[0]) == []
    z = np.zeros_like(x)
    host(x, np.ones(1, np.int32), z)
    np.testing.assert_array_equal(z, x + 1)


def test_scopes_of_atomics_and_fences_are_everybody() -> None:
    @tt.kernel
    def counts(x: cute.Tensor) -> None:
        cute.arch.atomic_add(x.iterator, tt.Int32(1), sem="acq_rel", scope="cta")
        cute.arch.fence_acq_rel_cta()

    @tt.jit
    def host(x: cute.Tensor) -> None:
        counts(x).launch(grid=1, block=1)

    text = tt.compile(host, np.zeros(1, np.int32)).llvm
    assert "syncscope" not in text
    assert "fence acq_rel" in text
    assert re.search(r"atomicrmw add .* acq_rel", text)


def refused(dtype: Any, alignment: int, op: Any = None) -> str:
    @tt.kernel
    def reads(x: cute.Pointer) -> None:
        load = cute.make_copy_atom(op or CopyUniversalOp(), dtype, memory_order=MemoryOrder.SC)
        registers = cute.make_rmem_tensor((1,), dtype)
        cute.copy(load, cute.make_tensor(x, cute.make_layout(1)), registers)

    @tt.jit
    def host(x: cute.Pointer) -> None:
        reads(x).launch(grid=1, block=1)

    with pytest.raises(OperandTypeError) as caught:
        tt.compile(host, make_ptr(dtype, 1 << 12, cute.AddressSpace.gmem, assumed_align=alignment))
    return str(caught.value)


def test_what_cannot_be_ordered_is_refused() -> None:
    assert "elements of 4 bits" in refused(tt.Float4E2M1FN, 16)
    assert "elements of 128 bits" in refused(tt.Int128, 16)
    assert "assumed_align=4" in refused(tt.Float32, 2)
    assert "CopyG2SOp has no order" in refused(tt.Float32, 4, CopyG2SOp())
