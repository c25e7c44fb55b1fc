"""Pass `place-divisor-checks`: a quotient by zero stops a kernel where it is used, and is told at the division."""

from __future__ import annotations

import linecache
from typing import Any

import numpy as np
import pytest

from tests.support.ptx.unified import numpy_gpu
from tests.unit.kernel_ir.kernels import kernel
from triptych import cute
from triptych.diagnostics.runtime_errors import DivisionByZeroError
from triptych.ir.modules import operations_named
from triptych.kernel_ir.dialects.kernel_operations import enclosing, walk
from triptych.kernel_ir.transforms.divisor_checks import place_divisor_checks

HEAD = """
import triptych as tt
from triptych import cute

@tt.kernel
def k(out: cute.Tensor, a: tt.Int32, b: tt.Int32):
    t = cute.arch.thread_idx()[0]
"""
TAIL = """

@tt.jit
def launch(out: cute.Tensor, a: tt.Int32, b: tt.Int32):
    k(out, a, b).launch(grid=(1, 1, 1), block=(8, 1, 1))
"""
UNUSED = {
    "dead": "q = a // b\nout[t] = a",
    "overwritten": "q = a % b\nq = a + 1\nout[t] = q",
    "by a conditional": "q = a % b\nout[t] = q if b != 0 else a",
    "by a branch": "q = a % b\nif b == 0:\n    q = a\nout[t] = q",
    "by the other branch": "q = a\nif b != 0:\n    q = a // b\nout[t] = q",
    "by a branch of lanes": "q = a // (b + (t // 4))\nif t < 4:\n    q = a\nout[t] = q",
    "by two branches": "q = a % b\nr = q + 1\nif a > 100:\n    r = r * 2\nif b == 0:\n    r = a\nout[t] = r",
    "by nested branches": "q = a % b\nif a > 3:\n    if b == 0:\n        q = a\nout[t] = q",
    "one of two": "q, r = a // b, a % b\nif b == 0:\n    q, r = a, a + 2\nout[t] = q + r",
    "in a branch only": "q = a // b\nif b != 0:\n    out[t] = q\nelse:\n    out[t] = a",
    "in a loop that does not run": "q = a // b\nout[t] = a\nfor i in range(b):\n    out[t] = q",
    "in branches only": "q = a // b\nfor i in range(4):\n    if b > i:\n        out[t] = q\nout[t] = a",
    "by min": "q = a // b\nr = a\nif b != 0:\n    r = min(q, a)\nout[t] = r",
    "of a divisor": "q = a % b\nr = a\nif b != 0:\n    r = a // (q + 1)\nout[t] = r",
    "computed in a branch": "q = a\nif a > 3:\n    q = a % b\nif b == 0:\n    q = a\nout[t] = q",
    "in a loop": "s = a\nfor i in range(3):\n    q = a // b\n    if b == 0:\n        q = i\n    s += q\nout[t] = s",
    "carried by a loop": "q = a\nfor i in range(3):\n    q = (q + i) % b\nout[t] = a",
    "carried by a loop with a condition": "q, n = a, 0\nwhile n < 3:\n    q = q // b\n    n += 1\nout[t] = a",
    "carried by a loop in a loop": (
        "q = a\nfor i in range(2):\n    for j in range(2):\n        q = (q + j) % b\n    q += i\nout[t] = a"
    ),
    "in registers": "f = cute.make_rmem_tensor((1,), tt.Int32)\nf[0] = a // b\nout[t] = a",
    "by a loop over a constant": "q = a // b\nout[t] = a\nfor i in range(4):\n    if b != 0:\n        out[t] = q",
    "of a coordinate": (
        "layout = cute.make_layout((b, 4), stride=(1, 8))\nx, y = layout.get_flat_coord(a)\n"
        "if b == 0:\n    x, y = a, a\nout[t] = x + y"
    ),
}
"""What a quotient by zero is left unused by; the result then."""
USED = {
    "stored": "q = a // b\nout[t] = q",
    "carried and stored": "q = a\nfor i in range(3):\n    q = (q + i) % b\nout[t] = q",
    "carried into an index": "q, n = a, 0\nwhile n < 3:\n    q = q // b\n    out[q * 0] = t\n    n += 1\nout[t] = a",
    "in arithmetic": "q = a % b\nout[t] = q * 2 + 1",
    "as an index": "q = a % b\nout[q] = t",
    "as a condition": "q = a % b\nif q == 0:\n    out[t] = 1",
    "of a conditional": "q = a % b\nout[t] = 1 if q > 3 else 2",
    "of a while": "q = a // b\ni = 0\nwhile i < q:\n    i += 1\nout[t] = i",
    "as a bound": "q = a // b\ns = 0\nfor i in range(q):\n    s += i\nout[t] = s",
    "carried by a loop": "q = a // b\nfor i in range(3):\n    q = q + 1\nout[t] = q",
    "in a loop": "q = a // b\nfor i in range(3):\n    out[t] = q + i",
    "behind an idle loop": "q = a // b\nfor i in range(b):\n    out[t] = q\nout[t] = q",
    "in a branch": "q = a // b\nif a > 3:\n    out[t] = q",
    "in branches of a loop": "q = a // b\nout[t] = a\nfor i in range(4):\n    if i > t:\n        out[t] = q",
    "behind one in a branch": "q = a // b\nif a > 9:\n    out[t] = q\nr = a % b\nout[t] = r",
    "behind a branch": "q = a // b\nif a < 3:\n    q = 7\nout[t] = q",
    "one of two behind a branch": "q, r = a // b, a // (b + 1)\nif a < 3:\n    q, r = 7, 8\nout[t] = q + r",
    "of a quotient behind a branch": "q = 8 // (a // b)\nif a < 3:\n    q = 7\nout[t] = q",
    "behind two branches": "q = a // b\nif a < 3:\n    q = 7\nr = q + 1\nif a < 2:\n    r = 3\nout[t] = r",
    "chosen": "q = a % b\nout[t] = q if a > 3 else a",
    "in both sides": "q = a // b\nif a > 3:\n    r = q + 1\nelse:\n    r = q\nout[t] = r",
    "in registers": "f = cute.make_rmem_tensor((2,), tt.Int32)\nf[0] = a // b\nout[t] = f[0]",
    "printed": "q = a // b\ncute.printf('{}', q)",
    "shuffled": "q = a // b\nout[t] = cute.arch.shuffle_sync(q, 0)",
    "in an atomic": "q = a // b\ncute.arch.atomic_add(out.iterator, q)",
    "of some lanes": "q = a // (b + (t // 4))\nif t > 6:\n    q = a\nout[t] = q",
    "as a coordinate": (
        "layout = cute.make_layout((b, 4), stride=(1, 8))\nx, y = layout.get_flat_coord(a)\nout[t] = x + y"
    ),
}
"""What uses it."""


def _launch(name: str, body: str) -> Any:
    file = f"<divisor {name}>"
    source = HEAD + "".join(f"    {line}\n" for line in body.splitlines()) + TAIL
    linecache.cache[file] = (len(source), None, source.splitlines(keepends=True), file)
    namespace: dict[str, Any] = {"__name__": "divisors"}
    exec(compile(source, file, "exec", dont_inherit=True), namespace)
    return namespace["launch"]


def _expected(body: str, a: int, b: int) -> list[int]:
    """What Python computes for the same body; a quotient by zero is a number there that nobody may use."""
    out = [-1] * 8
    for t in range(8):
        namespace: dict[str, Any] = {"out": out, "t": t, "a": _Lenient(a), "b": b, "range": range, "min": min}
        exec(body, namespace)
    return [int(x) for x in out]


class _Lenient(int):
    def __floordiv__(self, other: int) -> _Lenient:
        return _Lenient(12345 if other == 0 else int(self) // other)

    def __mod__(self, other: int) -> _Lenient:
        return _Lenient(12345 if other == 0 else int(self) % other)

    def __add__(self, other: int) -> _Lenient:
        return _Lenient(int(self) + other)


@pytest.mark.parametrize("name", UNUSED)
def test_what_is_not_used_does_not_stop_a_kernel(name: str) -> None:
    launch = _launch(name, UNUSED[name])
    for b in (0, 3):
        out = np.full(8, -1, np.int32)
        launch(cute.runtime.from_dlpack(out), 7, b)
        if "cute" not in UNUSED[name]:
            assert out.tolist() == _expected(UNUSED[name], 7, b)


@pytest.mark.parametrize("name", USED)
def test_what_is_used_is_reported_at_the_division(name: str) -> None:
    launch = _launch(name, USED[name])
    with pytest.raises(DivisionByZeroError) as raised:
        launch(cute.runtime.from_dlpack(np.full(8, -1, np.int32)), 7, 0)
    line = raised.value.span.line if raised.value.span is not None else 0
    lines = (HEAD + USED[name]).splitlines()
    assert any(word in lines[line - 1] for word in ("//", "%", "get_flat_coord")), lines[line - 1]
    launch(cute.runtime.from_dlpack(np.full(8, -1, np.int32)), 7, 3)


@pytest.mark.parametrize("name", ["in a branch", "in both sides", "of some lanes", "in branches of a loop"])
def test_a_gpu_reports_it_too(name: str) -> None:
    launch = _launch(f"{name}, for a GPU", USED[name])
    with numpy_gpu("sm_90"), pytest.raises(Exception, match="division or modulo by zero"):
        launch(np.full(8, -1, np.int32), 7, 0)


@pytest.mark.parametrize(
    "name", ["by a branch", "by a conditional", "in a loop that does not run", "in branches only", "in a branch only"]
)
def test_a_gpu_is_not_stopped_either(name: str) -> None:
    launch = _launch(f"{name}, for a GPU", UNUSED[name])
    with numpy_gpu("sm_90"):
        out = np.full(8, -1, np.int32)
        launch(out, 7, 0)
    assert out.tolist() == _expected(UNUSED[name], 7, 0)


TEST, STORE = "%c = arith.cmpi eq, %t, %n : i32", "llvm.store {}, %p : i32, !llvm.ptr<1>"


@pytest.mark.parametrize(
    ("use", "kept"),
    [
        ("llvm.store %q, %p : i32, !llvm.ptr<1>", True),
        ("%s = arith.addi %q, %t : i32 llvm.store %s, %p : i32, !llvm.ptr<1>", True),
        ("%c = arith.cmpi eq, %t, %n : i32 scf.if %c { llvm.store %q, %p : i32, !llvm.ptr<1> }", False),
        (
            "%c = arith.cmpi eq, %t, %n : i32 %s = arith.select %c, %q, %t : i32 llvm.store %s, %p : i32, !llvm.ptr<1>",
            False,
        ),
    ],
)
def test_what_is_used_wherever_it_is_computed_is_checked_there(use: str, kept: bool) -> None:
    _, module = kernel(f'%d = "simt.divisor"(%n) {{msg = ""}} : (i32) -> i32 %q = arith.divui %t, %d : i32 {use}')
    place_divisor_checks(module)
    names = [operation.name for operation in walk(module.operation)]
    division = names.index("arith.divui")
    assert "simt.divisor" not in names
    assert ("cf.assert" in names[:division]) is kept
    assert names.count("arith.select") == (0 if kept else 1 if "scf.if" in use else 3)


BRANCHES = """
    %d = "simt.divisor"(%n) {msg = ""} : (i32) -> i32
    %q = arith.divui %t, %d : i32
    %c = arith.cmpi eq, %t, %c1 : i32
    scf.if %c { llvm.store %q, %p : i32, !llvm.ptr<1> }
    scf.if %c { llvm.store %q, %p : i32, !llvm.ptr<1> }
"""
WAITING = """
    scf.while : () -> () {
      %seen = llvm.load %p : !llvm.ptr<1> -> i32
      %again = arith.cmpi ne, %seen, %c0 : i32
      scf.condition(%again)
    } do { scf.yield }
"""


@pytest.mark.parametrize(("more", "late"), [("", True), (WAITING, False)])
def test_uses_in_branches_share_a_check_if_nothing_waits(more: str, late: bool) -> None:
    """On a GPU, where a stopped kernel gives nothing back. A loop that waits for what was used might never end."""
    _, module = kernel(BRANCHES + more)
    place_divisor_checks(module, deferred=True)
    found = operations_named(module, "cf.assert")
    assert [enclosing(check).name for check in found] == (["gpu.func"] if late else ["scf.if", "scf.if"])
    names = [operation.name for operation in walk(module.operation)]
    assert names.index("cf.assert") > names.index("scf.if")


def test_a_cpu_checks_before_it_stores() -> None:
    _, module = kernel(BRANCHES)
    place_divisor_checks(module)
    assert [enclosing(check).name for check in operations_named(module, "cf.assert")] == ["scf.if", "scf.if"]
