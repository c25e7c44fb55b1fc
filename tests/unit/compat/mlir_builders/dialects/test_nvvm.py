"""Builder calls of NVIDIA's dialect that third-party programs make: extremes, pairs, atomic operations, clocks."""

from __future__ import annotations

from functools import partial
from typing import Any

import numpy as np
import pytest

import triptych as tt
from tests.unit.cute.launched import run
from triptych import cute
from triptych.compat import activated
from triptych.compat.errors import NotHereYetError
from triptych.compat.mlir_builders.dialects import builtin, llvm
from triptych.compat.mlir_builders.dialects import nvvm as dialect
from triptych.cutlass_dsl import T
from triptych.metastage.trace.errors import OperandTypeError

nvvm: Any = dialect
"""Its functions take `loc` and `ip` too, which no type of theirs says."""
THREADS = 32
KIND = nvvm.AtomicOpKind


@tt.kernel
def extremes(x: cute.Pointer, out: cute.Pointer) -> None:
    t, _, _ = cute.arch.thread_idx()
    a, b, c = ((x + t * 3 + i).load() for i in range(3))
    values = [each.ir_value() for each in (a, b, c)]
    found = (
        nvvm.fmax(*values[:2], loc=None, ip=None),
        nvvm.fmax(T.f32(), *values[:2]),
        nvvm.fmax(*values[:2], c=values[2]),
        nvvm.fmin(T.f32(), *values[:2], c=None),
        nvvm.fmin(*values[:2], c=values[2], nan=True),
    )
    for i, value in enumerate(found):
        (out + t * 5 + i).store(tt.Float32(value))


def test_extremes_of_two_and_three() -> None:
    x = np.random.default_rng(1).standard_normal((THREADS, 3)).astype(np.float32)
    x[5, 0] = x[6, 1] = x[7, 2] = np.nan
    out = np.zeros((THREADS, 5), np.float32)
    run(extremes, [x, out])
    a, b, c = x.T
    two = np.fmax(a, b)
    expected = [two, two, np.fmax(two, c), np.fmin(a, b), np.minimum(np.minimum(a, b), c)]
    np.testing.assert_array_equal(out, np.stack(expected, axis=1))


@tt.kernel
def pairs(x: cute.Pointer, out: cute.Pointer) -> None:
    t, _, _ = cute.arch.thread_idx()
    a, b, c = (((x + t * 6 + i).load(), (x + t * 6 + i + 1).load()) for i in (0, 2, 4))
    nearest = nvvm.RoundingModeKind.RN
    found = (
        partial(cute.arch.calc_packed_f32x2_op, src_c=None, calc_func=nvvm.sub_packed_f32x2, rnd=nearest)(a, b),
        cute.arch.calc_packed_f32x2_op(a, b, c, nvvm.fma_packed_f32x2),
        cute.arch.add_packed_f32x2(a, b, rnd=nearest),
        cute.arch.mul_packed_f32x2(a, b, rnd=nearest),
    )
    for i, pair in enumerate(found):
        (out + t * 8 + 2 * i).store(pair[0])
        (out + t * 8 + 2 * i + 1).store(pair[1])


def test_pairs_by_builder_calls() -> None:
    x = np.random.default_rng(2).integers(-9, 9, (THREADS, 3, 2)).astype(np.float32)
    out = np.zeros((THREADS, 4, 2), np.float32)
    run(pairs, [x, out])
    a, b, c = x.swapaxes(0, 1)
    np.testing.assert_array_equal(out, np.stack([a - b, a * b + c, a + b, a * b], axis=1))


def in_order(kind: Any, old: int, a: int, b: int) -> int:
    """What an atomic operation puts in the place of a number."""
    word = (1 << 32) - 1
    high, given = old & word, a & word
    return {
        KIND.ADD: old + a,
        KIND.AND: old & a,
        KIND.OR: old | a,
        KIND.XOR: old ^ a,
        KIND.MAX: max(old, a),
        KIND.MIN: min(old, a),
        KIND.UMAX: max(high, given),
        KIND.UMIN: min(high, given),
        KIND.INC: 0 if high >= given else high + 1,
        KIND.DEC: given if high == 0 or high > given else high - 1,
        KIND.EXCH: a,
        KIND.CAS: b if old == a else old,
    }[kind]


@tt.kernel
def updates(place: cute.Pointer, out: cute.Pointer, kind: tt.Constexpr[Any], a: tt.Constexpr[int]) -> None:
    t, _, _ = cute.arch.thread_idx()
    value, other = tt.Int32(a).ir_value(), tt.Int32(7).ir_value()
    b = {"b": other} if kind == KIND.CAS else {}
    if t == 0:
        old = nvvm.atomicrmw(res=T.i32(), op=kind, ptr=place.llvm_ptr, a=value, **b)
        (out + 0).store(tt.Int32(old))
        (out + 1).store(nvvm.atomicrmw(kind, place.llvm_ptr, value, **b))
        order, scope = nvvm.MemOrderKind.ACQ_REL, nvvm.MemScopeKind.SYS
        (out + 2).store(nvvm.atomicrmw(T.i32(), kind, place.llvm_ptr, value, mem_order=order, syncscope=scope, **b))
        shared = cute.arch.alloc_smem(tt.Int32, 1)
        shared.store(out.load())
        (out + 3).store(nvvm.atomicrmw(op=kind, ptr=shared.llvm_ptr, a=value, **b))
        (out + 4).store(shared.load())


@pytest.mark.parametrize("kind", [kind for kind in KIND if kind is not KIND.FADD])
@pytest.mark.parametrize(("start", "a"), [(0, 3), (3, 3), (-1, 2), (5, -2), (5, 5)])
def test_atomic_operations_in_memory(kind: Any, start: int, a: int) -> None:
    place, out = np.array([start], np.int32), np.zeros(5, np.int32)
    run(updates, [place, out], kind, a)
    seen = [start]
    for _ in range(3):
        seen.append(in_order(kind, int(np.int64(seen[-1]).astype(np.int32)), a, 7))
    expected = np.array([*seen[:3], start, seen[1], seen[3]]).astype(np.int32)
    assert [*out.tolist(), place[0]] == expected.tolist()


@tt.kernel
def sums(place: cute.Pointer, out: cute.Pointer) -> None:
    t, _, _ = cute.arch.thread_idx()
    nvvm.atomicrmw(op=KIND.FADD, ptr=out.llvm_ptr, a=tt.Float32(t).ir_value())
    old = nvvm.atomicrmw(op=KIND.INC, ptr=place.llvm_ptr, a=tt.Int32(9).ir_value())
    nvvm.atomicrmw(op=KIND.ADD, ptr=(place + 1 + old).llvm_ptr, a=tt.Int32(1).ir_value())


def test_all_threads_at_one_place() -> None:
    place, out = np.zeros(11, np.int32), np.zeros(1, np.float32)
    run(sums, [place, out], block=40)
    assert out[0] == sum(range(40))
    assert place.tolist() == [0, *[4] * 10]


@tt.kernel
def reduced(out: cute.Pointer, op: tt.Constexpr[object], kind: tt.Constexpr[object], value: tt.Constexpr[int]) -> None:
    shared = cute.arch.alloc_smem(tt.Int32, 1)
    shared.store(out.load())
    cute.arch.sync_threads()
    space = nvvm.SharedSpace.shared_cluster
    nvvm.red(op=op, type_=kind, a=shared.llvm_ptr, b=tt.Int32(value).ir_value(), shared_space=space)
    cute.arch.sync_threads()
    if cute.arch.thread_idx()[0] == 0:
        out.store(shared.load())


@pytest.mark.parametrize(
    ("op", "kind", "value", "expected"),
    [("ADD", "S32", 3, 100), ("MIN", "S32", -1, -1), ("MAX", "U32", -1, -1), ("OR", "B32", 3, 7), ("INC", "U32", 9, 6)],
)
def test_reductions_of_memory(op: str, kind: str, value: int, expected: int) -> None:
    out = np.array([4], np.int32)
    run(reduced, [out], nvvm.ReductionOp[op], nvvm.ReductionType[kind], value, block=32)
    assert out[0] == expected


@tt.kernel
def moments(out: cute.Pointer) -> None:
    first = tt.Int64(nvvm.read_ptx_sreg_globaltimer(T.i64()))
    cute.arch.nanosleep(1000)
    out.store(tt.Int64(nvvm.read_ptx_sreg_globaltimer(T.i64())) >= first)
    cycles = tt.Int64(nvvm.read_ptx_sreg_clock64(T.i64()))
    (out + 1).store(tt.Int64(nvvm.read_ptx_sreg_clock64(T.i64())) >= cycles)
    (out + 2).store(tt.Int32(nvvm.read_ptx_sreg_clock(T.i32())) * 0)


def test_clocks_go_on() -> None:
    out = np.full(3, 9, np.int32)
    run(moments, [out], block=1)
    assert out.tolist() == [1, 1, 0]


@tt.kernel
def other_rounding(out: cute.Pointer) -> None:
    pair = (tt.Float32(1.0), tt.Float32(2.0))
    cute.arch.calc_packed_f32x2_op(pair, pair, None, nvvm.sub_packed_f32x2, rnd=nvvm.RoundingModeKind.RZ)


@tt.kernel
def float_inc(out: cute.Pointer) -> None:
    nvvm.atomicrmw(op=KIND.INC, ptr=out.llvm_ptr, a=tt.Float32(1.0).ir_value())


@tt.kernel
def counts_itself(out: cute.Pointer) -> None:
    nvvm.cp_async_mbarrier_arrive_shared(out.llvm_ptr)


@pytest.mark.parametrize(
    ("kernel", "title"),
    [
        (other_rounding, "rounded to nearest"),
        (float_inc, "no atomic inc of Float32"),
        (counts_itself, "does not count itself"),
    ],
)
def test_what_no_machine_here_does_is_refused(kernel: Any, title: str) -> None:
    with pytest.raises(OperandTypeError, match=title):
        run(kernel, [np.zeros(4, np.int32)])


@tt.kernel
def neighbours(out: cute.Pointer) -> None:
    t, _, _ = cute.arch.thread_idx()
    mine, rank = cute.arch.alloc_smem(tt.Int32, THREADS) + t, cute.arch.block_idx_in_cluster()
    mine.store(100 * rank + t)
    cute.arch.cluster_arrive()
    cute.arch.cluster_wait()
    there = nvvm.mapa(llvm.PointerType.get(7), mine.llvm_ptr, (rank ^ 1).ir_value())
    (out + rank * THREADS + t).store(cute.make_ptr(tt.Int32, there, cute.AddressSpace.dsmem).load())
    cute.arch.cluster_arrive()
    cute.arch.cluster_wait()


@tt.jit
def in_clusters(out: cute.Pointer) -> None:
    neighbours(out).launch(grid=[2, 1, 1], block=[THREADS, 1, 1], cluster=[2, 1, 1])


def test_shared_memory_of_another_block() -> None:
    out = np.zeros((2, THREADS), np.int32)
    in_clusters(cute.runtime.make_ptr(tt.Int32, out.ctypes.data, cute.AddressSpace.gmem))
    assert np.array_equal(out, [np.arange(THREADS) + 100, np.arange(THREADS)])


@pytest.mark.parametrize(("kind", "instruction"), [(KIND.INC, "inc"), (KIND.DEC, "dec")])
def test_counting_round_is_an_instruction(kind: Any, instruction: str) -> None:
    @tt.jit
    def host(place: cute.Pointer) -> None:
        updates(place, place, kind, 3).launch(grid=1, block=THREADS)

    pointer = cute.runtime.make_ptr(tt.Int32, 64, cute.AddressSpace.gmem)
    ptx = cute.compile(host, pointer, target="nvptx:sm_90").__ptx__
    assert f".{instruction}.u32" in ptx


@tt.kernel
def combined(x: cute.Pointer, out: cute.Pointer) -> None:
    t, _, _ = cute.arch.thread_idx()
    value, mask, kinds = (x + t).load().ir_value(), tt.Int32(0xFF).ir_value(), nvvm.ReduxKind
    if t < 8:
        found = (
            nvvm.redux_sync(res=T.i32(), val=value, kind=kinds.MAX, mask_and_clamp=mask, loc=None, ip=None),
            nvvm.redux_sync(T.i32(), value, kinds.UMAX, mask),
            nvvm.redux_sync(val=value, kind=kinds.ADD, mask_and_clamp=mask),
        )
        for i, combination in enumerate(found):
            (out + t * 3 + i).store(tt.Int32(combination))


def test_lanes_of_a_warp_are_combined() -> None:
    x = np.random.default_rng(3).integers(-99, 99, THREADS).astype(np.int32)
    out = np.zeros((8, 3), np.int32)
    run(combined, [x, out])
    assert (out == [x[:8].max(), x[:8].view(np.uint32).max().view(np.int32), x[:8].sum()]).all()


@tt.kernel
def phases(out: cute.Pointer) -> None:
    t, _, _ = cute.arch.thread_idx()
    bars = cute.arch.alloc_smem(tt.Int64, 1)
    kinds = nvvm.MBarrierTxnKind
    if t == 0:
        cute.arch.mbarrier_init(bars, THREADS)
    cute.arch.mbarrier_init_fence()
    cute.arch.sync_threads()
    (out + t).store(t)
    nothing, one = tt.Int32(0).ir_value(), tt.Int32(1).ir_value()
    nvvm.nanosleep(tt.Int32(20).ir_value())
    if t == 0:
        nvvm.mbarrier_txn(bars.to_llvm_ptr(), nothing, kind=kinds.EXPECT_TX, order=nvvm.MemOrderKind.RELAXED)
        nvvm.mbarrier_txn(bars.to_llvm_ptr(), nothing, kind=kinds.ARRIVE_EXPECT_TX, space=nvvm.MBarrierSpaceKind.CTA)
    else:
        nvvm.mbarrier_txn(bars.to_llvm_ptr(), one, kind=kinds.ARRIVE)
    cute.arch.mbarrier_wait(bars, 0)
    (out + THREADS + t).store((out + THREADS - 1 - t).load())


def test_an_mbarrier_by_builder_calls() -> None:
    out = np.zeros((2, THREADS), np.int32)
    run(phases, [out])
    assert (out[1] == out[0, ::-1]).all()
    assert out[0].tolist() == list(range(THREADS))


@tt.kernel
def arrives_elsewhere() -> None:
    bars = cute.arch.alloc_smem(tt.Int64, 1)
    space = nvvm.MBarrierSpaceKind.CLUSTER
    nvvm.mbarrier_txn(bars.llvm_ptr, tt.Int32(1).ir_value(), kind=nvvm.MBarrierTxnKind.ARRIVE, space=space)


def test_an_mbarrier_of_another_block_has_its_rank() -> None:
    with pytest.raises(OperandTypeError, match="named by its rank"):
        run(arrives_elsewhere, [])


def test_names_that_only_have_to_be_imported() -> None:
    """Programs put enumerations into tables when they are imported; whoever calls a builder is told."""
    groups = {1: nvvm.CTAGroupKind.CTA_1, 2: nvvm.CTAGroupKind.CTA_2}
    assert "CTAGroupKind.CTA_1, which is not here" in repr(groups[1])
    for call in (nvvm.tcgen05_mma, nvvm.exit, builtin.unrealized_conversion_cast):
        with pytest.raises(NotHereYetError, match="is not here: a builder call") as caught:
            call(1, 2)
        assert caught.value.instead
    with pytest.raises(AttributeError):
        _ = nvvm.tcgen05_multiply
    with activated():
        assert __import__("cutlass._mlir.dialects", fromlist=["builtin"]).builtin is builtin
