"""Host calls of CUDA without a driver: memory is the CPU's, time its clock, and the rest is refused by name."""

from __future__ import annotations

import ctypes
import importlib
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

import triptych as tt
from tests.integration.subprograms import run
from triptych.compat import cuda_bindings
from triptych.compat.cuda_bindings import driver, nvrtc, runtime
from triptych.compat.cuda_checks import DSLCudaRuntimeError, checkCudaErrors
from triptych.compat.errors import CudaCallError
from triptych.cute.runtime import make_ptr
from triptych.support.config import override

OK = driver.CUresult.CUDA_SUCCESS


@pytest.fixture
def installed() -> Iterator[None]:
    before = dict(sys.modules)
    undo = cuda_bindings.install()
    yield
    undo()
    assert {name for name in sys.modules if name.partition(".")[0] == "cuda"} == {
        name for name in before if name.partition(".")[0] == "cuda"
    }


@pytest.mark.usefixtures("installed")
def test_programs_import_the_stand_ins() -> None:
    assert importlib.import_module("cuda.bindings.driver").cuInit(0) == (OK,)
    assert importlib.import_module("cuda.bindings.runtime").cudaGetDeviceCount()[1] == 1
    assert importlib.import_module("cuda.bindings").nvrtc is nvrtc


def test_the_device_is_the_modelled_one() -> None:
    with override(gpu="h100:7"):
        _, device = driver.cuDeviceGet(0)
        count = driver.CUdevice_attribute["CU_DEVICE_ATTRIBUTE_MULTIPROCESSOR_COUNT"]
        assert driver.cuDeviceGetAttribute(count, device) == (OK, 7)
        major = runtime.cudaDeviceAttr["cudaDevAttrComputeCapabilityMajor"]
        assert runtime.cudaDeviceGetAttribute(major, 0)[1] == 9
        assert driver.cuDeviceGetName(64, device) == (OK, b"NVIDIA H100")
    assert driver.cuDeviceGet(1)[0] == driver.CUresult.CUDA_ERROR_INVALID_DEVICE


def test_memory_is_the_cpus() -> None:
    _, one = driver.cuMemAlloc(64)
    _, other = runtime.cudaMalloc(64)
    assert int(one) % 256 == 0 == other % 256
    assert driver.cuMemsetD32(one, 0x01020304, 16) == (OK,)
    assert driver.cuMemcpyDtoDAsync(other, one, 64, driver.CUstream(0)) == (OK,)
    assert ctypes.string_at(other, 64) == b"\x04\x03\x02\x01" * 16
    runtime.cudaMemset(other, -1, 8)
    host = ctypes.create_string_buffer(10)
    runtime.cudaMemcpy(ctypes.addressof(host), other, 10, runtime.cudaMemcpyKind.cudaMemcpyDeviceToHost)
    assert host.raw == b"\xff" * 8 + b"\x04\x03"
    assert runtime.cudaFree(make_ptr(tt.Int32, other)._pointer) == (runtime.cudaError_t.cudaSuccess,)
    assert runtime.cudaFree(other) == (runtime.cudaError_t.cudaErrorInvalidValue,)
    assert driver.cuMemFree(one) == (OK,)


def test_events_are_moments() -> None:
    _, start = driver.cuEventCreate(0)
    _, end = runtime.cudaEventCreate()
    assert driver.cuEventElapsedTime(start, end)[0] != OK
    runtime.cudaEventRecord(start)
    driver.cuEventRecord(end)
    assert driver.cuEventElapsedTime(start, end)[1] >= 0
    assert len({int(driver.cuStreamCreate(0)[1]) for _ in range(4)}) == 4


def test_what_has_no_meaning_is_refused_when_it_is_called() -> None:
    with pytest.raises(CudaCallError, match="cuModuleLoadData"):
        driver.cuModuleLoadData(b"")
    with pytest.raises(CudaCallError, match="nvrtcCreateProgram"):
        nvrtc.nvrtcCreateProgram(b"", b"", 0, [], [])
    with pytest.raises(AttributeError):
        _ = runtime.something
    assert nvrtc.nvrtcVersion()[1:] == (13, 0)


def test_result_codes_become_exceptions() -> None:
    assert checkCudaErrors(driver.cuInit(0)) is None
    assert checkCudaErrors(runtime.cudaGetDeviceCount()) == 1
    assert len(checkCudaErrors(driver.cuMemGetInfo())) == 2
    with pytest.raises(DSLCudaRuntimeError, match="failed") as raised:
        checkCudaErrors(runtime.cudaSetDevice(5))
    assert raised.value.error_code == 101


def test_what_is_built_on_an_installed_package_is_found(tmp_path: Path) -> None:
    """Others take types of the real `cuda.bindings`, which need no driver; calls are the stand-ins'."""
    package = tmp_path / "cuda" / "bindings"
    package.mkdir(parents=True)
    for name in ("__init__", "runtime", "nvrtc"):
        (package / f"{name}.py").write_text("")
    (package / "driver.py").write_text("class CUoption:\n    ONE = 1\n\n\ndef cuNothing():\n    return 'real'\n")
    (tmp_path / "cuda" / "tile.py").write_text(
        "from cuda.bindings.driver import CUoption, cuInit\nONE = CUoption.ONE\n"
    )
    program = tmp_path / "program.py"
    program.write_text(
        "import cuda.tile, cuda.bindings.driver as driver\nprint(cuda.tile.ONE, cuda.tile.cuInit(0)[0].name)\n"
        "try:\n    driver.cuNothing()\nexcept Exception as error:\n    print(error.code)\n"
    )
    done = run("-m", "triptych", "run", str(program), PYTHONPATH=str(tmp_path))
    assert done.stdout.split() == ["1", "CUDA_SUCCESS", "TT0712"], done.stderr


def test_an_installed_core_that_needs_a_driver_has_a_stand_in(tmp_path: Path) -> None:
    """The installed `cuda.pathfinder` stays, which finds compilers: the stand-in is for who has none."""
    package = tmp_path / "cuda"
    (package / "bindings").mkdir(parents=True)
    for name in ("bindings/__init__", "bindings/runtime", "bindings/nvrtc", "bindings/driver"):
        (package / f"{name}.py").write_text("")
    (package / "core.py").write_text("raise RuntimeError('no driver')\n")
    (package / "pathfinder.py").write_text(
        "def load_nvidia_dynamic_lib(name):\n    return name\n\n\n"
        "def find_nvidia_binary_utility(name):\n    return name\n"
    )
    program = tmp_path / "program.py"
    program.write_text(
        "import cuda.core, cuda.pathfinder as paths\nfrom cuda.core.experimental import Device\n"
        "print(cuda.core.Device is Device, Device().compute_capability.major, paths.load_nvidia_dynamic_lib('nvrtc'))\n"
        "print(paths.load_nvidia_dynamic_lib('nvshmem_host'), paths.find_nvidia_binary_utility('nvcc'))\n"
    )
    one = run("-m", "triptych", "run", str(program), PYTHONPATH=str(tmp_path))
    assert one.stdout.split() == ["True", "10", "nvrtc", "nvshmem_host", "nvcc"], one.stderr
    two = run("-m", "triptych", "run", str(program), PYTHONPATH=str(tmp_path), TRIPTYCH_GPUS="2")
    assert two.stdout.startswith("True 10 nvrtc\nLoadedDL("), two.stderr
    assert two.stdout.endswith(" nvcc\n")
