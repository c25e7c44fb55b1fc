"""Launches: what a kernel may take, what it may see of the host, which shapes a launch may have, and what it runs."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np
import pytest

import triptych as tt
from tests.ir.traced import traced, traced_ir
from triptych import cuda, cute
from triptych.cute.runtime import make_fake_stream
from triptych.cute.tracing.errors import StaticTensorError
from triptych.diagnostics.kernel_errors import LaunchShapeError
from triptych.diagnostics.runtime_errors import ArgumentTypeError
from triptych.interop.streams import StreamError
from triptych.ir.errors import LoweringError
from triptych.metastage.trace.errors import ArgumentBindingError, KernelCallError, LeakedValueError, ReturnValueError
from triptych.metastage.trace.trace import active
from triptych.support.errors import TriptychError, TriptychWarning


@tt.kernel
def count(cell: cute.Pointer) -> None:
    cute.arch.atomic_add(cell, 1)


@tt.kernel
def nothing() -> None:
    pass


def counted(host: Any, *args: Any) -> int:
    """How many threads a host function has started, which gets the address of a counter."""
    cell = np.zeros(1, np.int32)
    host(tt.Int64(cell.ctypes.data), *args)
    return int(cell[0])


def counter(address: Any) -> cute.Pointer:
    return cute.make_ptr(tt.Int32, address, cute.AddressSpace.gmem)


# shapes ---------------------------------------------------------------------------------------------------------------
@tt.jit
def launch_nothing(options: tt.Constexpr[Any]) -> None:
    nothing().launch(**options)


@pytest.mark.parametrize(
    ("options", "error", "says"),
    [
        ({"grid": 1, "block": 2000}, LaunchShapeError, "1 to 1024"),
        ({"grid": 1, "block": (32, 32, 2)}, LaunchShapeError, "32 * 32 * 2 = 2048"),
        ({"grid": 1, "block": (1, 1, 65)}, LaunchShapeError, "1 to 64"),
        ({"grid": 1, "block": 0}, LaunchShapeError, "1 to 1024"),
        ({"grid": -1, "block": 1}, LaunchShapeError, "0 to 2147483647"),
        ({"grid": 2**31, "block": 1}, LaunchShapeError, "2147483648"),
        ({"grid": (1, 2, 3, 4), "block": 1}, LaunchShapeError, "4 dimensions"),
        ({"grid": (), "block": 1}, LaunchShapeError, "0 dimensions"),
        ({"grid": 1.5, "block": 1}, LaunchShapeError, "`//` instead of `/`"),
        ({"grid": True, "block": 1}, LaunchShapeError, "not an integer"),
        ({"grid": "many", "block": 1}, LaunchShapeError, "not an integer"),
        ({"grid": 1}, ArgumentBindingError, "has no block"),
        ({"block": 1}, ArgumentBindingError, "has no grid"),
        ({"grid": 1, "block": 1, "stream": "a stream"}, StreamError, "__cuda_stream__"),
        ({"grid": 1, "block": 1, "stream": tt.Float32(1)}, StreamError, "an integer"),
        ({"grid": 1, "block": 1, "steam": None}, ArgumentBindingError, "did you mean 'stream'?"),
        ({"grid": 1, "block": 1, "smem": 300_000}, LaunchShapeError, "smem=300000"),
        ({"grid": 1, "block": 1, "smem": -1}, LaunchShapeError, "smem=-1"),
        ({"grid": 1, "block": 1, "smem": 1.5}, LaunchShapeError, "not an integer"),
        ({"grid": 1, "block": 1, "cluster": (0, 1, 1)}, LaunchShapeError, "positive"),
        ({"grid": 1, "block": 1, "min_blocks_per_mp": 1.5}, ArgumentBindingError, "Python int"),
        ({"grid": 32, "block": 1, "cluster": (32, 1, 1)}, LoweringError, "at most 16 blocks"),
    ],
)
def test_impossible_launch_is_refused_at_its_line(
    options: dict[str, Any], error: type[TriptychError], says: str
) -> None:
    with pytest.raises(error) as raised:
        launch_nothing(options)
    assert says in str(raised.value)
    assert raised.value.span is not None
    assert "nothing().launch" in raised.value.span.text()


@pytest.mark.parametrize(
    ("options", "threads"),
    [
        ({"grid": 3, "block": 5}, 15),
        ({"grid": (2, 3), "block": [4, 5]}, 120),
        ({"grid": [2, 1, 3], "block": (2, 3, 4)}, 144),
        ({"grid": (0, 4, 4), "block": 32}, 0),
        ({"grid": 1, "block": 1024}, 1024),
        ({"grid": 1, "block": 33, "stream": 7, "cluster": (1, 1, 1), "use_pdl": True}, 33),
        ({"grid": 1, "block": 2, "min_blocks_per_mp": 2, "max_number_threads": (64, 1, 1), "smem": 100}, 2),
    ],
    ids=str,
)
def test_every_thread_of_every_block_runs_once(options: dict[str, Any], threads: int) -> None:
    @tt.jit
    def host(address: tt.Int64) -> None:
        count(counter(address)).launch(**options)

    assert counted(host) == threads


@tt.jit
def launch_of_any_size(address: tt.Int64, grid: Any, block: Any) -> None:
    count(counter(address)).launch(grid=grid, block=block)


@pytest.mark.parametrize("dtype", [tt.Int8, tt.Int32, tt.Int64, tt.Uint64])
def test_shape_may_be_known_at_run_time_only(dtype: Any) -> None:
    def threads(*numbers: int) -> tuple[Any, ...]:
        return tuple(dtype(n) for n in numbers)

    assert counted(launch_of_any_size, threads(3, 2), threads(5, 2)) == 60
    assert counted(launch_of_any_size, threads(0), threads(7)) == 0
    for grid, block in (((1,), (0,)), ((1,), (64, 2, 100)), ((1,), (100, 100))):
        with pytest.raises(LaunchShapeError) as raised:
            launch_of_any_size(tt.Int64(0), threads(*grid), threads(*block))
        assert "launch(grid=grid, block=block)" in str(raised.value)


def test_negative_grid_is_refused_at_run_time() -> None:
    with pytest.raises(LaunchShapeError, match="the grid's x dimension"):
        launch_of_any_size(tt.Int64(0), -1, 1)
    with pytest.raises(LaunchShapeError, match="the grid's y dimension"):
        launch_of_any_size(tt.Int64(0), (tt.Int64(1), tt.Int64(2**31)), 1)


def test_launch_inside_control_flow_runs_as_often_as_it_is_reached() -> None:
    @tt.jit
    def host(address: tt.Int64, n: tt.Int32) -> None:
        cell = counter(address)
        for i in range(n):
            if i % 2 == 0:
                count(cell).launch(grid=i, block=10)
            else:
                count(cell).launch(grid=1, block=1)

    assert counted(host, 5) == 0 + 1 + 20 + 1 + 40
    assert counted(host, 0) == 0


def test_call_with_a_launch_releases_the_interpreter_lock() -> None:
    assert traced(launch_nothing, {"grid": 1, "block": 1}).loops


# arguments ------------------------------------------------------------------------------------------------------------
class Pair(NamedTuple):
    left: Any
    right: Any


@dataclass
class Scaling:
    factor: Any
    name: str


class Boxed:
    """A class with the protocol of its own values."""

    def __init__(self, number: Any, label: str) -> None:
        self.number = number
        self.label = label

    def __extract_mlir_values__(self) -> list[Any]:
        return [self.number]

    def __new_from_mlir_values__(self, values: Sequence[Any]) -> Boxed:
        return Boxed(values[0], self.label)


@tt.kernel
def total(out: cute.Pointer, values: Any, scaling: Any, boxed: Any, nothing: Any, extra: tt.Constexpr[Any]) -> None:
    assert nothing is None
    assert (scaling.name, boxed.label, type(values[1])) == ("twice", "box", Pair)
    found = values[0] + values[1].left + values[1].right[1] + boxed.number
    cute.make_tensor(out, cute.make_layout(1))[0] = found * scaling.factor + extra


def test_arguments_of_every_shape_reach_the_kernel() -> None:
    @tt.jit
    def host(address: tt.Int64, n: tt.Int32) -> None:
        values = (n, Pair(n + 1, [n, n + 2]))
        total(counter(address), values, Scaling(2, "twice"), Boxed(n * 10, "box"), None, extra=1000).launch(
            grid=1, block=1
        )

    assert counted(host, 5) == (5 + 6 + 7 + 50) * 2 + 1000


@tt.kernel
def kept_in_registers(out: cute.Pointer, tile: cute.Tile, n: Any) -> None:
    kept = cute.make_rmem_tensor(tile[1], tt.Int32)
    kept.fill(n)
    for i in tt.range_constexpr(cute.size(kept)):
        cute.arch.atomic_add(out, kept[i])
    assert isinstance(n, tt.Int32)
    assert (isinstance(tile[0], tt.Int32), tile[1]) == (True, (2, 3))


@tt.jit
def launch_with_a_tile(address: tt.Int64, rows: tt.Int32) -> None:
    kept_in_registers(counter(address), (rows, (2, 3)), 5).launch(grid=1, block=1)


def test_python_ints_of_a_tuple_stay_shapes_in_the_kernel() -> None:
    assert counted(launch_with_a_tile, 4) == 30


@tt.jit
def launch_with_a_tile_from_python(address: tt.Int64, tile: Any) -> None:
    kept_in_registers(counter(address), (1, tile), 5).launch(grid=1, block=1)


def test_ints_of_a_tuple_from_python_are_run_time_numbers() -> None:
    with pytest.raises(StaticTensorError, match="a Constexpr argument"):
        launch_with_a_tile_from_python(tt.Int64(0), (2, 3))


def test_kernel_may_be_a_method_and_see_what_is_static() -> None:
    class Filler:
        def __init__(self, step: int) -> None:
            self.step = step

        @tt.kernel
        def fill(self, cell: cute.Pointer, n: tt.Int32) -> None:
            cute.arch.atomic_add(cell, n * self.step)

        @tt.jit
        def host(self, address: tt.Int64, n: tt.Int32) -> None:
            self.fill(counter(address), n).launch(grid=2, block=1)

    cell = np.zeros(1, np.int32)
    Filler(7).host(tt.Int64(cell.ctypes.data), 3)
    assert cell[0] == 42


def test_list_of_the_kernel_is_its_own() -> None:
    @tt.kernel
    def append(items: Any) -> None:
        items.append(1)

    @tt.jit
    def host(n: tt.Int32) -> Any:
        items = [n]
        append(items).launch(grid=1, block=1)
        return len(items)

    assert host(3) == 1


def test_python_number_too_large_for_its_type_is_refused() -> None:
    @tt.kernel
    def takes(n: Any) -> None:
        pass

    @tt.jit
    def host() -> None:
        takes(2**40).launch(grid=1, block=1)

    with pytest.raises(OverflowError, match="does not fit Int32"):
        host()


# what kernel and host do not share -----------------------------------------------------------------------------------
def test_run_time_value_of_the_host_must_be_an_argument() -> None:
    @tt.jit
    def host(n: tt.Int32) -> None:
        @tt.kernel
        def inner(m: tt.Int32) -> None:
            tt.printf("%d", m + n)

        inner(n).launch(grid=1, block=1)

    with pytest.raises(LeakedValueError, match="the kernel inner uses a run-time Int32 of the host") as raised:
        host(3)
    assert "m + n" in str(raised.value)
    assert "pass it as an argument" in str(raised.value)


def test_raw_value_of_the_host_is_found_too() -> None:
    class Holder:
        raw: Any = None

    @tt.kernel
    def inner() -> None:
        trace = active()
        assert trace is not None
        trace.value("arith.addi", (Holder.raw, Holder.raw), "i32")

    @tt.jit
    def host(n: tt.Int32) -> None:
        Holder.raw = n.ir_value()
        inner().launch(grid=1, block=1)

    with pytest.raises(LeakedValueError, match="uses a run-time value of the host"):
        host(3)


def test_value_of_the_kernel_does_not_reach_the_host() -> None:
    kept: list[Any] = []

    @tt.kernel
    def inner(n: tt.Int32) -> None:
        kept.append(n + 1)

    @tt.jit
    def host(n: tt.Int32) -> Any:
        inner(n).launch(grid=1, block=1)
        return kept[0] + n

    with pytest.raises(LeakedValueError, match="outside the kernel that computes it"):
        host(3)


def test_host_goes_on_with_its_values_after_a_launch() -> None:
    @tt.jit
    def host(n: tt.Int32) -> Any:
        before = n * 2
        nothing().launch(grid=1, block=1)
        return before + n

    assert host(5) == 15


def test_kernel_returns_nothing() -> None:
    @tt.kernel
    def returns(n: tt.Int32) -> Any:
        return n + 1

    @tt.kernel
    def leaves_early(n: tt.Int32) -> None:
        if n > 3:
            return
        tt.printf("%d", n)

    @tt.jit
    def host(n: tt.Int32, kernel: tt.Constexpr[Any]) -> None:
        kernel(n).launch(grid=1, block=1)

    with pytest.raises(ReturnValueError, match="the kernel returns returns a value") as raised:
        host(3, returns)
    assert raised.value.span is not None
    assert "return n + 1" in raised.value.span.text()
    assert "scf.if" in traced_ir(host, 3, leaves_early)


def test_call_without_a_launch_is_refused_and_a_failed_launch_is_no_second_mistake() -> None:
    @tt.jit
    def host() -> None:
        nothing()

    with pytest.raises(KernelCallError, match="never launched"):
        host()


# shared memory of a launch -------------------------------------------------------------------------------------------
@tt.kernel
def reports_its_size(out: cute.Pointer, allocates: tt.Constexpr[Any]) -> None:
    if tt.const_expr(allocates):
        cute.SmemAllocator().allocate(allocates)
    cute.make_tensor(out, cute.make_layout(1))[0] = cute.arch.dynamic_smem_size()


@pytest.mark.parametrize(("allocates", "smem", "size"), [(0, None, 0), (96, None, 96), (96, 200, 200), (0, 64, 64)])
def test_launch_provides_what_is_allocated_or_asked_for(allocates: int, smem: int | None, size: int) -> None:
    @tt.jit
    def host(address: tt.Int64) -> None:
        reports_its_size(counter(address), allocates).launch(grid=1, block=1, smem=smem)

    assert counted(host) == size


def test_too_little_shared_memory_is_enlarged_with_a_warning() -> None:
    @tt.jit
    def host(address: tt.Int64) -> None:
        reports_its_size(counter(address), 96).launch(grid=1, block=1, smem=16)

    with pytest.warns(TriptychWarning, match="smem=16 is less than the 96 bytes"):
        assert counted(host) == 96


def test_shared_memory_may_be_known_at_run_time_only() -> None:
    @tt.jit
    def host(address: tt.Int64, smem: tt.Int32) -> None:
        reports_its_size(counter(address), 96).launch(grid=1, block=1, smem=smem)

    assert counted(host, 128) == 128
    for smem in (95, 232_449):
        with pytest.raises(LaunchShapeError, match="96 to 232448 bytes"):
            counted(host, smem)


# streams --------------------------------------------------------------------------------------------------------------
class OfAProtocol:
    def __cuda_stream__(self) -> tuple[int, int]:
        return 0, 0xBEEF


@tt.jit
def launch_in(address: tt.Int64, stream: cuda.CUstream) -> None:
    count(counter(address)).launch(grid=1, block=3, stream=stream)


@pytest.mark.parametrize("stream", [0, 2**40, None, OfAProtocol(), cuda.CUstream(7), cuda.default_stream()])
def test_streams_are_taken_and_change_nothing(stream: Any) -> None:
    assert counted(launch_in, stream) == 3
    assert counted(lambda address: launch_in(address, stream=stream)) == 3
    assert counted(tt.compile(launch_in, tt.Int64(0), stream), stream) == 3
    cuda.initialize_cuda_context()
    cuda.stream_sync(cuda.default_stream())


def test_a_function_compiled_for_any_stream() -> None:
    compiled = tt.compile(launch_in, tt.Int64(0), make_fake_stream())
    assert counted(compiled, OfAProtocol()) == counted(compiled, 5) == 3
    with pytest.raises(StreamError):
        counted(compiled, "first")
    with pytest.raises(StreamError):
        counted(launch_in, "first")


def test_a_function_compiled_for_the_current_stream() -> None:
    compiled = tt.compile(launch_in, tt.Int64(0), make_fake_stream(use_tvm_ffi_env_stream=True))
    assert counted(compiled) == counted(compiled, None) == 3
    with pytest.raises(ArgumentTypeError, match="'stream' was None"):
        counted(compiled, 5)


def test_streams_go_through_functions_and_branches() -> None:
    @tt.jit
    def inner(address: tt.Int64, stream: cuda.CUstream) -> None:
        count(counter(address)).launch(grid=1, block=2, stream=stream)

    @tt.jit
    def outer(address: tt.Int64, first: cuda.CUstream, second: cuda.CUstream, which: tt.Boolean) -> None:
        stream = second
        if which:
            stream = first
        inner(address, stream)
        inner(address, 5)

    assert counted(outer, 1, OfAProtocol(), True) == 4
