"""The functions of `cute.arch` while tracing: where they may be called, what they refuse, and what they emit."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest

import triptych as tt
from tests.ir.traced import traced_ir
from triptych import cute
from triptych.cute import arch
from triptych.cute.tracing.errors import DeviceOnlyError
from triptych.metastage.trace.errors import OperandTypeError

NOT_OF_THE_DEVICE = (
    *("Arch", "ProxyKind", "SharedSpace", "WARP_SIZE", "FULL_MASK"),
    *("get_max_tmem_alloc_cols", "get_min_tmem_alloc_cols", "num_warp_threads"),
)


def kernel_text(body: Callable[[Any], Any], block: Any = 64) -> str:
    """The module of a launch whose kernel is `body` of an Int32."""

    @tt.kernel
    def device(n: tt.Int32) -> None:
        body(n)

    @tt.jit
    def host(n: tt.Int32) -> None:
        device(n).launch(grid=1, block=block)

    return traced_ir(host, 3)


@pytest.mark.parametrize("name", [name for name in arch.__all__ if name not in NOT_OF_THE_DEVICE])
def test_function_of_the_device_is_refused_elsewhere(name: str) -> None:
    function = getattr(arch, name)

    @tt.jit
    def host() -> None:
        function()

    with pytest.raises(DeviceOnlyError, match=f"{function.__name__} exists only inside a kernel") as raised:
        host()
    assert raised.value.span is not None
    assert "function()" in raised.value.span.text()
    with pytest.raises(DeviceOnlyError, match="a call from Python"):
        function()


def test_constants() -> None:
    assert (arch.WARP_SIZE, arch.FULL_MASK) == (32, 2**32 - 1)


def test_places_given_by_public_programs_are_accepted() -> None:
    places: dict[str, Any] = {"loc": None, "ip": None}

    def body(n: Any) -> None:
        arch.sync_threads(**places)
        arch.shuffle_sync(n, 0, **places)

    assert kernel_text(body).count("gpu.barrier") == 1


@pytest.mark.parametrize(
    ("body", "says"),
    [
        (lambda n: arch.barrier(barrier_id=16, number_of_threads=32), "0 to 15"),
        (lambda n: arch.barrier(barrier_id=1, number_of_threads=33), "a multiple of 32"),
        (lambda n: arch.barrier_arrive(barrier_id=1), "number_of_threads"),
        (lambda n: arch.warp_reduction_sum(n, threads_in_group=12), "1, 2, 4, 8, 16 or 32"),
        (lambda n: arch.warp_redux_sync(n, "fmax"), "no 'fmax' for Int32"),
        (lambda n: arch.warp_redux_sync(n.to(tt.Int64), "add"), "no 'add' for Int64"),
        (lambda n: arch.match_any_sync(1.5), "works on integers"),
        (lambda n: arch.popc(tt.Float32(1.5)), "works on integers"),
        (lambda n: arch.exp2(n), "works on floats"),
        (lambda n: arch.rcp_approx(n.to(tt.Float64)), "32 bits"),
        (lambda n: arch.shuffle_sync("text", 0), "not a number"),  # type: ignore[type-var]
        (lambda n: arch.add_packed_f32x2((1.0, 1.0), (1.0, 1.0), rnd="rm"), "rounded to nearest"),
        (lambda n: arch.atomic_add(n, 1), "needs an address"),
        (lambda n: arch.atomic_add(pointer(tt.Int8), 1), "no atomic add of Int8"),
        (lambda n: arch.atomic_and(pointer(tt.Float32), 1.0), "no atomic and of Float32"),
        (lambda n: arch.atomic_cas(pointer(tt.Float32), cmp=0.0, val=1.0), "no atomic cas of Float32"),
        (lambda n: arch.atomic_add(pointer(tt.Int32), 1, sem="strong"), "no sem 'strong'"),
        (lambda n: arch.atomic_add(pointer(tt.Int32), 1, scope="warp"), "no scope 'warp'"),
    ],
)
def test_impossible_operand_is_refused(body: Any, says: str) -> None:
    with pytest.raises(OperandTypeError) as raised:
        kernel_text(body)
    assert says in str(raised.value)


def test_a_float_of_python_that_is_an_integer_is_that_integer() -> None:
    """A number of warps that a program has found by `/`, as public programs do."""

    def shuffled(lane: Any) -> str:
        return kernel_text(lambda n: arch.shuffle_sync(n, lane))

    assert shuffled(128 / 32) == shuffled(4)
    with pytest.raises(OperandTypeError, match="works on integers"):
        shuffled(128 / 48)


def pointer(dtype: Any) -> Any:
    return cute.arch.alloc_smem(dtype, 1)


@pytest.mark.parametrize(
    ("block", "multiplies"), [(64, 0), ((64, 1), 0), ((8, 8), 1), ((8, 4, 2), 2), ((1, 32, 1), 1), ((1, 1, 32), 2)]
)
def test_warp_index_computes_only_with_dimensions_the_block_has(block: Any, multiplies: int) -> None:
    text = kernel_text(lambda n: arch.warp_idx(), block)
    assert text.count("arith.muli") == multiplies
    assert text.count("arith.divui") == 1


@pytest.mark.parametrize(
    ("sem", "scope", "written"),
    [
        (None, None, 'syncscope("device") monotonic'),
        ("relaxed", "cta", 'syncscope("block") monotonic'),
        ("acquire", "cluster", 'syncscope("cluster") acquire'),
        ("release", "gpu", 'syncscope("device") release'),
        ("acq_rel", "sys", "%c1_i32 acq_rel"),
    ],
)
def test_atomic_orders_memory_as_asked(sem: str | None, scope: str | None, written: str) -> None:
    text = kernel_text(lambda n: arch.atomic_add(pointer(tt.Int32), 1, sem=sem, scope=scope))
    assert written in text


def test_atomic_takes_a_bare_address_and_the_type_of_the_value() -> None:
    text = kernel_text(lambda n: arch.atomic_max(pointer(tt.Int8).ir_value(), n.to(tt.Uint64)))
    assert "llvm.atomicrmw umax" in text


@pytest.mark.parametrize("cluster", [(1, 1, 1), (2, 2, 1)])
def test_place_in_a_cluster_is_arithmetic_on_the_place_in_the_grid(cluster: tuple[int, int, int]) -> None:
    @tt.kernel
    def device() -> None:
        arch.cluster_idx()
        arch.cluster_dim()
        arch.block_in_cluster_idx()
        arch.block_in_cluster_dim()
        arch.block_idx_in_cluster()
        arch.cluster_size()

    @tt.jit
    def host() -> None:
        device().launch(grid=(4, 4, 1), block=32, cluster=cluster)

    text = traced_ir(host)
    assert ("arith.divui" in text, "clusters in" in text) == ((cluster != (1, 1, 1)),) * 2


def test_elected_block_keeps_its_values_to_itself() -> None:
    def body(n: Any) -> None:
        with arch.elect_one():
            inside = n + 1
        tt.printf("%d", inside)

    with pytest.raises(UnboundLocalError, match="`inside` is not assigned on every path"):
        kernel_text(body)
