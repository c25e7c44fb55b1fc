"""Gradients, tangents and lazily negated tensors at PyTorch operators: what is refused, and what is resolved first.

Input: the tensors of a call. Output: none, or an error that names the operator; kernels for the keys of such tensors.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any, TypeAlias

from triptych.compat.torch import torch
from triptych.diagnostics.tensor_errors import OperatorDeclarationError, UnsupportedTensorError
from triptych.frameworks.operator_signatures import OperatorSignature
from triptych.interop.torch_tensors import lacks_memory
from triptych.support.source import Span
from triptych.support.tracebacks import caller
from triptych.support.wording import with_article

Value: TypeAlias = Any
"""A tensor of torch, which has no types here, or a number."""
RESOLVING = ("Negative", "Conjugate")
"""Dispatch keys of tensors whose elements are computed when they are read."""


def is_followed(tensor: Value) -> bool:
    """Whether a gradient of a tensor is followed now, by autograd or by a transform of `torch.func`."""
    return isinstance(tensor, torch.Tensor) and tensor.requires_grad and torch.is_grad_enabled()


def has_tangent(tensor: Value) -> bool:
    """Whether a tensor carries a tangent of forward-mode differentiation."""
    forward = torch.autograd.forward_ad
    if forward._current_level < 0 or not isinstance(tensor, torch.Tensor):
        return False
    return forward.unpack_dual(tensor).tangent is not None


def check_unfollowed(name: str, names: Sequence[str], args: Sequence[Value]) -> None:
    """Refuse tensors that an operator which writes its arguments would cut off from differentiation."""
    for parameter, value in zip(names, args, strict=False):
        if is_followed(value):
            raise UnsupportedTensorError(
                f"argument {parameter!r} of {name} requires a gradient, and what writes its arguments has none",
                span=caller(),
                found="requires_grad=True while autograd follows",
                expected="a tensor that autograd does not follow",
                instead="`triptych.torch.op(..., out=..., backward=...)`, which makes its results, or `.detach()`",
            )
    check_no_tangent(name, names, args)


def check_no_tangent(name: str, names: Sequence[str], args: Sequence[Value]) -> None:
    """Refuse tensors whose tangent an operator would lose."""
    if torch.autograd.forward_ad._current_level < 0:
        return
    for parameter, value in zip(names, args, strict=False):
        if has_tangent(value):
            raise UnsupportedTensorError(
                f"argument {parameter!r} of {name} carries a tangent, which the operator would lose",
                span=caller(),
                found="a dual tensor of forward-mode differentiation",
                expected="a tensor without a tangent",
                instead="the call in the `forward` of a `torch.autograd.Function` with a `jvp`",
            )


def without_memory(name: str, fake: Callable[..., Any]) -> Callable[..., Any]:
    """A fake kernel that refuses tensors with memory: torch asks it for them if another argument is on `meta`."""

    def checked(*args: Value, **kwargs: Value) -> Any:
        for value in (*args, *kwargs.values()):
            if isinstance(value, torch.Tensor) and not lacks_memory(value):
                raise UnsupportedTensorError(
                    f"{name} is given tensors with memory, and others without",
                    span=caller(),
                    found=f"a tensor on the device {value.device}, beside one on the device meta",
                    expected="tensors on one device",
                )
        return fake(*args, **kwargs)

    return checked


def check_made(result: str, name: str, made: Value, given: Mapping[str, Value], span: Span | None) -> None:
    """Refuse what a function of parameters has made for a result: it must be a new tensor with elements of its own."""
    what = _unfit(made, given)
    if what:
        raise OperatorDeclarationError(
            f"what makes the result `{result}` of {name} returns no tensor of its own",
            span=span,
            found=what,
            expected="a new tensor with shape, strides, type and device of the result",
            instead="such as `x.new_empty(x.shape)`",
        )


def check_returns(name: str, has_results: bool, span: Span | None) -> None:
    """Refuse a function whose returned numbers nobody would get."""
    if has_results:
        raise OperatorDeclarationError(
            f"the function of {name} returns numbers, which the operator would lose",
            span=span,
            found="`return` with values",
            expected="a function that writes its results to tensors",
            instead="a tensor of one element, named by `out`",
        )


def _unfit(made: Value, given: Mapping[str, Value]) -> str:
    """What is wrong with it; empty if nothing is."""
    if not isinstance(made, torch.Tensor):
        return with_article(type(made).__name__)
    tensors = {name: value for name, value in given.items() if isinstance(value, torch.Tensor)}
    if made.layout is not torch.strided or made.is_nested:
        return f"a tensor of the layout {made.layout}"
    if any(type(step) is int and not step and _is_long(n) for n, step in zip(made.shape, made.stride(), strict=True)):
        return f"a tensor whose elements share memory: strides {tuple(made.stride())}"
    if made.requires_grad or made.is_neg() or made.is_conj():
        return "a tensor that requires a gradient, or whose elements are computed when they are read"
    if lacks_memory(made) and not any(map(lacks_memory, tensors.values())):
        return f"a tensor without memory, on the device {made.device}"
    storage = made.untyped_storage()._cdata
    shared = next((name for name, value in tensors.items() if _storage(value) == storage), None)
    return f"a tensor in the memory of the argument `{shared}`" if shared else ""


def _is_long(extent: Value) -> bool:
    return type(extent) is not int or extent > 1


def _storage(tensor: Value) -> int | None:
    """None for those that have no storage, as sparse ones."""
    return tensor.untyped_storage()._cdata if tensor.layout is torch.strided and not tensor.is_nested else None


def unfollowed(name: str, signature: OperatorSignature, operator: Callable[..., Any]) -> Callable[..., Any]:
    """For autograd's dispatch key: an operator that writes refuses what is followed, and else goes on.

    The kernel below asks the same, but under `torch.func` it gets tensors of which nobody says that they are followed:
    their gradients would be zero.
    """
    names = [each.name for each in signature.given]
    below = torch._C._AutoDispatchBelowAutograd

    def follow(*args: Value) -> Any:
        check_unfollowed(name, names, args)
        with below():
            return operator(*args)

    return follow


def resolved(name: str, signature: OperatorSignature, operator: Callable[..., Any]) -> Callable[..., Any]:
    """For the dispatch keys of `RESOLVING`: an operator that writes reads tensors whose elements are in memory."""
    names = [each.name for each in signature.given]

    def resolve(*args: Value) -> None:
        for parameter, value in zip(names, args, strict=False):
            if parameter in signature.written and isinstance(value, torch.Tensor):
                _check_in_memory(name, parameter, value)
        operator(*(value.resolve_neg().resolve_conj() if isinstance(value, torch.Tensor) else value for value in args))

    return resolve


def resolve_lazy(library: Value, name: str, signature: OperatorSignature, operator: Callable[..., Any]) -> None:
    """Register what resolves such tensors."""
    for key in RESOLVING:
        library.impl(signature.name, resolved(name, signature, operator), key)


def _check_in_memory(name: str, parameter: str, value: Value) -> None:
    if value.is_neg() or value.is_conj():
        raise UnsupportedTensorError(
            f"{name} would write {parameter!r}, whose memory does not hold its elements",
            span=caller(),
            found="a view that negates or conjugates its elements when they are read",
            expected="a tensor whose elements are in memory",
            instead="a new tensor, and `.copy_()` of it",
        )
