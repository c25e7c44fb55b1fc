"""`triptych.torch.op`: operators of PyTorch made of `@jit` functions behave as PyTorch's own do."""

from __future__ import annotations

import subprocess
import sys
from collections.abc import Callable
from typing import Any, Optional

import numpy as np
import pytest

import triptych as tt
from triptych import cute
from triptych.diagnostics.tensor_errors import OperatorDeclarationError, OperatorGradientError, UnsupportedTensorError

torch: Any = pytest.importorskip("torch")
ours: Any = pytest.importorskip("triptych.torch")
THREADS = 32


# kernels --------------------------------------------------------------------------------------------------------------
@tt.kernel
def mul_kernel(a: cute.Tensor, b: cute.Tensor, c: cute.Tensor) -> None:
    row, first = cute.arch.block_idx()[0], cute.arch.thread_idx()[0]
    for j in range(first, a.shape[1], THREADS):
        c[row, j] = a[row, j] * b[row, j]


@tt.jit
def mul(a: cute.Tensor, b: cute.Tensor, c: cute.Tensor) -> None:
    mul_kernel(a, b, c).launch(grid=a.shape[0], block=THREADS)


@tt.kernel
def mul_backward_kernel(a: cute.Tensor, b: cute.Tensor, g: cute.Tensor, x: cute.Tensor, y: cute.Tensor) -> None:
    row, first = cute.arch.block_idx()[0], cute.arch.thread_idx()[0]
    for j in range(first, a.shape[1], THREADS):
        x[row, j] = g[row, j] * b[row, j]
        y[row, j] = g[row, j] * a[row, j]


@tt.jit
def mul_backward(a: cute.Tensor, b: cute.Tensor, grad_c: cute.Tensor, grad_a: cute.Tensor, grad_b: cute.Tensor) -> None:
    mul_backward_kernel(a, b, grad_c, grad_a, grad_b).launch(grid=a.shape[0], block=THREADS)


@tt.kernel
def scale_kernel(x: cute.Tensor, factor: tt.Float32, y: cute.Tensor, total: cute.Tensor) -> None:
    row = cute.arch.block_idx()[0]
    if cute.arch.thread_idx()[0] == 0:
        sum = x[row, 0].to(tt.Float32) * 0.0
        for j in range(x.shape[1]):
            y[row, j] = (x[row, j].to(tt.Float32) * factor).to(y.element_type)
            sum += x[row, j].to(tt.Float32)
        total[row] = sum


@tt.jit
def scale(
    x: cute.Tensor, factor: tt.Float32, y: cute.Tensor, total: cute.Tensor, negative: tt.Constexpr[bool] = False
) -> None:
    scale_kernel(x, -factor if tt.const_expr(negative) else factor, y, total).launch(grid=x.shape[0], block=THREADS)


@tt.jit
def add_rows(x: cute.Tensor, n: tt.Int32) -> None:
    for i in range(x.shape[0]):
        x[i] = x[i] + n


MUL = ours.op(mul, "triptych_test::mul", out={"c": "a"}, backward=mul_backward)
MUL_OUT = ours.op(mul, "triptych_test::mul_out", mutates=("c",))
SCALE = ours.op(
    scale, "triptych_test::scale", out={"y": "x", "total": lambda x: x.new_empty(x.shape[0], dtype=torch.float32)}
)
ADD = ours.op(add_rows, "triptych_test::add_rows", mutates=("x",))


def pair(rows: int = 5, columns: int = 7, **options: Any) -> tuple[Any, Any]:
    return torch.randn(rows, columns, **options), torch.randn(rows, columns, **options)


# schemas --------------------------------------------------------------------------------------------------------------
def test_schemas_come_from_the_signature() -> None:
    assert MUL.schema == "triptych_test::mul(Tensor a, Tensor b) -> Tensor"
    assert MUL_OUT.schema == "triptych_test::mul_out(Tensor a, Tensor b, Tensor(a2!) c) -> ()"
    assert SCALE.schema == "triptych_test::scale(Tensor x, float factor, bool negative=False) -> (Tensor, Tensor)"
    assert ADD.schema == "triptych_test::add_rows(Tensor(a0!) x, SymInt n) -> ()"
    assert repr(ADD) == f"<operator {ADD.schema}>"
    assert torch.Tag.pt2_compliant_tag in MUL.default.tags


def test_what_is_written_is_found_at_the_first_call() -> None:
    found = ours.op(mul, "triptych_test::found_out")
    assert found.default is None
    a, b = pair()
    c = torch.empty_like(a)
    found(a, b, c)
    assert found.schema == "triptych_test::found_out(Tensor a, Tensor b, Tensor(a2!) c) -> ()"
    torch.testing.assert_close(c, a * b)
    torch.library.opcheck(found.default, (a, b, c))


def test_an_operator_may_be_put_into_a_library_that_exists() -> None:
    library = torch.library.Library("triptych_test_other", "DEF")
    made = ours.op(mul, "triptych_test_other::mul", out={"c": "b"}, library=library)
    a, b = pair()
    torch.testing.assert_close(torch.ops.triptych_test_other.mul(a, b), a * b)
    torch.testing.assert_close(made(a, b), a * b)


def test_an_operator_may_be_defined_again() -> None:
    a, b = pair()
    for function, expected in ((mul, a * b), (mul_backward, None), (mul, a * b)):
        if expected is None:
            other = ours.op(function, "triptych_test::again", out={"grad_a": "a", "grad_b": "b"})
            torch.testing.assert_close(other(a, b, a), (a * b, a * a))
        else:
            torch.testing.assert_close(ours.op(function, "triptych_test::again", out={"c": "a"})(a, b), expected)
    torch.testing.assert_close(torch.ops.triptych_test.again(a, b), a * b)


# PyTorch's own tests --------------------------------------------------------------------------------------------------
CALLS: dict[str, tuple[Any, Callable[[], tuple[Any, ...]]]] = {
    "mul": (MUL, pair),
    "mul of what requires a gradient": (MUL, lambda: pair(requires_grad=True)),
    "mul of columns": (MUL, lambda: tuple(x.t() for x in pair())),
    "mul of half": (MUL, lambda: pair(dtype=torch.float16)),
    "mul_out": (MUL_OUT, lambda: (*pair(), torch.empty(5, 7))),
    "scale": (SCALE, lambda: (torch.randn(4, 9), 2.5)),
    "scale, negative": (SCALE, lambda: (torch.randn(4, 9), 2.5, True)),
    "add_rows": (ADD, lambda: (torch.arange(6), 3)),
}


@pytest.mark.parametrize("name", CALLS)
def test_opcheck(name: str) -> None:
    made, arguments = CALLS[name]
    found = torch.library.opcheck(made.default, arguments())
    assert set(found.values()) == {"SUCCESS"}
    assert len(found) == 4


def program(a: Any, b: Any) -> Any:
    c = torch.empty_like(a)
    MUL_OUT(a + 1, b, c)
    y, total = SCALE(c, 2.0)
    return MUL(y, b) + total[:, None]


def expected(a: Any, b: Any) -> Any:
    c = (a + 1) * b
    return 2 * c * b + c.sum(1)[:, None]


@pytest.mark.parametrize("backend", ["eager", "aot_eager"])
def test_one_graph(backend: str) -> None:
    torch._dynamo.reset()
    compiled = torch.compile(program, backend=backend, fullgraph=True)
    for rows in (5, 3, 8, 11):
        a, b = pair(rows)
        torch.testing.assert_close(compiled(a, b), expected(a, b))


@pytest.mark.parametrize("strict", [True, False])
def test_export_with_a_dynamic_dimension(strict: bool) -> None:
    class Module(torch.nn.Module):  # type: ignore[misc,unused-ignore]
        def forward(self, a: Any, b: Any) -> Any:
            return program(a, b)

    rows = torch.export.Dim("rows")
    exported = torch.export.export(Module(), pair(), dynamic_shapes={"a": {0: rows}, "b": {0: rows}}, strict=strict)
    assert "triptych_test.mul_out" in str(exported.graph)
    a, b = pair(9)
    torch.testing.assert_close(exported.module()(a, b), expected(a, b))


def test_many_sizes_are_two_compilations() -> None:
    made = ours.op(mul, "triptych_test::sizes", out={"c": "a"})
    for rows in range(1, 21):
        a, b = pair(rows, 3 + rows)
        torch.testing.assert_close(made(a, b), a * b)
    assert len(made._function._entries) <= 2


@pytest.mark.filterwarnings("ignore:.*torch.jit.trace:DeprecationWarning")
def test_tracers_record_the_operator() -> None:
    a, b = pair()
    fx = torch.fx.experimental.proxy_tensor.make_fx(program)(a, b)
    assert "triptych_test.mul" in fx.code
    torch.testing.assert_close(fx(a, b), expected(a, b))
    traced = torch.jit.trace(lambda a, b: MUL(a, b) * 2, (a, b))
    torch.testing.assert_close(traced(b, b), b * b * 2)


@tt.jit
def scaled(x: cute.Tensor, y: cute.Tensor, w: Optional[cute.Tensor] = None) -> None:  # noqa: UP045 - as programs write it
    for i in range(x.shape[0]):
        y[i] = x[i] * 2.0 if w is None else x[i] * w[i]


@pytest.mark.parametrize("out", [{"y": "x"}, None])
def test_a_tensor_that_may_be_left_out(out: dict[str, str] | None) -> None:
    """The dispatcher does not hand on the last arguments that are defaults."""
    made = ours.op(scaled, f"triptych_test::scaled_{out is None}", out=out)
    x, w = torch.randn(4, requires_grad=out is not None), torch.randn(4)
    for given, expected in (((), x * 2), ((w,), x * w)):
        if out is None:
            found = torch.empty(4)
            made(x, found, *given)
        else:
            found = made(x, *given)
            with pytest.raises(OperatorGradientError):
                found.sum().backward()
        torch.testing.assert_close(found, expected)


# gradients ------------------------------------------------------------------------------------------------------------
def test_gradients() -> None:
    a, b = pair(3, 4, dtype=torch.float64, requires_grad=True)
    assert torch.autograd.gradcheck(MUL, (a, b))
    MUL(a, b).sum().backward()
    torch.testing.assert_close(a.grad, b)
    compiled = torch.compile(lambda a, b: MUL(a, b).square(), backend="aot_eager", fullgraph=True)
    found = torch.autograd.grad(compiled(a, b).sum(), (a, b))
    torch.testing.assert_close(found, torch.autograd.grad((a * b).square().sum(), (a, b)))


def test_gradients_by_a_function() -> None:
    made = ours.op(mul, "triptych_test::by_function", out={"c": "a"}, backward=lambda b, grad_c: {"grad_a": grad_c * b})
    a, b = pair(requires_grad=True)
    made(a, b).sum().backward()
    torch.testing.assert_close(a.grad, b)
    assert b.grad is None


def test_a_gradient_without_a_backward_function() -> None:
    made = ours.op(mul, "triptych_test::without_backward", out={"c": "a"})
    a, b = pair(requires_grad=True)
    with torch.no_grad():
        made(a, b)
    found = made(a, b).sum()
    with pytest.raises(OperatorGradientError, match="triptych_test::without_backward has no backward function"):
        found.backward()


def test_a_written_tensor_that_requires_a_gradient_is_refused() -> None:
    a, b = pair()
    with pytest.raises(UnsupportedTensorError, match="requires a gradient"):
        MUL_OUT(a, b, torch.empty(5, 7).requires_grad_())


def test_autograd_notices_what_is_overwritten() -> None:
    a, b = pair()
    x = torch.randn(5, 7, requires_grad=True)
    saved = torch.empty(5, 7)
    result = (x * saved).sum()
    MUL_OUT(a, b, saved)
    with pytest.raises(RuntimeError, match="modified by an inplace operation"):
        result.backward()


# other tensors --------------------------------------------------------------------------------------------------------
@pytest.mark.parametrize("dims", [(0, 0), (1, 1), (None, 0), (0, None), (1, 0)])
def test_vmap(dims: tuple[int | None, int | None]) -> None:
    a = torch.randn(4, 4, 6) if dims[0] is not None else torch.randn(4, 6)
    b = torch.randn(4, 4, 6) if dims[1] is not None else torch.randn(4, 6)
    found = torch.vmap(MUL, in_dims=dims)(a, b)
    torch.testing.assert_close(found, torch.vmap(torch.mul, in_dims=dims)(a, b))


def test_vmap_of_what_is_written() -> None:
    a, b = torch.randn(3, 4, 6), torch.randn(3, 4, 6)
    c = torch.empty(3, 4, 6)

    def written(a: Any, b: Any, c: Any) -> Any:
        MUL_OUT(a, b, c)
        return c

    torch.vmap(written)(a, b, c)
    torch.testing.assert_close(c, a * b)
    with pytest.raises(OperatorDeclarationError, match="each element of the batch would write all of `c`"):
        torch.vmap(written, in_dims=(0, 0, None))(a, b, torch.empty(4, 6))


KINDS: dict[str, Callable[[], tuple[Any, Any]]] = {
    "parameters": lambda: tuple(torch.nn.Parameter(x) for x in pair()),
    "negated": lambda: tuple(torch._neg_view(x) for x in pair()),
    "expanded": lambda: (torch.randn(1, 7).expand(5, 7), torch.randn(5, 7)),
    "every other column": lambda: tuple(x[:, ::2] for x in pair(5, 14)),
    "empty": lambda: pair(0, 7),
    "of inference": lambda: pair(),
    "bfloat16": lambda: pair(dtype=torch.bfloat16),
}


@pytest.mark.parametrize("kind", KINDS)
def test_kinds_of_tensors(kind: str) -> None:
    with torch.inference_mode(kind == "of inference"):
        a, b = KINDS[kind]()
        torch.testing.assert_close(MUL(a, b), a * b)


def test_fake_and_meta_tensors() -> None:
    with torch._subclasses.fake_tensor.FakeTensorMode():
        a, b = torch.empty(4, 6), torch.empty(4, 6)
        assert MUL(a, b).shape == (4, 6)
    y, total = SCALE(torch.empty(4, 6, device="meta"), 2.0)
    assert (y.shape, total.shape, y.device.type) == ((4, 6), (4,), "meta")


SHAPES = [(3, 5), (1, 8), (7, 1)]
DTYPES = ["float32", "float64", "float16", "bfloat16"]


@pytest.mark.parametrize("seed", range(40))
def test_real_and_fake_results_are_alike(seed: int) -> None:
    """Of drawn shapes, types, orders of strides and parameters that results are like."""
    drawn = np.random.default_rng(seed)
    dtype = getattr(torch, DTYPES[drawn.integers(len(DTYPES))])
    rows, columns = SHAPES[drawn.integers(len(SHAPES))]
    a, b = (
        torch.randn(columns, rows).to(dtype).t() if drawn.random() < 0.5 else torch.randn(rows, columns).to(dtype)
        for _ in range(2)
    )
    like = "ab"[drawn.integers(2)]
    transposed = bool(drawn.random() < 0.3)

    def made_anew(a: Any) -> Any:
        return a.new_empty((a.shape[1], a.shape[0])).t()

    made = ours.op(mul, f"triptych_test::drawn{seed}", out={"c": made_anew if transposed else like})
    real = made(a, b)
    fake = made(*(torch.empty_strided(x.shape, x.stride(), dtype=dtype, device="meta") for x in (a, b)))
    torch.testing.assert_close(real, a * b)
    assert (real.shape, real.stride(), real.dtype) == (fake.shape, fake.stride(), fake.dtype)
    assert set(torch.library.opcheck(made.default, (a, b)).values()) == {"SUCCESS"}


# wrong declarations ---------------------------------------------------------------------------------------------------
@tt.jit
def unannotated(a, b: cute.Tensor) -> None:  # type: ignore[no-untyped-def]  # noqa: ANN001 - it is what is tested
    b[0] = a[0]


@tt.jit
def of_pairs(a: tuple[tt.Int32, tt.Int32], b: cute.Tensor) -> None:
    b[0] = a[0]


@tt.jit
def of_many(*a: cute.Tensor) -> None:
    a[0][0] = 1.0


def returns_a_list(a: Any) -> Any:
    return [a]


WRONG: dict[str, tuple[dict[str, Any], str]] = {
    "no namespace": ({"name": "mul"}, "a namespace and a name"),
    "a name of more parts": ({"name": "a::b::c"}, "a namespace and a name"),
    "a result that is no parameter": ({"out": {"d": "a"}}, "`out` names `d`"),
    "a result that is a number": ({"function": scale, "out": {"factor": "x"}}, "`out` names `factor`"),
    "a result like nothing": ({"out": {"c": "x"}}, "like `x`, which no call gives"),
    "a result like itself": ({"out": {"c": "c"}}, "like `c`, which no call gives"),
    "a result like a result": (
        {"function": scale, "out": {"y": "total", "total": "x"}},
        "like `total`, which no call gives",
    ),
    "a result made of what no call gives": ({"out": {"c": lambda z: z}}, "takes `z`, which no call gives"),
    "a result made of a result": ({"out": {"c": lambda c: c}}, "takes `c`, which no call gives"),
    "a result made by a number": ({"out": {"c": 3}}, "does not say how the result `c` is made"),
    "a written tensor that is no parameter": ({"mutates": ("d",)}, "`mutates` names `d`"),
    "a written result": ({"out": {"c": "a"}, "mutates": ("c",)}, "which the operator makes"),
    "no annotation": ({"function": unannotated, "out": {"b": "a"}}, "the type of the parameter `a`"),
    "an annotation without a word": ({"function": of_pairs}, "the type of the parameter `a`"),
    "any number of parameters": ({"function": of_many}, "the type of the parameter `a`"),
    "a kernel": ({"function": mul_kernel}, "made of a `@jit` function"),
    "a plain function": ({"function": pair}, "made of a `@jit` function"),
    "backward of what is written": ({"mutates": ("c",), "backward": mul_backward}, "only make new tensors"),
    "backward without gradients": ({"out": {"c": "a"}, "backward": mul}, "computes no gradient"),
    "backward of another operator": (
        {"out": {"c": "a"}, "backward": lambda q, grad_c: {}},
        "takes `q`, which the operator has not",
    ),
    "backward that is a number": ({"out": {"c": "a"}, "backward": 3}, "computes no gradients"),
}


@pytest.mark.parametrize("name", WRONG)
def test_wrong_declarations_are_refused_at_their_line(name: str) -> None:
    given = {"function": mul, "name": f"triptych_test::wrong{list(WRONG).index(name)}"} | WRONG[name][0]
    with pytest.raises(OperatorDeclarationError, match=r"TT0654") as raised:
        ours.op(given.pop("function"), given.pop("name"), **given)
    assert WRONG[name][1] in str(raised.value)
    assert "test_torch_operators.py" in str(raised.value)


WRONG_AT_THE_CALL: dict[str, tuple[dict[str, Any], int, str]] = {
    "writes what is not said": ({"function": scale, "out": {"y": "x"}}, 3, "writes `total`"),
    "writes nothing that is said": ({"out": {"b": "a"}}, 2, "writes `c`"),
    "never writes a result": ({"out": {"b": "a"}, "mutates": ("c",)}, 2, "never writes the result `b`"),
    "makes no tensor": ({"out": {"c": returns_a_list}}, 2, "returns no tensor"),
}


@pytest.mark.parametrize("name", WRONG_AT_THE_CALL)
def test_what_the_program_shows_to_be_wrong(name: str) -> None:
    """Nothing has run then: no tensor has changed."""
    index = list(WRONG_AT_THE_CALL).index(name)
    given = {"function": mul, "name": f"triptych_test::wrong_call{index}"} | WRONG_AT_THE_CALL[name][0]
    made = ours.op(given.pop("function"), given.pop("name"), **given)
    tensors = [torch.ones(4, 4) for _ in range(3)]
    arguments: Any = tensors[: WRONG_AT_THE_CALL[name][1]]
    if made._function.function is scale.function:
        arguments = (tensors[0], 2.0, torch.ones(4))
    with pytest.raises(OperatorDeclarationError) as raised:
        made(*arguments)
    assert WRONG_AT_THE_CALL[name][2] in str(raised.value)
    assert all((each == 1).all() for each in tensors)


def test_a_first_call_that_is_traced() -> None:
    """It ends the graph; where nothing may, the error says what to write."""
    (a, b), c = pair(), torch.empty(5, 7)
    made = ours.op(mul, "triptych_test::traced_first")
    with pytest.raises(Exception, match=r"name them: `triptych.torch.op\(..., mutates="):
        torch.compile(lambda a, b, c: made(a, b, c), backend="eager", fullgraph=True)(a, b, c)
    torch.compile(lambda a, b, c: made(a, b, c), backend="eager")(a, b, c)
    torch.testing.assert_close(c, a * b)
    torch.compile(lambda a, b, c: made(a, b, c), backend="eager", fullgraph=True)(b, b, c)
    torch.testing.assert_close(c, b * b)


def test_importing_triptych_imports_no_torch() -> None:
    code = "import sys, triptych; assert 'torch' not in sys.modules"
    subprocess.run([sys.executable, "-c", code], check=True)
