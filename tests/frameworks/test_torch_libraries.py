"""Shared libraries of operators: they run where there is no Triptych, and `load` completes them where there is."""

from __future__ import annotations

import ctypes
import re
import shutil
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

import triptych as tt
from triptych import cute
from triptych.diagnostics.tensor_errors import OperatorLibraryError
from triptych.objectstage.exports import ExportError

torch: Any = pytest.importorskip("torch")
ours: Any = pytest.importorskip("triptych.torch")
needs_compiler = pytest.mark.skipif(shutil.which("cc") is None, reason="libraries are linked by a C compiler")
FUNCTIONS = re.compile(r"aoti_torch_\w+|torch_\w+|pthread_\w+|_ITM_\w+|__\w+")
LIBC = {
    *("aligned_alloc", "calloc", "clock_gettime", "free", "getpid", "malloc", "memcpy", "memmove", "memset"),
    *("sched_getaffinity", "sched_yield", "snprintf", "strlen", "vsnprintf", "write"),
}


@tt.kernel
def mul_kernel(a: cute.Tensor, b: cute.Tensor, c: cute.Tensor) -> None:
    row, first = cute.arch.block_idx()[0], cute.arch.thread_idx()[0]
    for j in range(first, a.shape[1], 32):
        c[row, j] = a[row, j] * b[row, j]


@tt.jit
def mul(a: cute.Tensor, b: cute.Tensor, c: cute.Tensor) -> None:
    mul_kernel(a, b, c).launch(grid=a.shape[0], block=32)


@tt.jit
def mul_backward(a: cute.Tensor, b: cute.Tensor, grad_c: cute.Tensor, grad_a: cute.Tensor, grad_b: cute.Tensor) -> None:
    mul_kernel(grad_c, b, grad_a).launch(grid=a.shape[0], block=32)
    mul_kernel(grad_c, a, grad_b).launch(grid=a.shape[0], block=32)


@tt.jit
def scale(a: cute.Tensor, by: tt.Int32, twice: tt.Constexpr[bool], b: cute.Tensor) -> None:
    for i in range(a.shape[0]):
        b[i] = 100 // by * a[i] * (2 if twice else 1)


@pytest.fixture(scope="module")
def library(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Three operators, one of which has a gradient, and one numbers and a constant."""
    path = tmp_path_factory.mktemp("library") / "libours.so"
    op = ours.op(mul, "ours_exported::mul", out={"c": "a"}, backward=mul_backward)
    op_out = ours.op(mul, "ours_exported::mul_out", mutates=("c",))
    scaled = ours.op(scale, "ours_exported::scale", out={"b": "a"})
    for kind in (torch.float32, torch.float64):
        x = torch.empty(2, 3, dtype=kind, device="meta")
        op.compile(x, x)
        op_out.compile(x, x, x)
        op.backward.function.compile(x, x, x)
    for twice in (True, False):
        scaled(torch.ones(3), 1, twice)
    ours.export(path, [op, op_out, scaled], cpu="x86-64-v3")
    return path


def run(program: str, *arguments: object) -> str:
    ran = subprocess.run([sys.executable, "-c", program, *map(str, arguments)], capture_output=True, text=True)
    assert ran.returncode == 0, ran.stderr
    return ran.stdout


WITHOUT_TRIPTYCH = """
import sys
sys.modules["triptych"] = None
import torch
torch.ops.load_library(sys.argv[1])
ops = torch.ops.ours_exported
a, b = torch.randn(3, 40), torch.randn(3, 40)
assert ops.mul(a, b).equal(a * b)
assert ops.mul(a.double(), b.double()).equal(a.double() * b.double())
turned = torch.randn(40, 3).t()
c = torch.zeros(3, 40)
version = c._version
ops.mul_out(a, b, c)
assert c.equal(a * b) and c._version == version + 1
with torch.no_grad():
    ops.mul_out(a, b, c)
x = torch.ones(3)
assert ops.scale(x, 5, True).equal(x * 40) and ops.scale(x, 5, False).equal(x * 20)
for arguments in ((a.int(), b.int()), (a[0], b[0]), (turned, turned)):
    try:
        ops.mul(*arguments)
    except RuntimeError as error:
        assert str(error).startswith("[TT0641] ours_exported::mul"), error
        assert "Float32" in str(error) and "Float64" in str(error)
    else:
        raise AssertionError("it has no code for these")
try:
    ops.scale(x, 0, True)
except RuntimeError as error:
    assert "test_torch_libraries.py:" in str(error) and "modulo by zero" in str(error), error
else:
    raise AssertionError("0")
import threading
def work():
    for _ in range(200):
        assert ops.mul(a, b).equal(a * b)
threads = [threading.Thread(target=work) for _ in range(8)]
[t.start() for t in threads]; [t.join() for t in threads]
print("right")
"""


@needs_compiler
def test_in_a_process_without_triptych(library: Path) -> None:
    assert run(WITHOUT_TRIPTYCH, library).strip() == "right"


WITH_TRIPTYCH = """
import sys
import torch
import triptych.torch
assert triptych.torch.load(sys.argv[1]) == tuple(
    "ours_exported::" + name for name in ("mul", "mul_backward", "mul_out", "scale")
)
assert len(triptych.torch.load(sys.argv[1])) == 4, "a second time changes nothing"
ops = torch.ops.ours_exported
a, b = (torch.randn(3, 4, dtype=torch.float64, requires_grad=True) for _ in range(2))
torch.autograd.gradcheck(ops.mul, (a, b))
for op, arguments in ((ops.mul, (a, b)), (ops.mul_out, (a.detach(), b.detach(), torch.zeros_like(a)))):
    assert set(torch.library.opcheck(op.default, arguments).values()) == {"SUCCESS"}
found = torch.compile(lambda a, b: ops.mul(a, b) * 2, fullgraph=True, backend="aot_eager")(a, b)
assert found.equal(a * b * 2)
try:
    ops.scale(torch.ones(3, requires_grad=True), 5, True).sum().backward()
except NotImplementedError as error:
    assert "TT0655" in str(error)
else:
    raise AssertionError("it has no backward function")
print("right")
"""


@needs_compiler
def test_fake_kernels_and_gradients_after_load(library: Path) -> None:
    assert run(WITH_TRIPTYCH, library).strip() == "right"


@needs_compiler
def test_it_needs_libtorch_and_the_c_library_only(library: Path) -> None:
    undefined = subprocess.run(
        ["nm", "-D", "--undefined-only", str(library)], capture_output=True, text=True, check=True
    )
    names = {line.split()[-1].partition("@")[0] for line in undefined.stdout.splitlines()}
    assert {name for name in names if not FUNCTIONS.fullmatch(name)} <= LIBC
    needed = subprocess.run(["readelf", "-d", str(library)], capture_output=True, text=True, check=True).stdout
    assert "libtorch_cpu.so" in needed


PROGRAM = r"""
#include <stdint.h>
#include <stdio.h>
#ifdef __cplusplus
extern "C" {
#endif
int32_t aoti_torch_empty_strided(int64_t, const int64_t*, const int64_t*, int32_t, int32_t, int32_t, void**);
int32_t aoti_torch_get_data_ptr(void*, void**);
int32_t aoti_torch_dtype_float32(void);
int32_t aoti_torch_call_dispatcher(const char*, const char*, uint64_t*);
#ifdef __cplusplus
}
#endif
int main(void) {
  int64_t sizes[2] = {3, 40}, strides[2] = {40, 1};
  void *tensors[2], *result;
  float *data[2], *found;
  for (int i = 0; i < 2; i++) {
    aoti_torch_empty_strided(2, sizes, strides, aoti_torch_dtype_float32(), 0, -1, &tensors[i]);
    aoti_torch_get_data_ptr(tensors[i], (void**)&data[i]);
    for (int j = 0; j < 120; j++) data[i][j] = (float)(j + i);
  }
  uint64_t stack[2] = {(uint64_t)tensors[0], (uint64_t)tensors[1]};
  if (aoti_torch_call_dispatcher("ours_exported::mul", "", stack)) return 1;
  result = (void*)stack[0];
  aoti_torch_get_data_ptr(result, (void**)&found);
  for (int j = 0; j < 120; j++) if (found[j] != (float)j * (float)(j + 1)) return 2;
  puts("right");
  return 0;
}
"""


@needs_compiler
@pytest.mark.parametrize("language", ["c", "c++"])
def test_in_a_program_of_c(library: Path, tmp_path: Path, language: str) -> None:
    if language == "c++" and shutil.which("c++") is None:
        pytest.skip("there is no C++ compiler")
    source, program = tmp_path / "program.c", tmp_path / "program"
    source.write_text(PROGRAM)
    torch_libraries = Path(torch.__file__).parent / "lib"
    standard = "-std=c11" if language == "c" else "-std=c++17"
    command = ["cc" if language == "c" else "c++", "-x", language, standard, str(source), "-x", "none"]
    linked = [
        "-Wl,--no-as-needed",
        str(library),
        f"-L{torch_libraries}",
        "-ltorch_cpu",
        "-lc10",
        f"-Wl,-rpath,{torch_libraries}",
    ]
    subprocess.run([*command, *linked, f"-Wl,-rpath,{library.parent}", "-o", str(program)], check=True)
    assert subprocess.run([str(program)], capture_output=True, text=True, check=True).stdout.strip() == "right"


LOADED_OFTEN = """
import ctypes, resource, sys
import torch
from torch._C import _dispatch_has_kernel
close = ctypes.CDLL(None).dlclose
close.argtypes = (ctypes.c_void_p,)
a = torch.randn(3, 4)
def once():
    handle = ctypes.CDLL(sys.argv[1])
    assert _dispatch_has_kernel("ours_exported::mul")
    close(handle._handle)
for _ in range(20):
    once()
before = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
for _ in range(1000):
    once()
grown = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss - before
assert grown < 4000, grown
print("right")
"""


@needs_compiler
def test_a_thousand_loads_leave_nothing(library: Path) -> None:
    assert run(LOADED_OFTEN, library).strip() == "right"


PACKAGED = """
import sys
import torch
import triptych.torch
triptych.torch.load(sys.argv[1])
rows = torch.export.Dim("rows", min=2, max=64)
class Module(torch.nn.Module):
    def forward(self, a, b):
        return torch.ops.ours_exported.mul(a + 1, b) * 2
exported = torch.export.export(
    Module(), (torch.randn(4, 8), torch.randn(4, 8)), dynamic_shapes={"a": {0: rows}, "b": {0: rows}}
)
torch._inductor.aoti_compile_and_package(exported, package_path=sys.argv[2])
"""
SERVED = """
import sys
sys.modules["triptych"] = None
import torch
torch.ops.load_library(sys.argv[1])
program = torch._inductor.aoti_load_package(sys.argv[2])
for rows in (4, 11):
    a, b = torch.randn(rows, 8), torch.randn(rows, 8)
    torch.testing.assert_close(program(a, b), (a + 1) * b * 2)
print("right")
"""


@needs_compiler
@pytest.mark.slow
def test_in_a_package_of_aotinductor(library: Path, tmp_path: Path) -> None:
    run(PACKAGED, library, tmp_path / "program.pt2")
    assert run(SERVED, library, tmp_path / "program.pt2").strip() == "right"


# refusals -------------------------------------------------------------------------------------------------------------
def test_an_operator_that_was_never_compiled() -> None:
    op = ours.op(mul, "ours_exported::never", out={"c": "a"})
    with pytest.raises(OperatorLibraryError, match=r"(?s)never.*op\.compile"):
        ours.export("never.so", [op])


def test_an_operator_that_was_never_called() -> None:
    """It is not known yet what its function writes."""
    op = ours.op(mul, "ours_exported::undefined")
    with pytest.raises(OperatorLibraryError, match=r"(?s)undefined has not been compiled.*op\.compile"):
        ours.export("undefined.so", [op])


def test_results_made_by_python() -> None:
    op = ours.op(mul, "ours_exported::made", out={"c": lambda a: torch.empty_like(a)})
    op(torch.ones(2, 3), torch.ones(2, 3))
    with pytest.raises(OperatorLibraryError, match="cannot be in a library"):
        ours.export("made.so", [op])


def test_no_operators_and_no_such_processor(tmp_path: Path) -> None:
    with pytest.raises(OperatorLibraryError, match="at least one"):
        ours.export(tmp_path / "none.so", [])
    op = ours.op(mul, "ours_exported::processor", out={"c": "a"})
    op(torch.ones(2, 3), torch.ones(2, 3))
    with pytest.raises(ExportError, match=r"(?s)cpu='x86-64-v9'.*x86-64-v3"):
        ours.export(tmp_path / "new.so", [op], cpu="x86-64-v9")


def test_no_compiler(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    op = ours.op(mul, "ours_exported::unlinked", out={"c": "a"})
    op(torch.ones(2, 3), torch.ones(2, 3))
    monkeypatch.setenv("PATH", str(tmp_path))
    monkeypatch.delenv("CC", raising=False)
    with pytest.raises(OperatorLibraryError, match=r"(?s)C compiler.*ziglang"):
        ours.export(tmp_path / "unlinked.so", [op])


@needs_compiler
def test_what_is_no_library_of_ours(tmp_path: Path) -> None:
    path = tmp_path / "other.so"
    subprocess.run(["cc", "-shared", "-o", str(path), "-x", "c", "/dev/null"], check=True)
    with pytest.raises(OperatorLibraryError, match="no library of operators"):
        ours.load(path)
    assert isinstance(ctypes.CDLL(str(path)), ctypes.CDLL)
