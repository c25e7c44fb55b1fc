"""Functions for a GPU as objects for C: the cubin is in them, and they call the driver, here one that only talks."""

from __future__ import annotations

import ctypes.util
import os
import shutil
import subprocess
from pathlib import Path

import pytest

import triptych as tt
from tests.unit.targets.nvptx.tools import needs_assembler
from triptych import cute
from triptych.cute.runtime import make_fake_compact_tensor, make_fake_stream
from triptych.ir.llvm.object_file import undefined_symbols

pytestmark = needs_assembler
HERE = Path(__file__).parent
needs_gcc = pytest.mark.skipif(shutil.which("gcc") is None, reason="gcc links the exported objects")


@tt.kernel
def add_kernel(x: cute.Tensor, amount: tt.Float32) -> None:
    thread, _, _ = cute.arch.thread_idx()
    block, _, _ = cute.arch.block_idx()
    x[block * 32 + thread] = x[block * 32 + thread] + amount


@tt.jit
def add(x: cute.Tensor, amount: tt.Float32, stream: object) -> None:
    add_kernel(x, amount).launch(grid=(x.shape[0] // 32, 1, 1), block=(32, 1, 1), stream=stream)


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    made = tmp_path_factory.mktemp("exported")
    vector = make_fake_compact_tensor(tt.Float32, (cute.sym_int(divisibility=32),))
    compiled = tt.compile(add, vector, 1.0, make_fake_stream(), target="nvptx:sm_80")
    compiled.export_to_c(made, "add")
    (made / "cubin").write_bytes(compiled.__cubin__)
    return made


@tt.jit
def add_in_order(x: cute.Tensor, amount: tt.Float32) -> None:
    add_kernel(x, amount).launch(grid=(x.shape[0] // 32, 1, 1), block=(32, 1, 1))


@needs_gcc
def test_tvm_ffi_launches_in_the_stream_of_the_framework(tmp_path: Path) -> None:
    vector = make_fake_compact_tensor(tt.Float32, (cute.sym_int(divisibility=32),))
    compiled = tt.compile(add_in_order, vector, 1.0, target="nvptx:sm_80")
    compiled.export_to_c(tmp_path / "add.o", function_name="add")
    imported = undefined_symbols((tmp_path / "add.o").read_bytes())
    assert {name for name in imported if name.startswith(("cu", "Py", "TVM", "triptych"))} == {
        "TVMFFIEnvGetStream",
        "TVMFFIErrorSetRaisedFromCStr",
    }
    build = ["gcc", "-Wall", "-Wextra", "-Werror", str(HERE / "exported_tvm_ffi_launch.c"), "add.o", "-o", "program"]
    subprocess.run([*build, "-pthread", "-lm", "-ldl"], cwd=tmp_path, check=True)
    driver = ["gcc", "-shared", "-fPIC", "-o", "libcuda.so.1", str(HERE / "exported_driver.c")]
    subprocess.run(driver, cwd=tmp_path, check=True)
    environment = {**os.environ, "LD_LIBRARY_PATH": str(tmp_path)}
    ran = subprocess.run(["./program"], cwd=tmp_path, env=environment, capture_output=True, text=True, check=True)
    lines = ran.stdout.splitlines()
    assert lines[0].startswith("kernel add_kernel")  # loaded once, by the first call
    assert lines[1:] == [
        "stream of device 2 number 3",
        "launch 2 x 1 x 1 of 32, stream 0x90, first argument 0x1000",
        "call: 0",
        "stream of device 2 number 3",
        "launch 13 x 1 x 1 of 32, stream 0x90, first argument 0x1000",
        "RuntimeError: add: a kernel could not be launched (CUDA error 719)",
        "failing call: -1",
        "ValueError: add takes 2 arguments, not 1",
        "one argument: -1",
        "stream of device 2 number 3",
        "ValueError: argument 'x' is not in memory that the target reads (DLPack's device 1)",
        "on the CPU: -1",
        "stream of device 2 number 0",
        "ValueError: argument 'x' must be a tensor of Float32",
        "no tensor: -1",
    ]
    if ctypes.util.find_library("cuda") is None:
        ran = subprocess.run(["./program"], cwd=tmp_path, capture_output=True, text=True, check=True)
        missing = "RuntimeError: add: there is no NVIDIA driver (libcuda.so.1) on this machine"
        assert ran.stdout.splitlines()[:2] == [missing, "call: -1"]


def test_the_object_holds_the_cubin_and_imports_no_driver(folder: Path) -> None:
    data = (folder / "add.o").read_bytes()
    assert (folder / "cubin").read_bytes() in data
    imported = undefined_symbols(data)
    assert {"dlopen", "dlsym"} <= set(imported)
    assert not [name for name in imported if name.startswith(("cu", "Py", "TVM", "triptych"))]


@needs_gcc
def test_a_c_program_launches_through_the_driver(folder: Path) -> None:
    build = ["gcc", "-Wall", "-Wextra", "-Werror", "-I.", str(HERE / "exported_launch.c"), "add.o"]
    subprocess.run([*build, "-o", "program", "-pthread", "-lm", "-ldl"], cwd=folder, check=True)
    driver = ["gcc", "-shared", "-fPIC", "-o", "libcuda.so.1", str(HERE / "exported_driver.c")]
    subprocess.run(driver, cwd=folder, check=True)
    environment = {**os.environ, "LD_LIBRARY_PATH": str(folder)}
    ran = subprocess.run(["./program"], cwd=folder, env=environment, capture_output=True, text=True, check=True)
    lines = ran.stdout.splitlines()
    assert lines[0].startswith("kernel add_kernel")
    assert lines[1:] == [
        "launch 2 x 1 x 1 of 32, stream 0x70, first argument 0x1000",
        "call: 0",
        "launch 13 x 1 x 1 of 32, stream 0x70, first argument 0x1000",
        "failing call: 2 add: a kernel could not be launched (CUDA error 719)",
        "no memory: 1 argument 'x' has no memory: a null address",
        "unloaded",
        "unload: 0",
    ]
    if ctypes.util.find_library("cuda") is None:
        ran = subprocess.run(["./program"], cwd=folder, capture_output=True, text=True, check=True)
        assert ran.stdout == "load: 5 add: there is no NVIDIA driver (libcuda.so.1) on this machine\n"
