"""Operators whose warm calls run without Python: when they do, when they may not, and what they tell of failures."""

from __future__ import annotations

import gc
import subprocess
import sys
import threading
from collections.abc import Iterator
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest

import triptych as tt
from triptych import cute
from triptych.frameworks.boxed_kernels import RUN
from triptych.frameworks.guard_words import GuardWords
from triptych.support.config import override
from triptych.support.errors import TriptychError

torch: Any = pytest.importorskip("torch")
ours: Any = pytest.importorskip("triptych.torch")

SCALE = 2
UNRELATED = 0
HOLDER = SimpleNamespace(scale=2)
FACTORS = [2]


@tt.kernel
def scale_kernel(a: cute.Tensor, b: cute.Tensor) -> None:
    thread, _, _ = cute.arch.thread_idx()
    if thread < a.shape[0]:
        b[thread] = a[thread] * SCALE


@tt.jit
def scale(a: cute.Tensor, b: cute.Tensor) -> None:
    scale_kernel(a, b).launch(grid=1, block=32)


@tt.jit
def scale_by_list(a: cute.Tensor, b: cute.Tensor) -> None:
    b[0] = a[0] * FACTORS[0]


@tt.jit
def scale_by_number(a: cute.Tensor, b: cute.Tensor, by: tt.Int32, factor: tt.Constexpr[int], flag: bool) -> None:
    if flag:
        b[0] = a[0] * by * factor
    else:
        b[0] = a[0]


@tt.jit
def add(a: cute.Tensor, b: cute.Tensor, c: cute.Tensor) -> None:
    for i in range(a.shape[0]):
        c[i] = a[i] + b[i]


@tt.jit
def divide(a: cute.Tensor, b: cute.Tensor) -> None:
    for i in range(a.shape[0]):
        b[i] = 12 // a[i]


NAMES = (f"native_operators::f{i}" for i in range(1000))


def native(op: Any) -> Any:
    found = op._function.native
    assert found is not None, "this version of PyTorch has all that kernels need"
    return found


class Counted:
    """How often Python runs the function of an operator."""

    def __init__(self, op: Any) -> None:
        self.calls = 0
        kernel, run = native(op), op._run

        def counting(*args: Any) -> Any:
            self.calls += 1
            return run(*args)

        kernel._set(RUN, counting)


@pytest.fixture
def values() -> Iterator[None]:
    global SCALE, UNRELATED
    before = SCALE, UNRELATED
    yield
    SCALE, UNRELATED = before
    FACTORS[:] = [2]


def test_warm_calls_run_without_python() -> None:
    op = ours.op(add, next(NAMES), out={"c": "a"})
    counted = Counted(op)
    for size in (3, 4, 5, 3):
        a, b = torch.randn(size), torch.randn(size)
        assert op(a, b).equal(a + b)
    assert counted.calls == 1, "the first call compiles"


def test_a_global_that_changes_is_seen(values: None) -> None:
    global SCALE, UNRELATED
    op = ours.op(scale, next(NAMES), out={"b": "a"})
    a = torch.arange(4.0)
    counted = Counted(op)
    assert op(a).equal(2 * a)
    assert op(a).equal(2 * a)
    assert counted.calls == 1
    UNRELATED += 1
    assert op(a).equal(2 * a)
    assert counted.calls == 1, "words are read anew, without another compilation"
    SCALE = 3
    assert op(a).equal(3 * a)
    assert op(a).equal(3 * a)
    assert counted.calls == 2
    SCALE = 2
    assert op(a).equal(2 * a)
    assert op(a).equal(2 * a)


def test_a_list_that_changes_is_seen(values: None) -> None:
    op = ours.op(scale_by_list, next(NAMES), mutates=("b",))
    a, b = torch.ones(1), torch.zeros(1)
    for factor in (2, 5, 2):
        FACTORS[0] = factor
        for _ in range(2):
            op(a, b)
            assert b.item() == factor


def test_a_closure_that_changes_is_seen() -> None:
    factor = 2

    @tt.jit
    def by_cell(a: cute.Tensor, b: cute.Tensor) -> None:
        b[0] = a[0] * factor

    op = ours.op(by_cell, next(NAMES), mutates=("b",))
    a, b = torch.ones(1), torch.zeros(1)
    for factor in (2, 7, 2):
        for _ in range(2):
            op(a, b)
            assert b.item() == factor


def test_words_are_those_of_all_that_a_guard_asks() -> None:
    op = ours.op(scale, next(NAMES), out={"b": "a"})
    op(torch.ones(1))
    guards = [each.guard for each in native(op)._entries]
    published: list[int] = []
    assert GuardWords(guards, published.append).ask()
    assert published[0], "every test of this guard has words"


def test_constants_and_numbers() -> None:
    op = ours.op(scale_by_number, next(NAMES), mutates=("b",))
    counted = Counted(op)
    a, b = torch.ones(1), torch.zeros(1)
    for factor in (3, 4, 3, 4):
        for by in (5, -6):
            op(a, b, by, factor, True)
            assert b.item() == by * factor
    op(a, b, 5, 3, False)
    assert b.item() == 1
    assert counted.calls <= 3, "two specializations, and what a flag changes"


def test_one_graph_for_all_values_of_a_number() -> None:
    op = ours.op(scale_by_number, next(NAMES), mutates=("b",))
    assert "SymInt by, int factor, bool flag" in op.schema
    graphs = []

    def counting(graph: Any, _: Any) -> Any:
        graphs.append(graph)
        return graph.forward

    def program(a: Any, b: Any, by: int) -> Any:
        op(a, b, by, 3, True)
        return b * by

    compiled = torch.compile(program, backend=counting, fullgraph=True, dynamic=True)
    for by in (4, 5, 6, 7):
        assert compiled(torch.ones(1), torch.zeros(1), by).item() == 3 * by * by
    assert len(graphs) == 1


def test_parameters_by_name_only() -> None:
    @tt.jit
    def named(a: cute.Tensor, *, b: cute.Tensor, by: float = 2.0) -> None:
        b[0] = a[0] * by

    op = ours.op(named, next(NAMES), out={"b": "a"})
    for _ in range(2):
        assert op(torch.ones(1)).item() == 2
        assert op(torch.ones(1), 3.0).item() == 3
        assert op(torch.ones(1), by=4.0).item() == 4


def test_settings_of_a_block_are_those_of_the_call() -> None:
    op = ours.op(add, next(NAMES), out={"c": "a"})
    a = torch.ones(3)
    op(a, a)
    counted = Counted(op)
    with override(opt_level=1):
        assert op(a, a).equal(a + a)
    assert counted.calls == 1
    assert op(a, a).equal(a + a)
    assert counted.calls == 1


def test_a_number_that_does_not_fit_is_an_error() -> None:
    op = ours.op(scale_by_number, next(NAMES), mutates=("b",))
    a, b = torch.ones(1), torch.zeros(1)
    op(a, b, 1, 3, True)
    with pytest.raises(TriptychError, match="Int32"):
        op(a, b, 2**40, 3, True)


def test_errors_are_ours_by_the_operator_and_text_by_the_dispatcher() -> None:
    op = ours.op(divide, next(NAMES), out={"b": "a"})
    good, bad = torch.tensor([3, 4]), torch.tensor([3, 0])
    assert op(good).tolist() == [4, 3]
    for _ in range(3):
        with pytest.raises(ZeroDivisionError, match=r"TT\d{4}") as found:
            op(bad)
        assert "12 // a[i]" in str(found.value)
        with pytest.raises(RuntimeError, match=r"TT\d{4}(?s:.)*12 // a\[i\]"):
            op.default(bad)
    assert op(good).tolist() == [4, 3]


def test_errors_are_at_the_line_of_the_call() -> None:
    op = ours.op(add, next(NAMES), out={"c": "a"})
    for a in (torch.ones(3, dtype=torch.complex64), torch.ones(3, dtype=torch.complex64).conj()):
        with pytest.raises(TriptychError, match=r"(?s)TT0640.*op\(a, a\)  # the operator"):
            op(a, a)  # the operator
        with pytest.raises(RuntimeError, match=r"(?s)TT0640.*op\.default\(a, a\)  # by the dispatcher"):
            op.default(a, a)  # by the dispatcher


def test_a_written_tensor_is_one_version_on() -> None:
    op = ours.op(add, next(NAMES), mutates=("c",))
    a, b, c = torch.ones(2), torch.ones(2), torch.zeros(2)
    op(a, b, c)
    before = c._version
    op(a, b, c)
    assert c._version == before + 1
    x = torch.ones(2, requires_grad=True)
    y = x * c
    op(a, b, c)
    with pytest.raises(RuntimeError, match="modified by an inplace operation"):
        y.sum().backward()
    with torch.inference_mode():
        uncounted = torch.zeros(2)
        op(a, b, uncounted)
        assert uncounted.equal(a + b)


@pytest.mark.parametrize("dtype", [torch.float64, torch.float16, torch.bfloat16, torch.int8, torch.uint8, torch.int64])
@pytest.mark.parametrize("shape", [(3,), (2, 3), (1,), (0,), (2, 1, 3)])
def test_results_are_like_their_parameter(dtype: Any, shape: tuple[int, ...]) -> None:
    @tt.jit
    def copy(a: cute.Tensor, b: cute.Tensor) -> None:
        for i in range(cute.size(a)):
            b[i] = a[i]

    op = ours.op(copy, next(NAMES), out={"b": "a"})
    whole = torch.arange(60).reshape(-1)[: max(1, torch.Size(shape).numel())]
    a = torch.empty(shape, dtype=dtype).copy_(whole.reshape(shape) if torch.Size(shape).numel() else torch.empty(shape))
    turned = a.permute(*reversed(range(len(shape))))
    for given in (a, turned, turned[..., :1]):
        for _ in range(2):
            found, fake = op(given), op(given.to("meta"))
            assert found.equal(given)
            assert found.dtype == dtype
            assert found.device == given.device
            assert found.stride() == fake.stride()
            assert found.shape == fake.shape


def test_eight_threads() -> None:
    op = ours.op(add, next(NAMES), out={"c": "a"})
    wrong: list[str] = []

    def work(seed: int) -> None:
        for i in range(300):
            a = torch.full((1 + (seed + i) % 7,), float(seed))
            if not op(a, a).equal(a + a):
                wrong.append(f"{seed} {i}")

    threads = [threading.Thread(target=work, args=(seed,)) for seed in range(8)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert not wrong


def test_tensors_go_after_calls_failures_and_calls_of_python() -> None:
    op = ours.op(divide, next(NAMES), out={"b": "a"})
    good, bad = torch.tensor([3]), torch.tensor([0])
    op(good)

    def storages() -> int:
        gc.collect()
        return sum(issubclass(type(each), torch.Tensor) for each in gc.get_objects())

    before, references = storages(), (good._use_count(), bad._use_count())
    for _ in range(50):
        op(good)
        with pytest.raises(ZeroDivisionError):
            op(bad)
    assert storages() <= before + 1
    assert (good._use_count(), bad._use_count()) == references


CROWDED = """
import ctypes, sys
sys.path.insert(0, sys.argv[1])
import test_native_operators as program
torch = program.torch
callback = ctypes.CFUNCTYPE(ctypes.c_int, ctypes.c_int, ctypes.c_void_p, ctypes.c_void_p, ctypes.c_void_p)(lambda *_: 0)
try:
    while True:
        ctypes.pythonapi.PyDict_AddWatcher(callback)
except RuntimeError:
    pass  # CPython has no number left
op = program.ours.op(program.scale, "native_operators::crowded", out={"b": "a"})
a = torch.arange(4.0)
for factor in (2, 2, 5, 5):
    program.SCALE = factor
    assert op(a).equal(a * factor)
print("right")
"""


@pytest.mark.skipif(sys.version_info < (3, 12), reason="dicts have versions")
def test_without_a_watcher_of_dicts_guards_are_asked() -> None:
    command = [sys.executable, "-c", CROWDED, str(Path(__file__).parent)]
    assert subprocess.run(command, capture_output=True, text=True, check=True).stdout.strip() == "right"


TEXT = """
import hashlib
from triptych.frameworks.boxed_kernels import boxed_module
from triptych.frameworks.boxed_tensors import BoxedForm
from triptych.frameworks.native_operators import _torch_facts
form = BoxedForm("f", ("Tensor", "float"), (0,), (), (), (("given", 0), ("given", 1)))
print(hashlib.sha256(boxed_module(form, _torch_facts()).encode()).hexdigest())
"""


def test_code_of_one_process_serves_the_next() -> None:
    """It is found in the store by its text, which has no address of a process."""
    found = {
        subprocess.run([sys.executable, "-c", TEXT], capture_output=True, text=True, check=True).stdout for _ in "12"
    }
    assert len(found) == 1
    assert len(found.pop().strip()) == 64
