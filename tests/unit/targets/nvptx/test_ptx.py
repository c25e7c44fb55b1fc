"""Golden PTX: the CHECK lines of each host function say what its kernel becomes."""

from __future__ import annotations

import inspect
from typing import Any

import pytest

import triptych as tt
from tests.ir.filecheck import check, directives
from tests.unit.targets.nvptx.programs import vector
from tests.unit.targets.nvptx.tools import needs_assembler
from triptych import cute
from triptych.support.errors import PerformanceWarning

pytestmark = needs_assembler


# memory ---------------------------------------------------------------------------------------------------------
@tt.kernel
def add_pieces(a: cute.Tensor, b: cute.Tensor) -> None:
    t, _, _ = cute.arch.thread_idx()
    b[None, t] = a[None, t].load() + b[None, t].load()


@tt.jit
def four_floats(a: cute.Tensor, b: cute.Tensor) -> None:
    # CHECK: .target sm_80
    # CHECK: .visible .entry add_pieces(
    # CHECK: .maxntid 64, 1, 1
    # CHECK-COUNT-2: ld.global.v4.b32
    # CHECK-COUNT-4: add{{(.rn)?}}.f32
    # CHECK: st.global.v4.b32
    # CHECK-NOT: ld.global.b32
    pieces = [cute.zipped_divide(tensor, (4,)) for tensor in (a, b)]
    add_pieces(*pieces).launch(grid=1, block=64)


@tt.jit
def eight_floats(a: cute.Tensor, b: cute.Tensor) -> None:
    # CHECK: .target sm_100a
    # CHECK-COUNT-2: ld.global.v{{(4.b64|8.b32)}}
    # CHECK: st.global.v{{(4.b64|8.b32)}}
    pieces = [cute.zipped_divide(tensor, (8,)) for tensor in (a, b)]
    add_pieces(*pieces).launch(grid=1, block=64)


@tt.kernel
def exchange(a: cute.Tensor) -> None:
    t, _, _ = cute.arch.thread_idx()
    shared = cute.SmemAllocator().allocate_tensor(tt.Float32, cute.make_layout(64))
    shared[t] = a[t]
    cute.arch.sync_threads()
    a[t] = shared[63 - t]


@tt.jit
def through_shared_memory(a: cute.Tensor) -> None:
    # CHECK: .extern .shared .align 1024 .b8 __smem[];
    # CHECK: .entry exchange(
    # CHECK: st.shared.b32
    # CHECK: bar{{(rier)?}}.{{(cta.)?}}sync
    # CHECK: ld.shared.b32
    # CHECK-NOT: .local
    exchange(a).launch(grid=1, block=64)


@tt.kernel
def count(bins: cute.Tensor, data: cute.Tensor) -> None:
    t, _, _ = cute.arch.thread_idx()
    cute.arch.atomic_add(bins.iterator + data[t], 1)
    data[t] = cute.arch.atomic_max(bins.iterator, t)


@tt.jit
def atomics(bins: cute.Tensor, data: cute.Tensor) -> None:
    # CHECK: {{(red|atom)}}.global.add.u32
    # CHECK: atom.global.max.s32
    count(bins, data).launch(grid=1, block=64)


@tt.kernel
def publish(a: cute.Tensor, half: cute.Tensor) -> None:
    cute.arch.atomic_add(a.iterator, 1, sem="release", scope="sys")
    cute.arch.atomic_max(a.iterator, 1, sem="acquire", scope="cta")
    cute.arch.atomic_exch(a.iterator, 1, sem="acq_rel", scope="gpu")
    cute.arch.atomic_cas(a.iterator, cmp=1, val=2, sem="acq_rel", scope="sys")
    cute.arch.atomic_add(half.iterator, 1.0, sem="acq_rel", scope="gpu")


@tt.jit
def ordered_atomics(a: cute.Tensor, half: cute.Tensor) -> None:
    """LLVM alone would write all but the comparison as relaxed, for the device."""
    # CHECK: atom.release.sys.global.add.u32
    # CHECK: atom.acquire.cta.global.max.s32
    # CHECK: atom.acq_rel.gpu.global.exch.b32
    # CHECK: atom.acq_rel.sys.global.cas.b32
    # CHECK: atom.acq_rel.gpu.global.add.noftz.f16
    publish(a, half).launch(grid=1, block=32)


# warps ----------------------------------------------------------------------------------------------------------
@tt.kernel
def sum_of_lanes(a: cute.Tensor, b: cute.Tensor) -> None:
    t, _, _ = cute.arch.thread_idx()
    b[t] = cute.arch.warp_reduction_sum(a[t])
    if cute.arch.vote_any_sync(a[t] > 1.0):
        b[t + 64] = 1.0


@tt.jit
def warps(a: cute.Tensor, b: cute.Tensor) -> None:
    # CHECK-COUNT-5: shfl.sync.bfly.b32
    # CHECK: vote.sync.any.pred
    # CHECK-NOT: .extern
    sum_of_lanes(a, b).launch(grid=1, block=64)


@tt.kernel
def one_lane(a: cute.Tensor) -> None:
    with cute.arch.elect_one():
        a[0] = 1.0


@tt.jit
def election(a: cute.Tensor) -> None:
    # CHECK: .target sm_90a
    # CHECK: elect.sync
    one_lane(a).launch(grid=1, block=64)


# numbers --------------------------------------------------------------------------------------------------------
@tt.kernel
def approximate(a: cute.Tensor) -> None:
    t, _, _ = cute.arch.thread_idx()
    x = cute.math.exp2(a[t], fastmath=True)
    x = cute.math.log2(x, fastmath=True)
    x = cute.math.sin(x, fastmath=True)
    x = cute.math.tanh(x, fastmath=True)
    x = cute.math.sqrt(x, fastmath=True)
    a[t] = cute.math.rsqrt(x)


@tt.jit
def fast_math(a: cute.Tensor) -> None:
    # CHECK: ex2.approx.ftz.f32
    # CHECK: lg2.approx.f32
    # CHECK: sin.approx.f32
    # CHECK: tanh.approx.f32
    # CHECK: sqrt.approx.f32
    # CHECK: rsqrt.approx.f32
    # CHECK-NOT: __nv_
    approximate(a).launch(grid=1, block=64)


@tt.kernel
def exact(a: cute.Tensor) -> None:
    t, _, _ = cute.arch.thread_idx()
    x = cute.arch.fmax(a[t], 0.5) * 3.0 + 1.0
    x = cute.math.exp(cute.math.floor(cute.math.sqrt(x)))
    a[t] = 1.0 / x


@tt.jit
def exact_math(a: cute.Tensor) -> None:
    """A product and a sum become one; everything else is rounded as IEEE says. `exp` is libdevice's, inlined."""
    # CHECK: max.f32
    # CHECK: fma.rn.f32
    # CHECK: sqrt.rn.f32
    # CHECK: cvt.rmi.f32.f32
    # CHECK: ex2.approx.ftz.f32
    # CHECK: rcp.rn.f32
    # CHECK-NOT: {{__nv_|__nvvm_reflect|call}}
    exact(a).launch(grid=1, block=64)


# what a launch and a program say --------------------------------------------------------------------------------
@tt.jit
def bounded(a: cute.Tensor, threads: tt.Int32) -> None:
    # CHECK: .entry exchange(
    # CHECK: .maxntid 128
    # CHECK: .minnctapersm 4
    exchange(a).launch(grid=1, block=threads, max_number_threads=128, min_blocks_per_mp=4)


@tt.kernel
def talk(a: cute.Tensor, n: tt.Int32) -> None:
    t, _, _ = cute.arch.thread_idx()
    for i in range(n):
        cute.printf("%d: %f\n", i, a[i])
    assert t < n, "a thread too many"


@tt.jit
def prints_and_checks(a: cute.Tensor, n: tt.Int32) -> None:
    """What printing needs of the stack is reserved once, not in every turn."""
    # CHECK: .extern .func __assertfail
    # CHECK: .extern .func{{.*}}vprintf
    # CHECK: .entry talk(
    # CHECK: .local .align 8 .b8 __local_depot0[16]
    # CHECK: vprintf
    # CHECK: __assertfail
    # CHECK-NOT: alloca
    talk(a, n).launch(grid=1, block=64)


PROGRAMS: dict[Any, tuple[str, tuple[Any, ...]]] = {
    four_floats: ("sm_80", (vector(), vector())),
    eight_floats: ("sm_100a", (vector(align=32), vector(align=32))),
    through_shared_memory: ("sm_80", (vector(),)),
    atomics: ("sm_80", (vector(tt.Int32), vector(tt.Int32))),
    ordered_atomics: ("sm_80", (vector(tt.Int32), vector(tt.Float16))),
    warps: ("sm_80", (vector(), vector())),
    election: ("sm_90a", (vector(),)),
    fast_math: ("sm_80", (vector(),)),
    exact_math: ("sm_80", (vector(),)),
    bounded: ("sm_80", (vector(), 64)),
    prints_and_checks: ("sm_80", (vector(), 3)),
}


@pytest.mark.parametrize("host", PROGRAMS, ids=lambda host: host.__name__)
def test_ptx(host: Any) -> None:
    architecture, arguments = PROGRAMS[host]
    compiled = tt.compile(host, *arguments, target=f"nvptx:{architecture}")
    check(compiled.__ptx__, directives(inspect.getsource(host.function)))


@pytest.mark.parametrize("opt_level", [0, 1, 2])
def test_libdevice_knows_its_target_at_every_level(opt_level: int) -> None:
    compiled = tt.compile(exact_math, vector(), target="nvptx:sm_80", opt_level=opt_level)
    assert "__nvvm_reflect" not in compiled.__ptx__
    assert "ex2.approx.ftz.f32" in compiled.__ptx__


def test_an_unknown_alignment_gives_loads_of_elements() -> None:
    with pytest.warns(PerformanceWarning, match="only known to be a multiple of 4 bytes"):
        compiled = tt.compile(four_floats, vector(align=4), vector(align=4), target="nvptx:sm_80")
    assert ".v4" not in compiled.__ptx__


def test_the_same_trace_serves_both_targets() -> None:
    arguments = vector(), vector()
    gpu, cpu = (tt.compile(four_floats, *arguments, target=target) for target in ("nvptx:sm_80", "cpu"))
    assert gpu.mlir == cpu.mlir
