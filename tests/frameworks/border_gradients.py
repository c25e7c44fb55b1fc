"""Programs that differentiate, or might, around a way into a kernel."""

from __future__ import annotations

from typing import Any

import pytest

from tests.frameworks.border_ways import SHAPE, Way, pair, program

torch: Any = pytest.importorskip("torch")
forward_ad: Any = pytest.importorskip("torch.autograd.forward_ad")
checkpoints: Any = pytest.importorskip("torch.utils.checkpoint")


@program("requires_grad")
def _requires_grad(way: Way) -> Any:
    a, b = pair(requires_grad=True)
    found = way(a, b)
    (found * torch.arange(7)).sum().backward()
    return found, a.grad, b.grad


@program("one requires a gradient")
def _one(way: Way) -> Any:
    (a, _), (b, _) = pair(), pair(requires_grad=True)
    way(a, b).sum().backward()
    return a.grad, b.grad


@program("an intermediate result requires a gradient")
def _intermediate(way: Way) -> Any:
    a, b = pair(requires_grad=True)
    way(a.exp(), b.sin()).square().sum().backward()
    return a.grad, b.grad


@program("both are one tensor")
def _same(way: Way) -> Any:
    a, _ = pair(requires_grad=True)
    way(a, a).sum().backward()
    return a.grad


@program("second derivative")
def _second(way: Way) -> Any:
    a, b = pair(requires_grad=True)
    (first,) = torch.autograd.grad(way(a, b).square().sum(), a, create_graph=True)
    return torch.autograd.grad(first.sum(), (a, b))


@program("checkpoint")
def _checkpoint(way: Way) -> Any:
    a, b = pair(requires_grad=True)
    checkpoints.checkpoint(lambda a, b: way(a.sin(), b).sin(), a, b, use_reentrant=False).sum().backward()
    return a.grad, b.grad


@program("no_grad")
def _no_grad(way: Way) -> Any:
    a, b = pair(requires_grad=True)
    with torch.no_grad():
        found = way(a, b)
    return found, torch.tensor(found.requires_grad)


@program("inference mode")
def _inference(way: Way) -> Any:
    a, b = pair(requires_grad=True)
    with torch.inference_mode():
        return way(a, b) + way(torch.ones(SHAPE), torch.ones(SHAPE))


@program("tensors of inference outside")
def _inference_outside(way: Way) -> Any:
    with torch.inference_mode():
        a, b = pair()
    return way(a, b)


class Product(torch.autograd.Function):  # type: ignore[misc,unused-ignore]
    """A rule for the gradient around a way."""

    @staticmethod
    def forward(ctx: Any, a: Any, b: Any, way: Way) -> Any:
        ctx.save_for_backward(a, b)
        ctx.way = way
        return way(a, b)

    @staticmethod
    def backward(ctx: Any, gradient: Any) -> Any:
        a, b = ctx.saved_tensors
        return ctx.way(gradient.contiguous(), b), ctx.way(gradient.contiguous(), a), None


@program("autograd.Function")
def _function(way: Way) -> Any:
    a, b = pair(requires_grad=True)
    found = Product.apply(a, b, way)
    found.square().sum().backward()
    return found, a.grad, b.grad


@program("Parameter")
def _parameter(way: Way) -> Any:
    a, b = (torch.nn.Parameter(x) for x in pair())
    way(a, b).sum().backward()
    return a.grad, b.grad


@program("Parameter under no_grad")
def _parameter_no_grad(way: Way) -> Any:
    with torch.no_grad():
        return way(*(torch.nn.Parameter(x) for x in pair()))


@program("a Parameter is written under no_grad")
def _parameter_written(way: Way) -> Any:
    weight = torch.nn.Parameter(torch.zeros(SHAPE))
    with torch.no_grad():
        way(*pair(), into=weight)
    return weight.detach(), torch.tensor(weight.requires_grad)


@program("a leaf that requires a gradient is written")
def _leaf_written(way: Way) -> Any:
    return way(*pair(), into=torch.zeros(SHAPE, requires_grad=True))


@program("a saved tensor is overwritten")
def _saved(way: Way) -> Any:
    x, saved = torch.randn(SHAPE, requires_grad=True), torch.randn(SHAPE)
    loss = (x * saved).sum()
    way(*pair(), into=saved)
    loss.backward()
    return x.grad


@program("a view of a saved tensor is overwritten")
def _saved_view(way: Way) -> Any:
    x, saved = torch.randn(6, 7, requires_grad=True), torch.randn(6, 7)
    loss = (x * saved).sum()
    way(*pair(), into=saved[1:])
    loss.backward()
    return x.grad


@program("what the way has saved is overwritten")
def _saved_by_it(way: Way) -> Any:
    a, b = pair(requires_grad=True)
    c = a * 1
    found = way(c, b).sum()
    c.zero_()
    found.backward()
    return b.grad


@program("the result is overwritten")
def _result_written(way: Way) -> Any:
    a, b = pair(requires_grad=True)
    found = way(a, b)
    found.mul_(2)
    found.sum().backward()
    return a.grad, b.grad


@program("forward AD")
def _forward(way: Way) -> Any:
    a, b = pair()
    with forward_ad.dual_level():
        found = forward_ad.unpack_dual(way(forward_ad.make_dual(a, torch.ones(SHAPE)), b))
        return found.primal, found.tangent


@program("forward AD, of what is written")
def _forward_written(way: Way) -> Any:
    c = torch.zeros(SHAPE)
    with forward_ad.dual_level():
        dual = forward_ad.make_dual(c, torch.ones(SHAPE))
        found = forward_ad.unpack_dual(way(*pair(), into=dual))
        tangent = torch.zeros(SHAPE) if found.tangent is None else found.tangent
        return found.primal, tangent
