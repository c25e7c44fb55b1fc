"""Exported functions in a C program: the same bits as in Python, codes and words for mistakes, no symbol of Python."""

from __future__ import annotations

import platform
import shutil
import subprocess
from pathlib import Path

import numpy as np
import pytest

import triptych as tt
from triptych import cute
from triptych.cute.runtime import make_fake_compact_tensor, make_fake_stream
from triptych.ir.llvm.object_file import undefined_symbols
from triptych.objectstage.exports import ExportError

PROGRAM = Path(__file__).parent / "exported_program.c"
needs_gcc = pytest.mark.skipif(shutil.which("gcc") is None, reason="gcc links the exported objects")
SYSTEM = {
    *("aligned_alloc", "calloc", "clock_gettime", "fwrite", "free", "getpid", "malloc", "memcpy", "memset", "stdout"),
    *("sched_getaffinity", "sched_yield", "snprintf", "_GLOBAL_OFFSET_TABLE_"),
}
"""What objects may import beside `pthread_*`."""


@tt.kernel
def scale_rows(x: cute.Tensor, y: cute.Tensor, factor: tt.Float32) -> None:
    row, _, _ = cute.arch.block_idx()
    tid, _, _ = cute.arch.thread_idx()
    for j in range(tid, x.shape[1], 32):
        y[row, j] = x[row, j] * x[row, j] * factor + x[row, j] / tt.Float32(row + 1)


@tt.jit
def scale(x: cute.Tensor, y: cute.Tensor, factor: tt.Float32, seed: tt.Uint64, stream: object) -> None:
    scale_rows(x, y, factor).launch(grid=(x.shape[0], 1, 1), block=(32, 1, 1), stream=stream)


@tt.jit
def quotient(a: tt.Int32, b: tt.Int32) -> tt.Int32:
    return a // b


@tt.kernel
def sum_blocks(values: cute.Tensor, totals: cute.Tensor, limit: tt.Int32) -> None:
    block, _, _ = cute.arch.block_idx()
    tid, _, _ = cute.arch.thread_idx()
    shared = cute.arch.alloc_smem(tt.Int32, 64)
    part = cute.make_tensor(shared, cute.make_layout(64))
    value = values[block * 64 + tid]
    assert value < limit, "a value is too large"
    part[tid] = value
    cute.arch.sync_threads()
    if tid == 0:
        total = tt.Int32(0)
        for i in range(64):
            total += part[i]
        totals[block] = total


@tt.jit
def sums(values: cute.Tensor, totals: cute.Tensor, limit: tt.Int32) -> None:
    sum_blocks(values, totals, limit).launch(grid=(totals.shape[0], 1, 1), block=(64, 1, 1))


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The files of three functions, and what the first gives in Python."""
    made = tmp_path_factory.mktemp("exported")
    rows, columns = cute.sym_int(), cute.sym_int(divisibility=4)
    matrix = make_fake_compact_tensor(tt.Float32, (rows, columns), stride_order=(1, 0))
    compiled = tt.compile(scale, matrix, matrix, 2.0, 1, make_fake_stream())
    compiled.export_to_c(file_path=made, file_name="scale", function_prefix="scale")
    tt.compile(quotient, 6, 3).export_to_c(made, "quotient")
    many, few = cute.sym_int(), cute.sym_int()
    numbers, totals = (make_fake_compact_tensor(tt.Int32, (n,)) for n in (many, few))
    tt.compile(sums, numbers, totals, 1).export_to_c(made, "sums")
    x = np.linspace(-3, 3, 300 * 400, dtype=np.float32).reshape(300, 400)
    y = np.empty_like(x)
    compiled(x, y, 1.5, 2**64 - 1, _Stream())
    x.tofile(made / "x.bin")
    y.tofile(made / "expected.bin")
    return made


class _Stream:
    def __cuda_stream__(self) -> tuple[int, int]:
        return 0, 0


OUTPUT = """\
load: 0
same: 1
alone: 1
four threads: 1
host pool: 1 4 shares
three callers: 1
after a fork: 7
shape: 1 argument 'y' has another shape[1]: 400, expected 396
divisibility: 1 argument 'x' has an unfit shape[1]: 398, expected a multiple of 4 from 0 to 2147483647
stride: 1 argument 'x' has another stride[0]: 401, expected 400
alignment: 1
memory: 1 argument 'x' has no memory: a null address
structure: 1 scale: an argument is a null pointer where a structure is needed
version: 1 1
other version: 3 quotient: the object has version 1 of the interface, its caller another one
other header: 3 quotient: header and object file are not of the same export
not loaded: 4 quotient: the module is not loaded: call quotient_Kernel_Module_Load first
loaded: 0
quotient: 0 -4
by zero: 2 DivisionByZeroError: test_exporting.py:LINE: integer division or modulo by zero
unloaded: 0
unloaded again: 4
sums: 0 2016 6112 10208 14304
in a kernel: 2 AssertionFailedError: test_exporting.py:LINE: a value is too large (block (3, 0, 0), thread (8, 0, 0))
unload: 0
unloaded: 4
no module: 4 scale: the module is not loaded: call scale_Kernel_Module_Load first
fresh module: 4
nowhere: 1 4
2000 loads: 1
two keys: 2 scale: the process has no keys of threads left (PTHREAD_KEYS_MAX)
three keys: 0
same: 1
"""


@needs_gcc
def test_a_c_program_gets_the_same_bits_and_words_for_its_mistakes(folder: Path) -> None:
    objects = ["scale.o", "quotient.o", "sums.o"]
    build = ["gcc", "-std=gnu99", "-Wall", "-Wextra", "-Werror", "-I.", str(PROGRAM), *objects]
    subprocess.run([*build, "-o", "program", "-pthread", "-lm"], cwd=folder, check=True)
    ran = subprocess.run(["./program"], cwd=folder, capture_output=True, text=True, timeout=60, check=True)
    lines = "".join(_without_line(line) for line in ran.stdout.splitlines(keepends=True))
    assert lines == OUTPUT


def _without_line(text: str) -> str:
    before, name, after = text.partition("test_exporting.py:")
    return f"{before}{name}LINE{after.lstrip('0123456789')}" if name else text


@needs_gcc
def test_objects_link_into_shared_libraries_and_headers_are_cpp(folder: Path) -> None:
    link = ["gcc", "-shared", "-Wl,-z,defs", "-Wl,-z,text", "-Wl,--fatal-warnings", "-o", "all.so"]
    subprocess.run([*link, "scale.o", "quotient.o", "sums.o", "-lm"], cwd=folder, check=True)
    if shutil.which("g++"):
        check = ["g++", "-std=c++17", "-Wall", "-Wextra", "-Werror", "-fsyntax-only", "-x", "c++", "-"]
        text = '#include "scale.h"\n#include "quotient.h"\n#include "sums.h"\n'
        subprocess.run([*check, "-I."], cwd=folder, check=True, input=text, text=True)


def test_objects_import_only_the_c_library_and_threads(folder: Path) -> None:
    for name in ("scale", "quotient", "sums"):
        imported = set(undefined_symbols((folder / f"{name}.o").read_bytes()))
        assert {symbol for symbol in imported if not symbol.startswith("pthread_")} <= SYSTEM


def test_what_cannot_be_exported_says_so(tmp_path: Path) -> None:
    @tt.jit
    def both(x: tt.Int32) -> tuple[tt.Int32, tt.Int32]:
        return x + 1, x - 1

    compiled = tt.compile(both, 1)
    with pytest.raises(ExportError, match="gives several results"):
        compiled.export_to_c(tmp_path, "both")
    single = tt.compile(quotient, 1, 2)
    with pytest.raises(ExportError, match="needs a name that C takes"):
        single.export_to_c(tmp_path, "my-kernel")
    with pytest.raises(ExportError, match="has no name"):
        single.export_to_c(tmp_path)
    with pytest.raises(ExportError, match="exported to an object file"):
        single.export_to_c(tmp_path, function_name="quotient")


@pytest.mark.skipif(platform.machine() != "x86_64" or shutil.which("objdump") is None, reason="it reads x86-64 code")
def test_code_for_an_older_processor(tmp_path: Path) -> None:
    wide = make_fake_compact_tensor(tt.Float32, (cute.sym_int(), cute.sym_int()), stride_order=(1, 0))
    compiled = tt.compile(scale, wide, wide, 2.5, 0, make_fake_stream())
    registers = {}
    for cpu in ("x86-64", "x86-64-v3", "x86-64-v4"):
        compiled.export_to_c(tmp_path / cpu, "scale", cpu=cpu)
        file = str(tmp_path / cpu / "scale.o")
        code = subprocess.run(["objdump", "-d", file], capture_output=True, text=True, check=True).stdout
        registers[cpu] = {name for name in ("xmm", "ymm", "k1") if f"%{name}" in code}
        assert "%zmm" not in code or cpu == "x86-64-v4"
    assert registers["x86-64"] == {"xmm"}
    assert registers["x86-64-v3"] == {"xmm", "ymm"}
    with pytest.raises(ExportError, match=r"(?s)cpu='haswel'.*x86-64-v2"):
        compiled.export_to_c(tmp_path, "scale", cpu="haswel")
