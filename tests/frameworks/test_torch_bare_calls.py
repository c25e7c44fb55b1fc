"""Bare calls of `@jit` functions while torch records: one graph, right results, and a reason where there is none."""

from __future__ import annotations

import shutil
import subprocess
import sys
from collections.abc import Callable
from typing import Any, Optional

import pytest

import triptych as tt
from triptych import cute
from triptych.diagnostics.tensor_errors import TracedByTorchError, UnsupportedTensorError

torch: Any = pytest.importorskip("torch")
dynamo: Any = pytest.importorskip("torch._dynamo")
fx: Any = pytest.importorskip("torch.fx.experimental.proxy_tensor")
fakes: Any = pytest.importorskip("torch._subclasses.fake_tensor")
THREADS = 32
ONE = tt.Float32(1.0)
SIZES = ((8, 33), (5, 7), (3, 12))


# kernels --------------------------------------------------------------------------------------------------------------
@tt.kernel
def add_kernel(a: cute.Tensor, b: cute.Tensor, c: cute.Tensor) -> None:
    row, first = cute.arch.block_idx()[0], cute.arch.thread_idx()[0]
    for j in range(first, a.shape[1], THREADS):
        c[row, j] = a[row, j] + b[row, j]


@tt.jit
def add(a: cute.Tensor, b: cute.Tensor, c: cute.Tensor) -> None:
    add_kernel(a, b, c).launch(grid=a.shape[0], block=THREADS)


@tt.jit
def accumulate(
    x: cute.Tensor,
    n: tt.Int32,
    factor: tt.Float32 = ONE,
    weight: Optional[cute.Tensor] = None,  # noqa: UP045 - as programs write it
    twice: tt.Constexpr[bool] = False,
) -> None:
    for i in range(x.shape[0]):
        for j in range(x.shape[1]):
            added = factor * n if weight is None else weight[j] * factor * n
            x[i, j] = x[i, j] + (added * 2.0 if tt.const_expr(twice) else added)


@tt.jit
def first_or_second(a: cute.Tensor, b: cute.Tensor, second: tt.Constexpr[bool]) -> None:
    for i in range(a.shape[0]):
        if tt.const_expr(second):
            b[i, 0] = a[i, 0]
        else:
            a[i, 0] = b[i, 0]


@tt.jit
def counting(x: cute.Tensor) -> Any:
    x[0, 0] = x[0, 0] * 2.0
    return tt.Int32(7)


@tt.jit
def without_annotation(x) -> None:  # type: ignore[no-untyped-def]  # noqa: ANN001 - it is what is tested
    x[0, 0] = x[0, 0] * 2.0


@tt.jit
def only_reading(x: cute.Tensor) -> None:
    for i in range(x.shape[0]):
        x[i, 0]


# programs -------------------------------------------------------------------------------------------------------------
def program(a: Any, b: Any) -> Any:
    c = torch.empty_like(a)
    add(a, b, c)
    accumulate(c, 3, twice=True)
    return c * 2


def expected(a: Any, b: Any) -> Any:
    return (a + b + 6) * 2


def pair(rows: int = 8, columns: int = 33, **options: Any) -> tuple[Any, Any]:
    return torch.randn(rows, columns, **options), torch.randn(rows, columns, **options)


class Module(torch.nn.Module):  # type: ignore[misc,unused-ignore]
    """What `torch.export` takes."""

    def __init__(self, called: Callable[..., Any] = program) -> None:
        super().__init__()
        self.called = called

    def forward(self, *args: Any) -> Any:
        return self.called(*args)


@pytest.fixture(autouse=True)
def fresh_graphs() -> None:
    dynamo.reset()


# torch.compile --------------------------------------------------------------------------------------------------------
@pytest.mark.parametrize("dynamic", [None, True, False])
@pytest.mark.parametrize("backend", ["eager", "aot_eager"])
def test_one_graph(backend: str, dynamic: bool | None) -> None:
    compiled = torch.compile(program, backend=backend, fullgraph=True, dynamic=dynamic)
    for size in SIZES:
        a, b = pair(*size)
        torch.testing.assert_close(compiled(a, b), expected(a, b))


def test_after_calls_outside() -> None:
    """Calls that are warm have another `__call__`."""
    a, b = pair()
    torch.testing.assert_close(program(a, b), expected(a, b))
    found = dynamo.explain(program)(a, b)
    assert (found.graph_count, found.graph_break_count) == (1, 0)
    assert str(found.graphs[0].graph).count("triptych_auto") >= 2


def test_calls_outside_do_not_compile_a_graph_again() -> None:
    counter = dynamo.testing.CompileCounter()
    compiled = torch.compile(program, backend=counter, fullgraph=True, dynamic=True)
    for size in SIZES:
        a, b = pair(*size)
        compiled(a, b)
        program(a.double(), b.double())
        program(a, b)
    assert counter.frame_count <= 3


def test_twenty_sizes_are_two_compilations() -> None:
    def sized(a: Any, b: Any) -> Any:
        c = torch.empty_like(a)
        add_again(a, b, c)
        return c * 2

    add_again = tt.jit(add.function)
    compiled = torch.compile(sized, backend="aot_eager", fullgraph=True, dynamic=True)
    for rows in range(2, 22):
        a, b = pair(rows, 3 + rows)
        torch.testing.assert_close(compiled(a, b), (a + b) * 2)
    module = sys.modules["triptych.frameworks.torch_bare_calls"]
    made = [operator for operator in module._OPERATORS.values() if operator.origin is add_again]
    assert len(made) == 1
    assert len(made[0]._function._entries) <= 2
    assert not add_again._entries


@pytest.mark.parametrize("backend", ["eager", "aot_eager"])
def test_arguments_that_are_written_change(backend: str) -> None:
    def written(x: Any, weight: Any) -> Any:
        before = x.sum()
        accumulate(x[1:], 2, 0.5, weight=weight)
        return before, x.sum()

    weight = torch.randn(6)
    compiled = torch.compile(written, backend=backend, fullgraph=True)
    for rows in (4, 9):
        x = torch.randn(rows, 6)
        copy, version = x.clone(), x._version
        before, after = compiled(x, weight)
        torch.testing.assert_close(before, copy.sum())
        torch.testing.assert_close(x, torch.cat([copy[:1], copy[1:] + weight]))
        torch.testing.assert_close(after, x.sum())
        assert x._version > version


def test_what_is_written_depends_on_a_constexpr() -> None:
    def both(a: Any, b: Any, second: bool) -> None:
        first_or_second(a, b, second)

    compiled = torch.compile(both, backend="aot_eager", fullgraph=True)
    for second in (False, True):
        a, b = pair(3, 1)
        was_a, was_b = a.clone(), b.clone()
        compiled(a, b, second)
        assert torch.equal(a, was_a if second else was_b)
        assert torch.equal(b, was_a if second else was_b)


def test_numbers_that_torch_has_symbols_for() -> None:
    def counted(x: Any, n: int, factor: float) -> Any:
        y = x + 0
        accumulate(y, n, factor)
        accumulate(y, x.shape[0], factor)
        return y

    compiled = torch.compile(counted, backend="aot_eager", fullgraph=True, dynamic=True)
    for n, factor in ((2, 0.5), (3, 1.5), (5, 2.5)):
        x = torch.randn(n + 1, 4)
        torch.testing.assert_close(compiled(x, n, factor), x + n * factor + (n + 1) * factor)


def test_under_no_grad_parameters_may_be_read() -> None:
    a, b = (torch.nn.Parameter(x) for x in pair())

    def without(a: Any, b: Any) -> Any:
        with torch.no_grad():
            return program(a, b)

    torch.testing.assert_close(torch.compile(without, backend="aot_eager", fullgraph=True)(a, b), expected(a, b))


def test_a_gradient_around_a_call() -> None:
    """The kernel's tensors require none, what is computed with them does."""
    (a, b), w = pair(), torch.randn(8, 33, requires_grad=True)
    compiled = torch.compile(lambda a, b, w: (program(a, b) * w).sum(), backend="aot_eager", fullgraph=True)
    compiled(a, b, w).backward()
    torch.testing.assert_close(w.grad, expected(a, b))


class Added(torch.autograd.Function):  # type: ignore[misc,unused-ignore]
    """A rule for a gradient around bare calls."""

    @staticmethod
    def forward(ctx: Any, a: Any, b: Any) -> Any:
        c = torch.empty_like(a)
        add(a, b, c)
        return c

    @staticmethod
    def backward(ctx: Any, gradient: Any) -> Any:
        twice = torch.empty_like(gradient)
        add(gradient.contiguous(), gradient.contiguous(), twice)
        return gradient, twice


@pytest.mark.parametrize("backend", ["eager", "aot_eager"])
@pytest.mark.filterwarnings("ignore:.*should not be instantiated:DeprecationWarning")
def test_in_an_autograd_function(backend: str) -> None:
    a, b = pair(requires_grad=True)
    compiled = torch.compile(lambda a, b: Added.apply(a, b).square(), backend=backend, fullgraph=True)
    found = compiled(a, b)
    torch.testing.assert_close(found, (a + b).square())
    found.sum().backward()
    torch.testing.assert_close(a.grad, 2 * (a + b))
    torch.testing.assert_close(b.grad, 4 * (a + b))


def test_a_layer_in_no_grad_of_a_module() -> None:
    """Buffers and parameters of modules are arguments that torch lifts out of the graph."""

    class Layer(torch.nn.Module):  # type: ignore[misc,unused-ignore]
        def __init__(self) -> None:
            super().__init__()
            self.weight = torch.nn.Parameter(torch.randn(4, 6))
            self.register_buffer("calls", torch.zeros(1, 1))

        def forward(self, x: Any) -> Any:
            c = torch.empty_like(x)
            add(x, self.weight.detach(), c)
            accumulate(self.calls, 1)
            return c

    layer = Layer()
    compiled = torch.compile(layer, backend="aot_eager", fullgraph=True)
    for calls in (1, 2, 3):
        x = torch.randn(4, 6)
        torch.testing.assert_close(compiled(x), x + layer.weight)
        assert layer.calls.item() == calls


@pytest.mark.slow
@pytest.mark.skipif(shutil.which("g++") is None, reason="Inductor needs a C++ compiler")
@pytest.mark.filterwarnings("ignore")
def test_inductor() -> None:
    def called(a: Any, b: Any, x: Any) -> Any:
        found = program(a, b).sin()
        accumulate(x, 2, 0.5)
        return found

    compiled = torch.compile(called, fullgraph=True, dynamic=True)
    for size in SIZES:
        (a, b), x = pair(*size), torch.zeros(4, 3)
        torch.testing.assert_close(compiled(a, b, x), expected(a, b).sin())
        assert (x == 1).all()


# torch.export and others ----------------------------------------------------------------------------------------------
@pytest.mark.parametrize("strict", [True, False])
@pytest.mark.filterwarnings("ignore:.*LeafSpec:FutureWarning")
def test_export(strict: bool) -> None:
    rows = torch.export.Dim("rows")
    shapes = {"args": ({0: rows}, {0: rows})}
    exported = torch.export.export(Module(), pair(), dynamic_shapes=shapes, strict=strict)
    assert "triptych_auto.add_" in str(exported.graph)
    for size in ((8, 33), (5, 33)):
        a, b = pair(*size)
        torch.testing.assert_close(exported.module()(a, b), expected(a, b))
    exported = exported.run_decompositions()
    assert "auto_functionalized" in str(exported.graph), "functionalization has to know what is written"
    torch.testing.assert_close(exported.module()(a, b), expected(a, b))


@pytest.mark.parametrize("mode", ["real", "fake", "symbolic"])
def test_make_fx(mode: str) -> None:
    a, b = pair()
    found = fx.make_fx(program, tracing_mode=mode)(a, b)
    assert "triptych_auto.add_" in found.code
    sizes = SIZES if mode == "symbolic" else SIZES[:1]
    for size in sizes:
        a, b = pair(*size)
        torch.testing.assert_close(found(a, b), expected(a, b))


def test_fake_tensors_have_shapes_only() -> None:
    with fakes.FakeTensorMode():
        found = program(torch.ones(4, 3), torch.ones(4, 3))
    assert isinstance(found, fakes.FakeTensor)
    assert found.shape == (4, 3)


def test_joint_graphs() -> None:
    functionalization: Any = pytest.importorskip("torch._functorch.aot_autograd")
    a, b = pair()
    graphs = []

    def keep(graph: Any, inputs: Any) -> Any:
        graphs.append(graph)
        return graph

    found = functionalization.aot_function(program, fw_compiler=keep)(a, b)
    torch.testing.assert_close(found, expected(a, b))
    assert "triptych_auto" in graphs[0].code


# what is no operator --------------------------------------------------------------------------------------------------
def overlapping(a: Any, b: Any) -> Any:
    add(a, b, a)
    return a


@tt.jit
def named_only(x: cute.Tensor, *, n: tt.Int32) -> None:
    for i in range(x.shape[0]):
        for j in range(x.shape[1]):
            x[i, j] = x[i, j] + n


class Adder:
    """Whose method is compiled."""

    n = 2

    @tt.jit
    def add(self, x: cute.Tensor) -> None:
        for i in range(x.shape[0]):
            for j in range(x.shape[1]):
                x[i, j] = x[i, j] + self.n


ADDER = Adder()

WITHOUT: dict[str, tuple[Callable[[Any, Any], Any], Callable[[Any, Any], Any], str]] = {
    "returns a number": (lambda a, b: a * counting(a.clone()), lambda a, b: a * 7, "returns numbers"),
    "no annotation": (lambda a, b: without_annotation(a.clone()) or a + b, lambda a, b: a + b, "the type of the"),
    "writes nothing": (lambda a, b: only_reading(a) or a + b, lambda a, b: a + b, "writes no tensor"),
    "shares memory": (overlapping, lambda a, b: a + b, "`a` and `c` share memory, and `c` is written"),
    "by its name only": (
        lambda a, b: named_only(a := a.clone(), n=3) or a,
        lambda a, b: a + 3,
        "the parameter `n` is given by its name only",
    ),
    "an option of calls": (
        lambda a, b: accumulate(a := a.clone(), 1, no_cache=True) or a,
        lambda a, b: a + 1,
        "unexpected keyword",
    ),
}


@pytest.mark.parametrize("name", WITHOUT)
@pytest.mark.filterwarnings("ignore")
def test_what_is_no_operator_ends_the_graph_and_says_why(name: str) -> None:
    called, wanted, reason = WITHOUT[name]
    a, b = pair()
    expected = wanted(a.clone(), b)
    with pytest.raises(dynamo.exc.Unsupported) as raised:
        torch.compile(called, backend="eager", fullgraph=True)(a.clone(), b)
    assert reason in str(raised.value)
    assert "triptych.torch.op(" in str(raised.value)
    dynamo.reset()
    torch.testing.assert_close(torch.compile(called, backend="aot_eager")(a.clone(), b), expected)
    with pytest.raises(TracedByTorchError) as refused:
        fx.make_fx(called)(a, b)
    assert reason in refused.value.found
    assert refused.value.span is not None
    assert refused.value.span.file == __file__


def test_a_gradient_through_a_call_is_refused() -> None:
    a, b = pair(requires_grad=True)
    with pytest.raises(dynamo.exc.Unsupported, match="`a` requires a gradient"):
        torch.compile(program, backend="eager", fullgraph=True)(a, b)
    with pytest.raises(UnsupportedTensorError, match="requires a gradient"):
        torch.compile(program, backend="aot_eager")(a, b)


def test_an_error_of_the_function_is_the_call_s() -> None:
    @tt.jit
    def wrong(x: cute.Tensor) -> None:
        x[0, 0] = x.extent  # type: ignore[attr-defined]

    with pytest.raises(dynamo.exc.Unsupported, match="has no attribute 'extent'"):
        torch.compile(lambda x: wrong(x), backend="eager", fullgraph=True)(torch.ones(2, 2))
    with pytest.raises(AttributeError, match="has no attribute 'extent'"):
        torch.compile(lambda x: wrong(x), backend="eager")(torch.ones(2, 2))


def test_a_method_ends_the_graph() -> None:
    """torch does not look into what `Adder().add` makes."""

    def called(x: Any) -> Any:
        y = x + 0
        ADDER.add(y)
        return y * 2

    x = torch.randn(3, 4)
    torch.testing.assert_close(torch.compile(called, backend="aot_eager")(x), (x + 2) * 2)


def test_functions_of_one_program_are_told_apart() -> None:
    """They are equal when the graph is made, and read different variables."""

    def made(factor: float) -> Any:
        @tt.jit
        def scaled(x: cute.Tensor) -> None:
            for i in range(x.shape[0]):
                x[i] = x[i] * factor

        return scaled

    one, other, three = made(2.0), made(2.0), made(3.0)

    def called(x: Any) -> Any:
        y = x + 0
        one(y)
        other(y)
        three(y)
        return y

    x = torch.randn(5)
    torch.testing.assert_close(torch.compile(called, backend="aot_eager", fullgraph=True)(x), x * 12)


FIRST = """
import triptych as tt
from triptych import cute

@tt.jit
def double(x: cute.Tensor):
    for i in range(x.shape[0]):
        x[i] = x[i] * 2.0

import sys
assert "torch" not in sys.modules
import torch

def f(x):
    y = x + 1
    double(y)
    return y * 3

compiled = torch.compile(f, backend="eager", fullgraph=True)
print([float(compiled(torch.ones(4))[0]) for _ in range(3)])
"""
RUN = """
linecache.cache["program.py"] = (len(text), None, text.splitlines(True), "program.py")
exec(compile(text, "program.py", "exec"), {"__name__": "program"})
"""


def test_a_function_that_is_first_called_in_a_graph() -> None:
    """Decorated before torch was imported."""
    command = [sys.executable, "-W", "ignore", "-c", f"import linecache\ntext = {FIRST!r}\n{RUN}"]
    done = subprocess.run(command, capture_output=True, text=True, timeout=300)
    assert done.stdout == "[12.0, 12.0, 12.0]\n", done.stderr
