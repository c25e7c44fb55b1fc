"""Names that third-party programs use beside those of the public examples, each with what it means."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import triptych as tt
from tests.unit.cute.launched import run
from triptych import cute, cutlass_dsl
from triptych.cute.typing import NumericMeta
from triptych.driver.compiling import CompiledFunction
from triptych.metastage.trace.errors import OperandTypeError, StaticRequiredError

ALIASES = [
    (cute, "make_fragment", cute.make_rmem_tensor),
    (cute, "CopyOp", cute.CopyOperation),
    (cute, "MmaOp", cute.MmaOperation),
    (cute.arch, "mbarrier_init_arrive_cnt", cute.arch.mbarrier_init),
    (cute.arch, "mbarrier_init_tx_bytes", cute.arch.mbarrier_arrive_and_expect_tx),
    (tt, "Layout", cute.Layout),
    (tt, "Pointer", cute.Pointer),
    (tt, "select_", cute.where),
    (cutlass_dsl, "NumericMeta", NumericMeta),
    (cutlass_dsl, "Arch", cute.arch.Arch),
    (cutlass_dsl, "JitCompiledFunction", CompiledFunction),
]


@pytest.mark.parametrize(("module", "name", "meant"), ALIASES)
def test_another_name_of_the_same(module: Any, name: str, meant: object) -> None:
    assert getattr(module, name) is meant
    assert name in dir(module)


def test_classes_of_numbers_are_told_by_their_class() -> None:
    assert isinstance(tt.Float32, NumericMeta)
    assert isinstance(tt.Int32, NumericMeta)
    assert not isinstance(int, NumericMeta)
    assert not isinstance(tt.Int32(3), NumericMeta)


def test_what_is_compiled_is_told_by_its_class() -> None:
    assert isinstance(cute.compile(uses_truths, tt.Int32(0), cute.runtime.make_ptr(tt.Int32, 64)), CompiledFunction)


def test_tuples_flat_and_with_ones() -> None:
    assert cute.flatten_to_tuple(((2, 3), 4)) == (2, 3, 4)
    assert cute.flatten_to_tuple(5) == (5,)
    assert cute.prepend_ones((4, 8), up_to_rank=3) == (1, 4, 8)
    assert str(cute.prepend_ones(cute.make_layout((4, 8)), up_to_rank=3)) == "(1,4,8):(0,1,4)"


@tt.jit
def uses_truths(n: tt.Int32, out: cute.Pointer) -> None:
    found = cute.make_tensor(out, 5)
    found[0] = tt.Int32(cutlass_dsl.and_(n > 1, n < 5))
    found[1] = tt.Int32(cutlass_dsl.or_(n > 1, n < -5))
    found[2] = tt.Int32(cutlass_dsl.and_(n > 1, False))
    found[3] = tt.select_(n > 1, n, -n)
    found[4] = int(cutlass_dsl.and_(True, False)) + 2 * int(cutlass_dsl.or_(False, True))


@pytest.mark.parametrize("n", [-7, 0, 3, 9])
def test_truths_of_run_time_numbers(n: int) -> None:
    out = np.zeros(5, np.int32)
    uses_truths(n, cute.runtime.make_ptr(tt.Int32, out.ctypes.data))
    assert out.tolist() == [n > 1 and n < 5, n > 1 or n < -5, False, n if n > 1 else -n, 2]


# kernels --------------------------------------------------------------------------------------------------------------
@tt.kernel
def fences(out: cute.Pointer) -> None:
    for kind in (cute.arch.ProxyKind.async_, cute.arch.ProxyKind.async_global):
        cute.arch.fence_proxy(kind)
    for space in cute.arch.SharedSpace:
        cute.arch.fence_proxy(cute.arch.ProxyKind.async_shared, space=space)
    thread, _, _ = cute.arch.thread_idx()
    (out + thread).store(thread)


def test_fences_by_their_enumerations() -> None:
    out = np.zeros(32, np.int32)
    run(fences, [out])
    assert out.tolist() == list(range(32))


@tt.kernel
def other_fence(out: cute.Pointer, kind: tt.Constexpr[Any]) -> None:
    cute.arch.fence_proxy(kind)


@pytest.mark.parametrize("kind", ["alias", "tensormap", "generic"])
def test_other_proxies_are_refused(kind: str) -> None:
    with pytest.raises(OperandTypeError, match="no such fence between proxies"):
        run(other_fence, [np.zeros(1, np.int32)], cute.arch.ProxyKind[kind])


@tt.kernel
def reads_its_neighbour(out: cute.Pointer) -> None:
    mine = cute.arch.alloc_smem(tt.Int32, 32)
    thread, _, _ = cute.arch.thread_idx()
    rank = cute.arch.block_idx_in_cluster()
    (mine + thread).store(100 * rank + thread)
    cute.arch.cluster_arrive()
    cute.arch.cluster_wait()
    theirs = cute.arch.mapa(mine + thread, rank ^ 1)
    (out + rank * 64 + thread).store(cute.arch.load(theirs, tt.Int32, ss="cluster"))
    cute.arch.cluster_arrive()
    cute.arch.cluster_wait()
    cute.arch.atomic_add(theirs, 1, scope="cluster")
    cute.arch.cluster_arrive()
    cute.arch.cluster_wait()
    (out + rank * 64 + 32 + thread).store((mine + thread).load())


@tt.jit
def in_clusters(out: cute.Pointer) -> None:
    reads_its_neighbour(out).launch(grid=[2, 1, 1], block=[32, 1, 1], cluster=[2, 1, 1])


def test_shared_memory_of_another_block_at_a_bare_address() -> None:
    out = np.zeros((2, 2, 32), np.int32)
    in_clusters(cute.runtime.make_ptr(tt.Int32, out.ctypes.data, cute.AddressSpace.gmem))
    lanes = np.arange(32)
    assert np.array_equal(out[0], [lanes + 100, lanes + 1])
    assert np.array_equal(out[1], [lanes, lanes + 101])


@tt.kernel
def elsewhere(out: cute.Pointer) -> None:
    cute.arch.load(out, tt.Int32, ss="cluster")


def test_a_state_space_that_the_pointer_is_not_in() -> None:
    with pytest.raises(OperandTypeError, match="points into another memory"):
        run(elsewhere, [np.zeros(1, np.int32)])


def test_a_swizzle_and_a_pointer_by_other_names() -> None:
    swizzle = cute.make_swizzle(3, 4, 5)
    assert (swizzle.num_bits, swizzle.num_base, swizzle.num_shift) == (3, 4, 5)

    @tt.jit
    def host(out: cute.Pointer) -> None:
        assert out.max_alignment == out.alignment == 4
        assert out.align(16).max_alignment == 16

    host(cute.runtime.make_ptr(tt.Int32, 64))


def test_strides_of_the_run_stay_numbers() -> None:
    @tt.jit
    def host(n: tt.Int32) -> Any:
        extents = cute.flatten_to_tuple((n, (2, n + 1)))
        assert [type(extent) for extent in extents] == [tt.Int32, int, tt.Int32]
        return extents[2]

    assert host(5) == 6


def test_a_function_that_is_traced_as_it_is() -> None:
    absolute: Any = tt.jit(preprocess=False)(lambda x: x if x > 0 else -x)
    with pytest.raises(StaticRequiredError):
        absolute(4)
    assert tt.jit(preprocess=True)(lambda x: x if x > 0 else -x)(-4) == 4
