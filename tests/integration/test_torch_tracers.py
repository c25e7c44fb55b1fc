"""Calls under torch's tracers: outside the graph of `torch.compile`, refused where they would be left out silently."""

from __future__ import annotations

import gc
import subprocess
import sys
import weakref
from collections.abc import Callable
from typing import Any

import pytest

import triptych as tt
from triptych import cute
from triptych.cute.runtime import from_dlpack
from triptych.diagnostics.tensor_errors import ArgumentTensorError, TracedByTorchError

torch: Any = pytest.importorskip("torch")
dynamo: Any = pytest.importorskip("torch._dynamo")
fx: Any = pytest.importorskip("torch.fx.experimental.proxy_tensor")
fakes: Any = pytest.importorskip("torch._subclasses.fake_tensor")
dispatch: Any = pytest.importorskip("torch.utils._python_dispatch")


@tt.jit
def double(x: cute.Tensor) -> None:
    for i in range(x.shape[0]):
        x[i] = x[i] * 2.0


@tt.jit
def double_and_count(x: cute.Tensor) -> Any:
    for i in range(x.shape[0]):
        x[i] = x[i] * 2.0
    return tt.Int32(7), tt.Int32(8)


@tt.jit
def following(x: tt.Int32) -> Any:
    return x + 1


COMPILED = tt.compile(double, torch.ones(4))


def marked(x: Any) -> None:
    double(from_dlpack(x))


def nested(x: Any) -> None:
    taking_tuple((x, 2))


@tt.jit
def taking_tuple(pair: Any) -> None:
    pair[0][0] = pair[0][0] * 2.0


@torch.library.custom_op("triptych_tests::double", mutates_args={"x"})  # type: ignore[untyped-decorator]
def double_op(x: torch.Tensor) -> None:
    double(x)


WAYS: dict[str, Callable[[Any], Any]] = {
    "jit": double,
    "compiled": COMPILED,
    "several results": double_and_count,
    "from_dlpack": marked,
    "in a tuple": nested,
}


def around(way: Callable[[Any], Any]) -> Callable[[Any], Any]:
    def program(x: Any) -> Any:
        y = x + 1
        way(y)
        return y * 3

    return program


class Module(torch.nn.Module):  # type: ignore[misc]
    """What `torch.export` takes."""

    def __init__(self, program: Callable[[Any], Any]) -> None:
        super().__init__()
        self.program = program

    def forward(self, x: Any) -> Any:
        return self.program(x)


def under_fake_mode(program: Callable[[Any], Any], x: Any) -> Any:
    with fakes.FakeTensorMode():
        return program(torch.ones(4))


TRACERS: dict[str, Callable[[Callable[[Any], Any], Any], Any]] = {
    "make_fx": lambda program, x: fx.make_fx(program)(x),
    "make_fx with fakes": lambda program, x: fx.make_fx(program, tracing_mode="fake")(x),
    "make_fx with symbols": lambda program, x: fx.make_fx(program, tracing_mode="symbolic")(x),
    "jit.trace": lambda program, x: torch.jit.trace(program, (x,)),
    "symbolic_trace": lambda program, x: torch.fx.symbolic_trace(program),
    "export": lambda program, x: torch.export.export(Module(program), (x,), strict=False),
    "fake mode": under_fake_mode,
    "fake argument": lambda program, x: program(fakes.FakeTensorMode().from_tensor(x)),
    "vmap": lambda program, x: torch.vmap(program)(torch.ones(3, 4)),
    "functionalize": lambda program, x: torch.func.functionalize(program)(x),
    "jvp": lambda program, x: torch.func.jvp(program, (x,), (x,)),
}


RECORDING = ("make_fx", "make_fx with fakes", "make_fx with symbols", "export", "fake mode", "fake argument")
"""Those that record operators: a call of a `@jit` function is one there (tests/frameworks/test_torch_bare_calls.py)."""
REFUSED = [(tracer, way) for tracer in TRACERS for way in WAYS if way != "jit" or tracer not in RECORDING]


@pytest.fixture(autouse=True)
def fresh_graphs() -> None:
    dynamo.reset()
    for way in WAYS.values():
        way(torch.ones(4))  # from here on calls are warm: the check must be on that path too


@pytest.mark.parametrize(("tracer", "way"), REFUSED)
@pytest.mark.filterwarnings("ignore")
def test_tracers_do_not_drop_a_call(tracer: str, way: str) -> None:
    """What `from_dlpack` makes of a tensor without memory can be compiled for, and so is refused only by the call."""
    with pytest.raises((TracedByTorchError, ArgumentTensorError)) as refused:
        TRACERS[tracer](around(WAYS[way]), torch.ones(4))
    assert "triptych.torch.op" in refused.value.instead
    assert refused.value.span is not None
    assert refused.value.span.file == __file__


@pytest.mark.parametrize("way", WAYS)
def test_after_a_refusal_calls_work(way: str) -> None:
    program = around(WAYS[way])
    with pytest.raises(TracedByTorchError):
        torch.vmap(program)(torch.ones(3, 4))
    assert program(torch.ones(4))[0] == 12


@pytest.mark.filterwarnings("ignore")
@pytest.mark.parametrize("tracer", ["make_fx", "make_fx with fakes", "jit.trace", "export"])
def test_a_custom_operator_is_recorded(tracer: str) -> None:
    recorded = TRACERS[tracer](around(double_op), torch.ones(4))
    recorded = recorded.module() if tracer == "export" else recorded
    assert torch.equal(recorded(torch.full((4,), 2.0)), torch.full((4,), 18.0))


def test_a_custom_operator_is_in_the_graph() -> None:
    compiled = torch.compile(around(double_op), backend="eager", fullgraph=True)
    assert torch.equal(compiled(torch.ones(4)), torch.full((4,), 12.0))


@pytest.mark.parametrize("way", ["several results", "from_dlpack", "in a tuple"])
@pytest.mark.filterwarnings("error")
def test_torch_compile_breaks_its_graph(way: str) -> None:
    counter = dynamo.testing.CompileCounter()
    compiled = torch.compile(around(WAYS[way]), backend=counter)
    for _ in range(3):
        assert compiled(torch.ones(4))[0] == 12
    assert counter.frame_count == 2, "what is before the call, and what is after it"


@pytest.mark.filterwarnings("ignore:Dynamo does not know how to trace the builtin")
def test_torch_compile_breaks_its_graph_at_the_native_entry_point() -> None:
    compiled = torch.compile(around(COMPILED), backend="eager")
    assert compiled(torch.ones(4))[0] == 12


def test_functions_over_numbers_break_the_graph_too() -> None:
    compiled = torch.compile(lambda x: x * following(3), backend="eager")
    assert compiled(torch.ones(4))[0] == 4


@pytest.mark.parametrize("way", ["several results", "from_dlpack", "in a tuple"])
def test_one_graph_is_an_error_that_says_what_to_write(way: str) -> None:
    with pytest.raises(dynamo.exc.Unsupported, match=r"triptych\.torch\.op\(function"):
        torch.compile(around(WAYS[way]), backend="eager", fullgraph=True)(torch.ones(4))


def test_a_function_that_is_first_called_under_torch_compile() -> None:
    """Decorated before torch was imported: torch has not heard of the function when it meets it."""
    program = """
import triptych as tt
from triptych import cute

@tt.jit
def double(x: cute.Tensor):
    for i in range(x.shape[0]):
        x[i] = x[i] * 2.0

import torch

def f(x):
    y = x + 1
    double(y)
    return y * 3

compiled = torch.compile(f, backend="eager")
print([float(compiled(torch.ones(4))[0]) for _ in range(3)])
"""
    command = [sys.executable, "-W", "ignore", "-c", f"import linecache\ntext = {program!r}\n{RUN}"]
    done = subprocess.run(command, capture_output=True, text=True, timeout=300)
    assert done.stdout == "[12.0, 12.0, 12.0]\n", done.stderr


RUN = """
linecache.cache["program.py"] = (len(text), None, text.splitlines(True), "program.py")
exec(compile(text, "program.py", "exec"), {"__name__": "program"})
"""


class Watching(dispatch.TorchDispatchMode):  # type: ignore[misc]
    """A mode that records nothing."""

    def __torch_dispatch__(self, func: Any, types: Any, args: Any = (), kwargs: Any = None) -> Any:
        return func(*args, **(kwargs or {}))


@pytest.mark.parametrize("way", WAYS)
def test_what_only_watches_may_be_on(way: str) -> None:
    program = around(WAYS[way])
    with torch.inference_mode():
        assert program(torch.ones(4))[0] == 12
    with torch.no_grad():
        assert program(torch.ones(4))[0] == 12
    with Watching():
        assert program(torch.ones(4))[0] == 12


def test_the_entry_point_has_a_module_and_is_collected() -> None:
    entry = tt.compile(lambda x: x + 1, 3).native
    assert isinstance(entry.__module__, str)
    gone = weakref.ref(entry)
    del entry
    gc.collect()
    assert gone() is None
