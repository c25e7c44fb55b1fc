"""Calls of functions compiled for NVIDIA GPUs reach the driver: with the right kernel, shape, arguments and stream."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import triptych as tt
from tests.unit.targets.nvptx.fake_driver import FakeDriver, needs_compiler, on_gpu, view_on_gpu
from tests.unit.targets.nvptx.programs import vector
from tests.unit.targets.nvptx.tools import needs_assembler
from triptych import cuda, cute
from triptych.cute.runtime import make_fake_stream
from triptych.diagnostics.kernel_errors import LaunchShapeError
from triptych.diagnostics.runtime_errors import ArgumentCountError, ArgumentTypeError
from triptych.diagnostics.tensor_errors import ArgumentTensorError
from triptych.interop.streams import StreamError
from triptych.interop.tensor_views import tensor_view
from triptych.ir.errors import LoweringError
from triptych.objectstage.device_errors import ArchitectureError, DriverError, NoGpuError
from triptych.support.config import override
from triptych.targets.nvptx.runtime.loader import load

pytestmark = [needs_compiler, needs_assembler]

TARGET = "nvptx:sm_90a"


@tt.kernel
def scale(x: cute.Tensor, y: cute.Tensor, factor: tt.Float32, flag: tt.Boolean) -> None:
    i = cute.arch.block_idx()[0] * 128 + cute.arch.thread_idx()[0]
    if flag and i < cute.size(x):
        y[i] = x[i] * factor


@tt.jit
def scaled(x: cute.Tensor, y: cute.Tensor, factor: tt.Float32, flag: tt.Boolean) -> None:
    scale(x, y, factor, flag).launch(grid=(cute.size(x) + 127) // 128, block=128)


@tt.kernel
def fill(x: cute.Tensor) -> None:
    x[cute.arch.thread_idx()[0]] = 1.0


@tt.jit
def filled(x: cute.Tensor, n: tt.Int32, bytes_: tt.Int32) -> None:
    fill(x).launch(grid=(n, 2, 3), block=(32, 4, 1), smem=bytes_)


@pytest.fixture(scope="module")
def compiled_scaled() -> Any:
    return tt.compile(scaled, vector(), vector(), 1.0, True, target=TARGET)


@pytest.fixture(scope="module")
def compiled_filled() -> Any:
    return tt.compile(filled, vector(), 1, 0, target=TARGET)


def fresh(compiled: Any) -> Any:
    """The same function loaded anew, so that it meets the driver of this test."""
    return load(compiled._loaded.compiled).call


def test_a_launch_has_its_shape_and_its_arguments(fake: FakeDriver, compiled_scaled: Any) -> None:
    fake.kernel("scale", "pipifb")
    x, y = on_gpu(260), on_gpu(260)
    fresh(compiled_scaled)(x, y, 2.5, True)
    assert fake.log() == [
        "init",
        "retain 0",
        "enter 0",
        "load a cubin",
        "allow scale 166400",
        f"launch scale grid 3 1 1 block 128 1 1 shared 0 stream 0 with {x.address:#x} 260 {y.address:#x} 260 2.5 1",
    ]


def test_a_second_call_only_launches(fake: FakeDriver, compiled_scaled: Any) -> None:
    fake.kernel("scale", "pipifb")
    call = fresh(compiled_scaled)
    for count in (4, 8):
        call(view_on_gpu(count), view_on_gpu(count), 1, False)
    assert len(fake.log("load", "retain", "enter")) == 3
    first, second = fake.log("launch")
    assert first.endswith("1 0")
    assert " 8 " in second


def test_a_jitted_function_launches_too(fake: FakeDriver) -> None:
    fake.kernel("fill", "pi")
    with override(target=TARGET):
        for count in (4, 8):
            filled(view_on_gpu(count), count, 0)
    assert [line.split()[3] for line in fake.log("launch")] == ["4", "8"]


def test_an_attempt_leaves_other_tensors_to_others(fake: FakeDriver, compiled_filled: Any) -> None:
    fake.kernel("fill", "pi")
    attempt = load(compiled_filled._loaded.compiled).attempt
    assert attempt is not None
    assert attempt(tensor_view(np.zeros(4, np.float32)), 1, 0) is NotImplemented
    assert fake.log("launch") == []
    assert attempt(view_on_gpu(4), 1, 0) is None
    assert len(fake.log("launch")) == 1


def test_dynamic_dimensions_and_shared_memory(fake: FakeDriver, compiled_filled: Any) -> None:
    fake.kernel("fill", "pi")
    fresh(compiled_filled)(on_gpu(4), 7, 100_000)
    (line,) = fake.log("launch")
    assert "grid 7 2 3 block 32 4 1 shared 100000" in line


def test_an_empty_grid_launches_nothing(fake: FakeDriver, compiled_filled: Any) -> None:
    fake.kernel("fill", "pi")
    fresh(compiled_filled)(on_gpu(4), 0, 0)
    assert fake.log("launch") == []


def test_a_dimension_that_is_not_possible(fake: FakeDriver, compiled_filled: Any) -> None:
    fake.kernel("fill", "pi")
    with pytest.raises(LaunchShapeError):
        fresh(compiled_filled)(on_gpu(4), -1, 0)
    assert fake.log("launch") == []


# streams --------------------------------------------------------------------------------------------------------
class Stream:
    def __cuda_stream__(self) -> tuple[int, int]:
        return 0, 0xBEEF


@pytest.mark.parametrize(("stream", "handle"), [(None, "0"), (0xABC, "0xabc"), (Stream(), "0xbeef")])
def test_streams(fake: FakeDriver, compiled_filled: Any, stream: Any, handle: str) -> None:
    fake.kernel("fill", "pi")
    fresh(compiled_filled)(on_gpu(4), 1, 0, stream=stream)
    (line,) = fake.log("launch")
    assert f"stream {handle} " in line


def test_what_is_no_stream(fake: FakeDriver, compiled_filled: Any) -> None:
    fake.kernel("fill", "pi")
    with pytest.raises(StreamError):
        fresh(compiled_filled)(on_gpu(4), 1, 0, stream="first")


@tt.jit
def streamed(x: cute.Tensor, stream: cuda.CUstream) -> None:
    fill(x).launch(grid=1, block=32, stream=stream)
    fill(x).launch(grid=1, block=32)


def streams_of(fake: FakeDriver) -> list[str]:
    """The handles of the launches so far."""
    return [line.split(" stream ")[1].split()[0] for line in fake.log("launch")]


@pytest.mark.parametrize("stream", [0xABC, 2**40 + 1, Stream(), cuda.CUstream(5)])
def test_a_stream_as_an_argument(fake: FakeDriver, stream: Any) -> None:
    fake.kernel("fill", "pi")
    fake.kernel("fill_1", "pi")
    compiled = tt.compile(streamed, vector(), make_fake_stream(), target=TARGET)
    handle = stream if isinstance(stream, int) else stream.__cuda_stream__()[1]
    compiled(on_gpu(4), stream)
    compiled(on_gpu(4), stream=stream)
    assert streams_of(fake) == [f"{handle:#x}", "0"] * 2
    with override(target=TARGET):
        streamed(on_gpu(4), stream)
    assert streams_of(fake) == [f"{handle:#x}", "0"] * 3


@pytest.mark.parametrize("stream", [None, make_fake_stream(use_tvm_ffi_env_stream=True)])
def test_the_current_stream_as_an_argument(fake: FakeDriver, stream: Any) -> None:
    fake.kernel("fill", "pi")
    fake.kernel("fill_1", "pi")
    compiled = tt.compile(streamed, vector(), stream, target=TARGET)
    compiled(on_gpu(4))
    compiled(on_gpu(4), None)
    assert streams_of(fake) == ["0"] * 4
    with pytest.raises(ArgumentTypeError, match="'stream' was None"):
        compiled(on_gpu(4), 7)


def test_a_stream_that_the_host_function_knows(fake: FakeDriver) -> None:
    fake.kernel("fill", "pi")
    stream = Stream()

    @tt.jit
    def host(x: cute.Tensor) -> None:
        fill(x).launch(grid=1, block=32, stream=stream)

    compiled = tt.compile(host, vector(), target=TARGET)
    compiled(on_gpu(4))
    compiled(on_gpu(4), stream=1)  # the launch names its own
    assert streams_of(fake) == ["0xbeef"] * 2


def test_the_stream_of_a_call_with_a_tuple(fake: FakeDriver) -> None:
    fake.kernel("fill", "pi")

    @tt.jit
    def host(pair: tuple[cute.Tensor, tt.Int32]) -> None:
        fill(pair[0]).launch(grid=pair[1], block=32)

    tt.compile(host, (vector(), 1), target=TARGET)((on_gpu(4), 1), stream=0xABC)
    assert streams_of(fake) == ["0xabc"]


def test_a_memory_that_is_only_read_beside_a_stream(fake: FakeDriver) -> None:
    """The stream follows the kernel's arguments in a launch: which of those are written must not shift."""
    fake.kernel("scale", "pipifb")

    @tt.jit
    def host(x: cute.Tensor, y: cute.Tensor, stream: cuda.CUstream) -> None:
        scale(x, y, tt.Float32(1), tt.Boolean(True)).launch(grid=1, block=32, stream=stream)

    compiled = tt.compile(host, vector(), vector(), make_fake_stream(), target=TARGET)
    written = [leaf.memory.written for leaf in compiled._loaded.compiled.lowered.traced.parameters if leaf.memory]
    assert written == [False, True]


def test_waiting_for_a_stream(fake: FakeDriver) -> None:
    cuda.initialize_cuda_context()
    cuda.stream_sync(cuda.default_stream())
    cuda.stream_sync(0xABC)
    assert fake.log("enter", "wait") == ["enter 0", "wait for 0", "wait for 0xabc"]
    with pytest.raises(StreamError):
        cuda.stream_sync("first")


# devices --------------------------------------------------------------------------------------------------------
def test_kernels_are_loaded_where_the_tensors_are(fake: FakeDriver, compiled_filled: Any) -> None:
    fake.kernel("fill", "pi")
    call = fresh(compiled_filled)
    for number in (1, 0, 1):
        call(on_gpu(4, number=number), 1, 0)
    assert fake.log("enter", "load") == ["enter 1", "load a cubin", "enter 0", "load a cubin", "enter 1"]


def test_tensors_on_different_gpus_are_refused(fake: FakeDriver, compiled_scaled: Any) -> None:
    fake.kernel("scale", "pipifb")
    with pytest.raises(ArgumentTensorError, match="different GPUs") as raised:
        fresh(compiled_scaled)(on_gpu(4), on_gpu(4, number=1), 1.0, True)
    assert raised.value.found == "x on GPU 0, y on GPU 1"
    assert fake.log("launch") == []


def test_tensors_of_the_host_are_refused(fake: FakeDriver, compiled_filled: Any) -> None:
    fake.kernel("fill", "pi")
    with pytest.raises(ArgumentTensorError, match="not in memory of a GPU") as raised:
        fresh(compiled_filled)(np.zeros(4, np.float32), 1, 0)
    assert "x.cuda()" in str(raised.value)
    assert fake.log("launch") == []


def test_tensors_of_a_gpu_are_still_refused_by_the_cpu() -> None:
    with pytest.raises(ArgumentTensorError, match="this machine's CPU"):
        tt.compile(filled, vector(), 1, 0, target="cpu")(on_gpu(4), 1, 0)


# refusals -------------------------------------------------------------------------------------------------------
def test_the_arguments_are_counted_as_the_user_counts(fake: FakeDriver, compiled_filled: Any) -> None:
    fake.kernel("fill", "pi")
    with pytest.raises(ArgumentCountError, match="takes 3 arguments but 2 were given"):
        fresh(compiled_filled)(on_gpu(4), 1)


def test_an_argument_of_another_type(fake: FakeDriver, compiled_filled: Any) -> None:
    fake.kernel("fill", "pi")
    with pytest.raises(ArgumentTypeError, match="'n'"):
        fresh(compiled_filled)(on_gpu(4), "many", 0)


def test_a_launch_that_the_driver_refuses(fake: FakeDriver, compiled_filled: Any) -> None:
    fake.kernel("fill", "pi")
    with pytest.raises(DriverError, match="the kernel fill could not be launched") as raised:
        fresh(compiled_filled)(on_gpu(4), 1, 200_000)
    assert "CUDA_ERROR_LAUNCH_OUT_OF_RESOURCES" in raised.value.found
    assert raised.value.code == "TT0514"


def test_a_cubin_for_another_gpu(fake: FakeDriver, compiled_filled: Any) -> None:
    fake.fail("cuModuleLoadData", 209)
    with pytest.raises(DriverError) as raised:
        fresh(compiled_filled)(on_gpu(4), 1, 0)
    assert raised.value.found == "CUDA_ERROR_NO_BINARY_FOR_GPU: no kernel image is available"
    assert "nvptx:sm_80" in raised.value.expected


def test_a_failure_does_not_last(fake: FakeDriver, compiled_filled: Any) -> None:
    fake.kernel("fill", "pi")
    call = fresh(compiled_filled)
    with pytest.raises(DriverError):
        call(on_gpu(4), 1, 200_000)
    call(on_gpu(4), 1, 0)
    assert len(fake.log("launch")) == 1


def test_a_driver_without_a_gpu(fake: FakeDriver, compiled_filled: Any) -> None:
    fake.fail("cuInit", 100)
    with pytest.raises(NoGpuError, match="finds no GPU") as raised:
        fresh(compiled_filled)(on_gpu(4), 1, 0)
    assert raised.value.found == "CUDA_ERROR_NO_DEVICE"


def test_a_driver_that_is_too_old(fake: FakeDriver, compiled_filled: Any) -> None:
    fake.version(11080)
    with pytest.raises(NoGpuError, match="too old") as raised:
        fresh(compiled_filled)(on_gpu(4), 1, 0)
    assert "11.8" in raised.value.found


# several launches, and how they are made ------------------------------------------------------------------------
@tt.jit
def twice(x: cute.Tensor, n: tt.Int32) -> tt.Int32:
    for i in range(n):
        fill(x).launch(grid=i, block=32)
    fill(x).launch(grid=(4, 1, 1), block=64, cluster=(2, 1, 1), cooperative=True)
    return tt.Int32(n + 1)


def test_launches_in_loops_in_clusters_and_together(fake: FakeDriver) -> None:
    fake.kernel("fill", "pi")
    fake.kernel("fill_1", "pi")
    assert tt.compile(twice, vector(), 1, target=TARGET)(on_gpu(4), 3) == 4
    words = [line.partition(" with")[0] for line in fake.log("launch")]
    assert words == [
        "launch fill grid 1 1 1 block 32 1 1 shared 0 stream 0",
        "launch fill grid 2 1 1 block 32 1 1 shared 0 stream 0",
        "launch fill_1 grid 4 1 1 block 64 1 1 shared 0 stream 0 cluster 2 1 1 cooperative 1",
    ]


@tt.jit
def overlapping(x: cute.Tensor, options: tt.Constexpr[Any]) -> None:
    fill(x).launch(grid=1, block=32, **options)


def test_a_launch_that_overlaps_the_one_before(fake: FakeDriver) -> None:
    fake.kernel("fill", "pi")
    tt.compile(overlapping, vector(), {"use_pdl": True}, target=TARGET)(on_gpu(4))
    (line,) = fake.log("launch")
    assert "overlapping 1 with" in line


@pytest.mark.parametrize(
    ("options", "target", "error", "says"),
    [
        ({"use_pdl": True}, "nvptx:sm_89", ArchitectureError, "sm_90 or newer, or a launch without `use_pdl`"),
        ({"programmatic_event": 5}, "nvptx:sm_89", ArchitectureError, "or `launch_completion_event`"),
    ],
)
def test_launches_that_cannot_be(options: dict[str, Any], target: str, error: Any, says: str) -> None:
    with pytest.raises(error) as raised:
        tt.compile(overlapping, vector(), options, target=target)
    assert says in str(raised.value)
    assert "fill(x).launch" in raised.value.span.text()


PROGRAMMATIC = {"programmatic_event": 0x7F00_0000_1230, "programmatic_event_trigger_at_block_start": 1}
COMPLETION = {"launch_completion_event": 0x7F00_0000_4560, "launch_completion_event_flags": 2}


@pytest.mark.parametrize(
    ("options", "logged"),
    [
        (PROGRAMMATIC, "stream 0 programmatic event 0x7f0000001230 flags 0 trigger 1 with"),
        (COMPLETION, "stream 0 completion event 0x7f0000004560 flags 2 with"),
        (
            {"stream": 0x5550_0000_0010, "use_pdl": True, **COMPLETION, **PROGRAMMATIC},
            "stream 0x555000000010 overlapping 1 programmatic event 0x7f0000001230 flags 0 trigger 1"
            " completion event 0x7f0000004560 flags 2 with",
        ),
    ],
)
def test_a_launch_records_events(options: dict[str, Any], logged: str, fake: FakeDriver) -> None:
    fake.kernel("fill", "pi")
    tt.compile(overlapping, vector(), options, target=TARGET)(on_gpu(4))
    (line,) = fake.log("launch")
    assert logged in line


@tt.jit
def recorded(x: cute.Tensor, event: tt.Int64, flags: tt.Int32) -> None:
    fill(x).launch(grid=1, block=32, launch_completion_event=event, launch_completion_event_flags=flags)


def test_the_event_of_a_call(fake: FakeDriver) -> None:
    fake.kernel("fill", "pi")
    compiled = tt.compile(recorded, vector(), 0, 0, target="nvptx:sm_80")
    compiled(on_gpu(4), 0x7F00_0000_7890, 1)
    compiled(on_gpu(4), 0x10, 0)
    assert ["event 0x7f0000007890 flags 1 with" in line for line in fake.log("launch")] == [True, False]
    assert "event 0x10 flags 0 with" in fake.log("launch")[1]


def test_launches_after_one_that_failed_do_nothing(fake: FakeDriver) -> None:
    fake.kernel("fill", "pi")
    fake.kernel("fill_1", "pi")
    fake.fail("cuLaunchKernelEx", 1)
    with pytest.raises(DriverError, match="the kernel fill could") as raised:
        tt.compile(twice, vector(), 1, target=TARGET)(on_gpu(4), 3)
    assert "CUDA_ERROR_INVALID_VALUE: invalid argument" in str(raised.value)


@tt.jit
def peeking(x: cute.Tensor) -> None:
    fill(x).launch(grid=tt.Int32(x[0]), block=32)


def test_the_host_function_reads_no_tensor(fake: FakeDriver) -> None:
    with pytest.raises(LoweringError, match="memory of the GPU"):
        tt.compile(peeking, vector(), target=TARGET)(on_gpu(4))
