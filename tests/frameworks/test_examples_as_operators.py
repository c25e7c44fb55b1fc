"""Every example kernel as an operator of PyTorch: its own tests, one graph, export, many sizes; gradients of three."""

from __future__ import annotations

import inspect
import shutil
from pathlib import Path
from typing import Any

import pytest

import triptych as tt
from triptych import cute

torch: Any = pytest.importorskip("torch")
ours: Any = pytest.importorskip("triptych.torch")
examples: Any = pytest.importorskip("tests.frameworks.example_operators")
NAMES = list(examples.EXAMPLES)
OPERATORS: dict[str, Any] = {}
NEEDS_COMPILER = pytest.mark.skipif(shutil.which("g++") is None, reason="Inductor needs a C++ compiler")


def operator(name: str) -> Any:
    if name not in OPERATORS:
        each = examples.EXAMPLES[name]
        OPERATORS[name] = ours.op(each.function, f"triptych_examples::e{NAMES.index(name)}", out=each.out)
    return OPERATORS[name]


def compare(name: str, found: Any, args: tuple[Any, ...]) -> None:
    each = examples.EXAMPLES[name]
    torch.testing.assert_close(found, each.reference(*args), rtol=each.tolerance, atol=each.tolerance)


def test_every_example_is_here() -> None:
    stems = {file.stem for file in examples.FOLDER.glob("*.py")}
    assert {name.partition(",")[0] for name in NAMES} == stems - examples.GPU_ONLY - {"hello_world"}


@pytest.mark.parametrize("name", NAMES)
def test_opcheck(name: str) -> None:
    found = torch.library.opcheck(operator(name).default, examples.EXAMPLES[name].arguments(5))
    assert len(found) == 4
    assert set(found.values()) == {"SUCCESS"}


@pytest.mark.parametrize("name", NAMES)
def test_one_graph(name: str) -> None:
    torch._dynamo.reset()
    made = operator(name)
    compiled = torch.compile(lambda *args: made(*args), backend="aot_eager", fullgraph=True)
    for size in (5, 8, 11):
        args = examples.EXAMPLES[name].arguments(size)
        compare(name, compiled(*args), args)


@pytest.mark.parametrize("name", NAMES)
def test_a_bare_call_is_one_graph(name: str) -> None:
    """The example's function itself, with results that the program makes."""
    each = examples.EXAMPLES[name]
    parameters = list(inspect.signature(each.function.function).parameters)
    given = [parameter for parameter in parameters if parameter not in each.out]

    def made(result: str, known: dict[str, Any]) -> Any:
        way = each.out[result]
        if isinstance(way, str):
            return torch.empty_like(known[way])
        return way(**{parameter: known[parameter] for parameter in known if parameter in taken[result]})

    taken = {
        result: () if isinstance(way, str) else tuple(inspect.signature(way).parameters)
        for result, way in each.out.items()
    }

    def called(*args: Any) -> Any:
        known = dict(zip(given, args, strict=False))
        known |= {result: made(result, known) for result in each.out}
        each.function(**known)
        results = [known[result] for result in each.out]
        return results[0] if len(results) == 1 else tuple(results)

    torch._dynamo.reset()
    compiled = torch.compile(called, backend="aot_eager", fullgraph=True)
    for size in (5, 8):
        args = each.arguments(size)
        compare(name, compiled(*args), args)


class Module(torch.nn.Module):  # type: ignore[misc,unused-ignore]
    """What `torch.export` takes."""

    def __init__(self, made: Any) -> None:
        super().__init__()
        self.made = made

    def forward(self, *args: Any) -> Any:
        return self.made(*args)


@pytest.mark.parametrize("strict", [True, False])
@pytest.mark.parametrize("name", NAMES)
def test_export_with_dynamic_dimensions(name: str, strict: bool) -> None:
    made, arguments = operator(name), examples.EXAMPLES[name].arguments
    auto = torch.export.Dim.AUTO
    shapes = tuple(dict.fromkeys(range(x.dim()), auto) if isinstance(x, torch.Tensor) else None for x in arguments(6))
    exported = torch.export.export(Module(made), arguments(6), dynamic_shapes={"args": shapes}, strict=strict)
    assert [node.target for node in exported.graph.nodes].count(made.default) == 1
    for size in (6, 10):
        args = arguments(size)
        compare(name, exported.module()(*args), args)


@pytest.mark.parametrize("name", NAMES)
def test_twenty_sizes_are_two_compilations(name: str) -> None:
    made = ours.op(examples.EXAMPLES[name].function, "triptych_examples::sizes", out=examples.EXAMPLES[name].out)
    for size in range(3, 23):
        args = examples.EXAMPLES[name].arguments(size)
        compare(name, made(*args), args)
    assert len(made._function._entries) <= 2


# gradients ------------------------------------------------------------------------------------------------------------
# In float64, which the examples do not compute in: the same formulas, a thread for each row.
@tt.kernel
def softmax_rows(x: cute.Tensor, y: cute.Tensor) -> None:
    row, columns = cute.arch.block_idx()[0], x.shape[1]
    largest = x[row, 0]
    for j in range(columns):
        largest = largest if largest > x[row, j] else x[row, j]
    total = x[row, 0] * 0.0
    for j in range(columns):
        total += cute.math.exp(x[row, j] - largest)
    for j in range(columns):
        y[row, j] = cute.math.exp(x[row, j] - largest) / total


@tt.jit
def softmax(x: cute.Tensor, y: cute.Tensor) -> None:
    softmax_rows(x, y).launch(grid=x.shape[0], block=1)


@tt.kernel
def softmax_backward_rows(y: cute.Tensor, g: cute.Tensor, x: cute.Tensor) -> None:
    row, columns = cute.arch.block_idx()[0], y.shape[1]
    inner = y[row, 0] * 0.0
    for j in range(columns):
        inner += y[row, j] * g[row, j]
    for j in range(columns):
        x[row, j] = y[row, j] * (g[row, j] - inner)


@tt.jit
def softmax_backward(y: cute.Tensor, grad_y: cute.Tensor, grad_x: cute.Tensor) -> None:
    softmax_backward_rows(y, grad_y, grad_x).launch(grid=y.shape[0], block=1)


@tt.kernel
def rms_norm_rows(x: cute.Tensor, weight: cute.Tensor, y: cute.Tensor, scale: cute.Tensor, eps: tt.Float64) -> None:
    row, columns = cute.arch.block_idx()[0], x.shape[1]
    squares = x[row, 0] * 0.0
    for j in range(columns):
        squares += x[row, j] * x[row, j]
    scale[row] = 1.0 / cute.math.sqrt(squares / columns + eps)
    for j in range(columns):
        y[row, j] = x[row, j] * scale[row] * weight[j]


@tt.jit
def rms_norm(x: cute.Tensor, weight: cute.Tensor, eps: tt.Float64, y: cute.Tensor, scale: cute.Tensor) -> None:
    rms_norm_rows(x, weight, y, scale, eps).launch(grid=x.shape[0], block=1)


@tt.kernel
def rms_norm_backward_rows(
    x: cute.Tensor, weight: cute.Tensor, scale: cute.Tensor, g: cute.Tensor, of_x: cute.Tensor
) -> None:
    row, columns = cute.arch.block_idx()[0], x.shape[1]
    inner = x[row, 0] * 0.0
    for j in range(columns):
        inner += g[row, j] * weight[j] * x[row, j]
    third = scale[row] * scale[row] * scale[row]
    for j in range(columns):
        of_x[row, j] = scale[row] * weight[j] * g[row, j] - third * x[row, j] * inner / columns


@tt.kernel
def rms_norm_backward_columns(x: cute.Tensor, scale: cute.Tensor, g: cute.Tensor, of_weight: cute.Tensor) -> None:
    column = cute.arch.block_idx()[0]
    total = x[0, column] * 0.0
    for i in range(x.shape[0]):
        total += g[i, column] * x[i, column] * scale[i]
    of_weight[column] = total


@tt.jit
def rms_norm_backward(
    x: cute.Tensor,
    weight: cute.Tensor,
    scale: cute.Tensor,
    grad_y: cute.Tensor,
    grad_x: cute.Tensor,
    grad_weight: cute.Tensor,
) -> None:
    rms_norm_backward_rows(x, weight, scale, grad_y, grad_x).launch(grid=x.shape[0], block=1)
    rms_norm_backward_columns(x, scale, grad_y, grad_weight).launch(grid=x.shape[1], block=1)


@tt.jit
def attention(q: cute.Tensor, k: cute.Tensor, v: cute.Tensor, o: cute.Tensor, p: cute.Tensor) -> None:
    """`p` are the weights, (queries, keys)."""
    attention_rows(q, k, v, o, p).launch(grid=q.shape[0], block=1)


@tt.kernel
def attention_rows(q: cute.Tensor, k: cute.Tensor, v: cute.Tensor, o: cute.Tensor, p: cute.Tensor) -> None:
    row = cute.arch.block_idx()[0]
    total = q[row, 0] * 0.0
    for j in range(k.shape[0]):
        score = q[row, 0] * 0.0
        for d in range(q.shape[1]):
            score += q[row, d] * k[j, d]
        p[row, j] = cute.math.exp(score)
        total += p[row, j]
    for d in range(v.shape[1]):
        o[row, d] = q[row, 0] * 0.0
    for j in range(k.shape[0]):
        p[row, j] = p[row, j] / total
        for d in range(v.shape[1]):
            o[row, d] = o[row, d] + p[row, j] * v[j, d]


@tt.kernel
def attention_backward_rows(
    q: cute.Tensor, k: cute.Tensor, v: cute.Tensor, p: cute.Tensor, g: cute.Tensor, of_q: cute.Tensor, s: cute.Tensor
) -> None:
    """`s` becomes the gradient of the scores."""
    row = cute.arch.block_idx()[0]
    inner = q[row, 0] * 0.0
    for j in range(k.shape[0]):
        found = q[row, 0] * 0.0
        for d in range(v.shape[1]):
            found += g[row, d] * v[j, d]
        s[row, j] = found
        inner += found * p[row, j]
    for d in range(q.shape[1]):
        of_q[row, d] = q[row, 0] * 0.0
    for j in range(k.shape[0]):
        s[row, j] = p[row, j] * (s[row, j] - inner)
        for d in range(q.shape[1]):
            of_q[row, d] = of_q[row, d] + s[row, j] * k[j, d]


@tt.kernel
def attention_backward_columns(
    q: cute.Tensor, p: cute.Tensor, s: cute.Tensor, g: cute.Tensor, of_k: cute.Tensor, of_v: cute.Tensor
) -> None:
    key = cute.arch.block_idx()[0]
    for d in range(of_k.shape[1]):
        of_k[key, d] = q[0, 0] * 0.0
        of_v[key, d] = q[0, 0] * 0.0
    for i in range(q.shape[0]):
        for d in range(of_k.shape[1]):
            of_k[key, d] = of_k[key, d] + s[i, key] * q[i, d]
            of_v[key, d] = of_v[key, d] + p[i, key] * g[i, d]


@tt.jit
def attention_backward(
    q: cute.Tensor,
    k: cute.Tensor,
    v: cute.Tensor,
    p: cute.Tensor,
    grad_o: cute.Tensor,
    grad_q: cute.Tensor,
    grad_k: cute.Tensor,
    grad_v: cute.Tensor,
    s: cute.Tensor,
) -> None:
    attention_backward_rows(q, k, v, p, grad_o, grad_q, s).launch(grid=q.shape[0], block=1)
    attention_backward_columns(q, p, s, grad_o, grad_k, grad_v).launch(grid=k.shape[0], block=1)


SOFTMAX = ours.op(softmax, "triptych_examples::softmax_d", out={"y": "x"}, backward=softmax_backward)
RMS_NORM = ours.op(
    rms_norm,
    "triptych_examples::rms_norm_d",
    out={"y": "x", "scale": lambda x: x.new_empty(x.shape[0])},
    backward=rms_norm_backward,
)
ATTENTION_BACKWARD = ours.op(
    attention_backward,
    "triptych_examples::attention_backward",
    out={"grad_q": "q", "grad_k": "k", "grad_v": "v", "s": "p"},
)
ATTENTION = ours.op(
    attention,
    "triptych_examples::attention_d",
    out={"o": "q", "p": lambda q, k: q.new_empty(q.shape[0], k.shape[0])},
    backward=ATTENTION_BACKWARD,
)


def double(*shape: int) -> Any:
    return torch.randn(shape, dtype=torch.float64, requires_grad=True)


def attended(q: Any, k: Any, v: Any) -> Any:
    return torch.softmax(q @ k.t(), 1) @ v


GRADIENTS: dict[str, tuple[Any, Any, Any]] = {
    "softmax": (SOFTMAX, lambda x: x.softmax(1), lambda: (double(4, 6),)),
    "rms_norm": (
        lambda x, w: RMS_NORM(x, w, 1e-6)[0],
        lambda x, w: torch.nn.functional.rms_norm(x, x.shape[1:], w, 1e-6),
        lambda: (double(4, 6), double(6)),
    ),
    "attention": (lambda q, k, v: ATTENTION(q, k, v)[0], attended, lambda: (double(3, 5), double(4, 5), double(4, 5))),
}


@pytest.mark.parametrize("name", GRADIENTS)
def test_gradients(name: str) -> None:
    made, reference, arguments = GRADIENTS[name]
    args = arguments()
    torch.testing.assert_close(made(*args), reference(*args))
    assert torch.autograd.gradcheck(made, args)
    torch._dynamo.reset()
    compiled = torch.compile(lambda *args: made(*args).square().sum(), backend="aot_eager", fullgraph=True)
    found = torch.autograd.grad(compiled(*args), args)
    torch.testing.assert_close(found, torch.autograd.grad(reference(*args).square().sum(), args))


# Inductor -------------------------------------------------------------------------------------------------------------
def program(x: Any, weight: Any) -> Any:
    made = operator("rms_norm")(torch.relu(x) + 1, weight, 1e-6)
    return operator("softmax")(made) * 2


def expected(x: Any, weight: Any) -> Any:
    return torch.nn.functional.rms_norm(torch.relu(x) + 1, x.shape[1:], weight, 1e-6).softmax(1) * 2


def inputs(rows: int) -> tuple[Any, Any]:
    return torch.randn(rows, 16), torch.randn(16)


@pytest.mark.slow
@NEEDS_COMPILER
@pytest.mark.filterwarnings("ignore")
def test_inductor() -> None:
    torch._dynamo.reset()
    program(*inputs(2))  # operators are defined outside of what is compiled
    compiled = torch.compile(program, fullgraph=True, dynamic=True)
    for rows in (5, 8):
        args = inputs(rows)
        torch.testing.assert_close(compiled(*args), expected(*args))


@pytest.mark.slow
@NEEDS_COMPILER
@pytest.mark.filterwarnings("ignore")
def test_ahead_of_time_inductor(tmp_path: Path) -> None:
    rows = torch.export.Dim("rows", min=2, max=64)

    class Both(torch.nn.Module):  # type: ignore[misc,unused-ignore]
        def forward(self, x: Any, weight: Any) -> Any:
            return program(x, weight)

    program(*inputs(2))
    exported = torch.export.export(Both(), inputs(6), dynamic_shapes={"x": {0: rows}, "weight": None})
    package = torch._inductor.aoti_compile_and_package(exported, package_path=str(tmp_path / "program.pt2"))
    loaded = torch._inductor.aoti_load_package(package)
    for count in (6, 11):
        args = inputs(count)
        torch.testing.assert_close(loaded(*args), expected(*args))
