"""Gradients, tangents and lazily negated tensors at PyTorch operators: what is refused, and what is resolved first.

Input: the tensors of a call. Output: none, or an error that names the operator; kernels for the keys of such tensors.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any, TypeAlias

from triptych.compat.torch import torch
from triptych.diagnostics.tensor_errors import UnsupportedTensorError
from triptych.frameworks.operator_signatures import OperatorSignature
from triptych.interop.torch_tensors import lacks_memory
from triptych.support.tracebacks import caller

Value: TypeAlias = Any
"""A tensor of torch, which has no types here, or a number."""
_RESOLVING = ("Negative", "Conjugate")
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


def guard_written(library: Value, name: str, signature: OperatorSignature, operator: Value) -> None:
    """Register what an operator that writes does with arguments that autograd follows, which it refuses: gradients of
    `torch.func` would be zero. Those whose elements are not in memory are resolved first."""
    redispatch, below = operator.redispatch, torch._C._after_autograd_keyset
    names = [each.name for each in signature.given]

    def unfollowed(keys: Value, *args: Value) -> Any:
        check_unfollowed(name, names, args)
        return redispatch(keys & below, *args)

    def resolved(*args: Value) -> None:
        for parameter, value in zip(names, args, strict=False):
            if parameter in signature.written and isinstance(value, torch.Tensor):
                _check_in_memory(name, parameter, value)
        operator(*(value.resolve_neg().resolve_conj() if isinstance(value, torch.Tensor) else value for value in args))

    library.impl(signature.name, unfollowed, "Autograd", with_keyset=True)
    for key in _RESOLVING:
        library.impl(signature.name, resolved, key)


def _check_in_memory(name: str, parameter: str, value: Value) -> None:
    if value.is_neg() or value.is_conj():
        raise UnsupportedTensorError(
            f"{name} would write {parameter!r}, whose memory does not hold its elements",
            span=caller(),
            found="a view that negates or conjugates its elements when they are read",
            expected="a tensor whose elements are in memory",
            instead="a new tensor, and `.copy_()` of it",
        )
