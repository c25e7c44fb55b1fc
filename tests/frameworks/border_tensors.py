"""Programs that give a way into a kernel other tensors than plain ones, or call it where PyTorch does more."""

from __future__ import annotations

from concurrent.futures import ThreadPoolExecutor
from typing import Any

import pytest

from tests.frameworks.border_ways import SHAPE, Way, pair, program

torch: Any = pytest.importorskip("torch")
fakes: Any = pytest.importorskip("torch._subclasses.fake_tensor")
dispatch: Any = pytest.importorskip("torch.utils._python_dispatch")
fx: Any = pytest.importorskip("torch.fx.experimental.proxy_tensor")


@program("negative")
def _negative(way: Way) -> Any:
    a, b = pair()
    return way(torch._neg_view(a), b)


@program("a negative one is written")
def _negative_written(way: Way) -> Any:
    return way(*pair(), into=torch._neg_view(torch.zeros(SHAPE))).resolve_neg()


@program("the negative part of a conjugate")
def _conjugate_part(way: Way) -> Any:
    a, b = torch.randn(SHAPE, dtype=torch.complex64).conj().imag, torch.randn(SHAPE)
    assert a.is_neg()
    return way(a, b)


@program("conj")
def _conj(way: Way) -> Any:
    a, b = (torch.randn(SHAPE, dtype=torch.complex64).conj() for _ in range(2))
    return way(a, b)


@program("complex")
def _complex(way: Way) -> Any:
    return way(*(torch.randn(SHAPE, dtype=torch.complex64) for _ in range(2)))


@program("stride 0")
def _stride_0(way: Way) -> Any:
    a, b = torch.randn(SHAPE), torch.randn(1, 7)
    return way(a, b.expand(SHAPE)), way(a.t()[:5, :5], torch.randn(5, 1).expand(5, 5))


@program("stride 0 of a gradient")
def _stride_0_gradient(way: Way) -> Any:
    a, b = pair(requires_grad=True)
    way(a, b).backward(torch.ones(1, 1).expand(SHAPE))
    return a.grad, b.grad


@program("stride 0 of the first")
def _stride_0_first(way: Way) -> Any:
    return way(torch.randn(5, 1).expand(SHAPE), torch.randn(SHAPE), into=torch.empty(SHAPE))


@program("non-contiguous")
def _non_contiguous(way: Way) -> Any:
    a, b = torch.randn(5, 14)[:, ::2], torch.randn(7, 5).t()
    return way(a, b, into=torch.empty(SHAPE)), way(b, a, into=torch.empty(7, 5).t())


@program("columns")
def _columns(way: Way) -> Any:
    a, b = (x.t() for x in pair(7, 5))
    return way(a, b), way(a[1:], b[1:])


@program("empty")
def _empty(way: Way) -> Any:
    return way(*pair(0, 7)), way(*pair(5, 0)), way(*pair(0, 0))


@program("one element")
def _one_element(way: Way) -> Any:
    return way(*pair(1, 1)), way(*(x[2:3, 3:4] for x in pair()))


@program("another rank")
def _rank(way: Way) -> Any:
    return way(*pair(2, 5, 7))


@program("other types")
def _types(way: Way) -> Any:
    a, b = pair()
    return way(a.double(), b.double()), way(a.half(), b.half()), way(a.bfloat16(), b.bfloat16())


@program("mixed types")
def _mixed(way: Way) -> Any:
    a, b = pair()
    return way(a, b.double(), into=torch.empty(SHAPE))


@program("meta")
def _meta(way: Way) -> Any:
    a, b = (x.to("meta") for x in pair())
    found = way(a, b)
    return torch.tensor(found.shape), torch.tensor(found.stride()), torch.tensor(found.is_meta)


@program("meta and CPU")
def _meta_mixed(way: Way) -> Any:
    a, b = pair()
    return way(a, b.to("meta"))


@program("fake")
def _fake(way: Way) -> Any:
    with fakes.FakeTensorMode():
        found = way(*pair())
        assert isinstance(found, fakes.FakeTensor)
    return torch.tensor(found.shape), torch.tensor(found.stride())


@program("fake outside of its mode")
def _fake_outside(way: Way) -> Any:
    with fakes.FakeTensorMode():
        a, b = pair()
    found = way(a, b)
    return torch.tensor(found.shape), torch.tensor(isinstance(found, fakes.FakeTensor))


@program("functional")
def _functional(way: Way) -> Any:
    return torch.func.functionalize(way)(*pair())


@program("functional by hand")
def _functional_by_hand(way: Way) -> Any:
    a, b = (torch._to_functional_tensor(x) for x in pair())
    torch._enable_functionalization(reapply_views=True)
    try:
        found = way(a, b)
        torch._sync(found)
        return torch._from_functional_tensor(found)
    finally:
        torch._disable_functionalization()


@program("vmap")
def _vmap(way: Way) -> Any:
    return torch.vmap(way)(*pair(3, 5, 7)), torch.vmap(way, in_dims=(0, None))(torch.randn(3, 5, 7), torch.randn(SHAPE))


@program("vmap in vmap")
def _vmap_vmap(way: Way) -> Any:
    return torch.vmap(torch.vmap(way, in_dims=(1, 0)))(torch.randn(2, 5, 3, 7), torch.randn(2, 3, 5, 7))


@program("vmap of a gradient")
def _vmap_grad(way: Way) -> Any:
    return torch.vmap(torch.func.grad(lambda a, b: way(a, b).sum()))(*pair(3, 5, 7))


@program("grad")
def _grad(way: Way) -> Any:
    a, b = pair()
    return torch.func.grad(lambda a: way(a, b).sum())(a)


@program("grad of what is closed over")
def _grad_other(way: Way) -> Any:
    a, b = pair()
    return torch.func.grad(lambda a: (way(b, b) * a).sum())(a)


@program("jvp")
def _jvp(way: Way) -> Any:
    return torch.func.jvp(way, pair(), pair())


@program("vjp")
def _vjp(way: Way) -> Any:
    found, back = torch.func.vjp(way, *pair())
    return found, *back(torch.ones(SHAPE))


@program("jacrev")
def _jacrev(way: Way) -> Any:
    return torch.func.jacrev(lambda a: way(a, a))(torch.randn(2, 3))


@program("jacfwd")
def _jacfwd(way: Way) -> Any:
    return torch.func.jacfwd(lambda a: way(a, a))(torch.randn(2, 3))


class Plain(torch.Tensor):  # type: ignore[misc,unused-ignore]
    """A class that means what its memory holds."""


@program("tensor subclass")
def _subclass(way: Way) -> Any:
    a, b = (x.as_subclass(Plain) for x in pair())
    return way(a, b).as_subclass(torch.Tensor)


class Tripled(torch.Tensor):  # type: ignore[misc,unused-ignore]
    """A class whose elements are three times what its memory holds."""

    @classmethod
    def __torch_function__(cls, function: Any, types: Any, args: Any = (), kwargs: Any = None) -> Any:
        def real(x: Any) -> Any:
            return x.as_subclass(torch.Tensor) * 3 if isinstance(x, Tripled) else x

        return function(*map(real, args), **(kwargs or {}))


@program("subclass with another meaning of functions")
def _subclass_function(way: Way) -> Any:
    a, b = pair()
    return way(a.as_subclass(Tripled), b, into=torch.empty(SHAPE))


class Wrapped(torch.Tensor):  # type: ignore[misc,unused-ignore]
    """A class that holds its elements in another tensor, doubled."""

    inner: Any

    @staticmethod
    def __new__(cls: Any, inner: Any) -> Any:
        made = torch.Tensor._make_wrapper_subclass(cls, inner.shape, dtype=inner.dtype)
        made.inner = inner
        return made

    @classmethod
    def __torch_dispatch__(cls, function: Any, types: Any, args: Any = (), kwargs: Any = None) -> Any:
        return function(*(x.inner / 2 if isinstance(x, Wrapped) else x for x in args), **(kwargs or {}))


@program("subclass that wraps")
def _subclass_wraps(way: Way) -> Any:
    a, b = pair()
    return way(Wrapped(a * 2), b, into=torch.empty(SHAPE))


class Watching(dispatch.TorchDispatchMode):  # type: ignore[misc,unused-ignore]
    """A mode that records nothing."""

    def __torch_dispatch__(self, function: Any, types: Any, args: Any = (), kwargs: Any = None) -> Any:
        return function(*args, **(kwargs or {}))


@program("a mode that watches")
def _watching(way: Way) -> Any:
    with Watching():
        return way(*pair())


@program("a mode of functions")
def _function_mode(way: Way) -> Any:
    with torch.overrides.BaseTorchFunctionMode():
        return way(*pair())


@program("a device for new tensors")
def _device(way: Way) -> Any:
    with torch.device("cpu"):
        return way(*pair())


@program("make_fx")
def _make_fx(way: Way) -> Any:
    return fx.make_fx(lambda a, b: way(a, b) + 1)(*pair())(*pair())


@program("make_fx with symbols")
def _make_fx_symbols(way: Way) -> Any:
    return fx.make_fx(lambda a, b: way(a, b) + 1, tracing_mode="symbolic")(*pair())(*pair(4, 6))


@program("jit.trace")
def _jit_trace(way: Way) -> Any:
    return torch.jit.trace(lambda a, b: way(a, b) + 1, pair(), check_trace=False)(*pair())


@program("sparse")
def _sparse(way: Way) -> Any:
    a, b = pair()
    return way(a.to_sparse(), b.to_sparse()).to_dense()


@program("another shape of storage")
def _storage(way: Way) -> Any:
    whole = torch.randn(100)
    return way(whole.as_strided(SHAPE, (8, 1), 3), whole.as_strided(SHAPE, (1, 9), 1), into=torch.empty(SHAPE))


@program("autocast")
def _autocast(way: Way) -> Any:
    with torch.autocast("cpu", torch.bfloat16):
        return way(*pair())


@program("hooks of saved tensors")
def _hooks(way: Way) -> Any:
    a, b = pair(requires_grad=True)
    with torch.autograd.graph.saved_tensors_hooks(lambda x: x * 2, lambda x: x / 2):
        found = way(a, b)
    found.sum().backward()
    return a.grad, b.grad


@program("backward twice")
def _twice(way: Way) -> Any:
    a, b = pair(requires_grad=True)
    found = way(a, b).sum()
    found.backward(retain_graph=True)
    found.backward()
    return a.grad, b.grad


@program("a result that nobody needs")
def _unneeded(way: Way) -> Any:
    a, b = pair(requires_grad=True)
    way(a, b)
    a.sum().backward()
    return a.grad


@program("nested")
def _nested(way: Way) -> Any:
    a, b = (torch.nested.nested_tensor([x, x]) for x in pair())
    return way(a, b).unbind()


@program("quantized")
def _quantized(way: Way) -> Any:
    a, b = (torch.quantize_per_tensor(x, 0.1, 0, torch.qint8) for x in pair())
    return way(a, b)


@program("8 threads")
def _threads(way: Way) -> Any:
    pairs = [pair() for _ in range(64)]
    with ThreadPoolExecutor(8) as pool:
        return tuple(pool.map(lambda x: way(*x), pairs))


@program("8 threads with gradients")
def _threads_gradients(way: Way) -> Any:
    def derived(i: int) -> Any:
        a, b = torch.full(SHAPE, float(i), requires_grad=True), torch.full(SHAPE, i + 1.0, requires_grad=True)
        way(a, b).sum().backward()
        return torch.stack([a.grad, b.grad])

    with ThreadPoolExecutor(8) as pool:
        return tuple(pool.map(derived, range(32)))
