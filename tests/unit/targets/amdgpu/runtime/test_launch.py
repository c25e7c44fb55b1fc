"""Launches through HIP: what reaches the kernels of every example is where their metadata says, on every chip."""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import Any, cast

import numpy as np
import pytest
from benchmarks.amd_programs import PLAIN

import triptych as tt
from tests.unit.targets.amdgpu.programs import program
from tests.unit.targets.amdgpu.runtime.checking_hip import CheckingHip, complaints, on_rocm
from triptych import cute
from triptych.cute.runtime import FakeTensor
from triptych.diagnostics.kernel_errors import LaunchShapeError
from triptych.diagnostics.runtime_errors import ArgumentCountError
from triptych.diagnostics.tensor_errors import ArgumentTensorError
from triptych.driver.compiling import CompiledFunction
from triptych.objectstage.device_errors import DriverError, NoGpuError
from triptych.targets.amdgpu.code_object.metadata import Argument, Kernel, kernels_of
from triptych.targets.amdgpu.runtime import loader
from triptych.targets.amdgpu.runtime.driver import Hip, find_hip, launcher

_DTYPES = {"Uint8": np.uint8, "Int32": np.int32, "Float32": np.float32}
_SIZES = {"ptr": 8, "i64": 8, "double": 8, "i32": 4, "float": 4, "i16": 2, "half": 2, "bfloat": 2, "i8": 1, "i1": 1}


@pytest.fixture
def hip(monkeypatch: pytest.MonkeyPatch) -> Iterator[CheckingHip]:
    yield from _installed("gfx942", monkeypatch)


def _installed(chip: str, monkeypatch: pytest.MonkeyPatch, devices: int = 1) -> Iterator[CheckingHip]:
    library = CheckingHip(chip, devices)
    monkeypatch.setattr(loader, "find_hip", lambda: Hip(cast(Any, library)))
    yield library
    launcher.cache_clear()


def scale(x: Any, y: Any, t: Any) -> None:
    y[t] = 3 * x[t]


def compiled(chip: str = "gfx942") -> CompiledFunction:
    return tt.compile(program(scale), *(on_rocm(4096) for _ in range(2)), target=f"amdgpu:{chip}")


def test_a_launch_brings_what_the_kernel_expects(hip: CheckingHip) -> None:
    function, x, y = compiled(), on_rocm(4096), on_rocm(4096)
    function(x, y)
    function(x, y, stream=77)
    first, second = hip.launched
    assert (first.kernel.name, first.grid, first.block, first.shared) == ("kernel", (4, 1, 1), (256, 1, 1), 0)
    assert first.values() == [x.address, 4096, y.address, 4096]
    assert (first.stream, second.stream, first.cooperative) == (0, 77, False)


@pytest.mark.parametrize("chip", ["gfx942", "gfx1201"])
@pytest.mark.parametrize("name", PLAIN)
def test_examples(name: str, chip: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """Pointers are those of the tensors, and the segment has the layout of the kernel's own parameters."""
    for library in _installed(chip, monkeypatch):
        function, arguments = PLAIN[name]()
        made = tt.compile(function, *arguments, target=f"amdgpu:{chip}")
        tensors = [each for given in arguments for each in _tensors(given)]
        actual = [_actual(given) for given in arguments if _is_dynamic(given) and given != 0.0]
        made(*actual)
        assert library.launched
        assert not library.refused
        addresses = {each.address for given in actual for each in _arrays(given)}
        assert len(addresses) == len(tensors)
        for launched in library.launched:
            kernel = launched.kernel
            assert [(each.offset, each.size) for each in kernel.arguments] == _laid_out(made.llvm, kernel.name)
            pointers = {
                value
                for each, value in zip(kernel.arguments, launched.values(), strict=True)
                if each.kind == "global_buffer"
            }
            assert pointers <= addresses


def _tensors(given: Any) -> Iterator[FakeTensor]:
    for each in given if isinstance(given, tuple) else (given,):
        if isinstance(each, FakeTensor):
            yield each


def _arrays(given: Any) -> Iterator[Any]:
    yield from (each for each in (given if isinstance(given, tuple) else (given,)) if hasattr(each, "address"))


def _is_dynamic(given: Any) -> bool:
    return any(True for _ in _tensors(given)) or isinstance(given, float)


def _actual(given: Any) -> Any:
    if isinstance(given, tuple):
        return tuple(map(_actual, given))
    if not isinstance(given, FakeTensor):
        return given
    extents = tuple(n if isinstance(n, int) else 128 for n in given.shape)
    return on_rocm(extents, _DTYPES[given.element_type.__name__])


def _laid_out(llvm: str, kernel: str) -> list[tuple[int, int]]:
    """Where C would put the parameters of a kernel, by their types in LLVM IR."""
    head = re.search(rf"define amdgpu_kernel void @{kernel}\((.*)\) [#!{{]", llvm)
    assert head is not None, llvm[:500]
    places, at = [], 0
    for parameter in head[1].split(", ") if head[1] else ():
        size = _SIZES[parameter.split(" ")[0]]
        at = -(-at // size) * size
        places.append((at, size))
        at += size
    return places


# What is refused ------------------------------------------------------------------------------------------------------
def test_without_a_runtime(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(loader, "find_hip", lambda: None)
    with pytest.raises(NoGpuError, match="compiled for an AMD GPU") as refused:
        compiled()(on_rocm(4096), on_rocm(4096))
    assert "TT0513" in str(refused.value)
    assert "libamdhip64" in str(refused.value)


def test_a_machine_without_the_library(monkeypatch: pytest.MonkeyPatch) -> None:
    find_hip.cache_clear()
    monkeypatch.setattr("triptych.targets.amdgpu.runtime.driver.LIBRARIES", ("libtriptych-has-no-such.so",))
    assert find_hip() is None
    find_hip.cache_clear()


def test_a_runtime_without_a_gpu() -> None:
    with pytest.raises(NoGpuError, match="finds no GPU"):
        Hip(cast(Any, CheckingHip("gfx942", devices=0)))


def test_code_for_another_chip(hip: CheckingHip) -> None:
    with pytest.raises(DriverError, match="hipErrorNoBinaryForGpu") as refused:
        compiled("gfx1100")(on_rocm(4096), on_rocm(4096))
    assert "amdgpu:gfx942" in str(refused.value)
    assert hip.refused == ["code for gfx1100 on gfx942"]


def test_tensors_elsewhere(hip: CheckingHip) -> None:
    with pytest.raises(ArgumentTensorError):
        compiled()(np.zeros(4096, np.float32), np.zeros(4096, np.float32))
    assert not hip.launched


def test_tensors_on_two_gpus(monkeypatch: pytest.MonkeyPatch) -> None:
    for library in _installed("gfx942", monkeypatch, devices=2):
        function = compiled()
        with pytest.raises(ArgumentTensorError, match="different GPUs"):
            function(on_rocm(4096), on_rocm(4096, number=1))
        function(on_rocm(4096, number=1), on_rocm(4096, number=1))
        assert len(library.launched) == 1


def test_too_few_arguments(hip: CheckingHip) -> None:
    with pytest.raises(ArgumentCountError):
        compiled()(on_rocm(4096))
    assert not hip.launched


@tt.kernel
def fill(y: cute.Tensor) -> None:
    y[cute.arch.thread_idx()[0]] = 1.0


@tt.jit
def launch_dynamic(y: cute.Tensor, threads: tt.Int32, shared: tt.Int32) -> None:
    fill(y).launch(grid=1, block=threads, smem=shared)


@tt.jit
def launch_cooperative(y: cute.Tensor) -> None:
    fill(y).launch(grid=2, block=64, cooperative=True)


def test_what_only_the_launch_knows(hip: CheckingHip) -> None:
    """What the host function finds right the runtime may still refuse, with its words and the kernel's name."""
    y = on_rocm(4096)
    function = tt.compile(launch_dynamic, y, 64, 0, target="amdgpu:gfx942")
    function(y, 1024, 65536)
    assert (hip.launched[0].block, hip.launched[0].shared) == ((1024, 1, 1), 65536)
    with pytest.raises(LaunchShapeError, match="0 to 65536 bytes"):
        function(y, 64, 65537)
    hip.shared_bytes = 1000
    with pytest.raises(DriverError, match="fill could not be launched") as refused:
        function(y, 64, 1001)
    assert "hipErrorInvalidValue" in str(refused.value)
    assert hip.refused == ["1001 bytes of LDS are too many"]


def test_a_cooperative_launch_calls_its_own_function(hip: CheckingHip) -> None:
    y = on_rocm(4096)
    tt.compile(launch_cooperative, y, target="amdgpu:gfx942")(y)
    assert [(each.cooperative, each.grid, each.values()) for each in hip.launched] == [
        (True, (2, 1, 1), [y.address, 4096])
    ]


def _with(*arguments: Argument, size: int = 16) -> Kernel:
    (kernel,) = kernels_of(compiled().artifact).values()
    fields = {name: getattr(kernel, name) for name in Kernel.__dataclass_fields__}
    return Kernel(**{**fields, "arguments": arguments, "argument_bytes": size})


@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        ((Argument("by_value", 4, 8),), "an argument of 8 bytes at 4"),
        ((Argument("by_value", 0, 8), Argument("by_value", 4, 4)), "overlap at 4"),
        ((Argument("by_value", 16, 4),), "end at 20"),
        ((Argument("hidden_block_count_x", 0, 4),), "hidden_block_count_x"),
    ],
)
def test_layouts_that_do_not_fit_are_seen(arguments: tuple[Argument, ...], said: str) -> None:
    assert any(said in complaint for complaint in complaints(_with(*arguments)))
    assert not list(complaints(_with(Argument("global_buffer", 0, 8), Argument("by_value", 8, 4))))
