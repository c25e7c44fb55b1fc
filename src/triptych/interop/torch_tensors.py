"""Torch tensors at a call: autograd's state is checked before, and its version counter advanced after.

Where compiled code reads tensors itself it asks the same, by `torch_fields`. torch is never imported for this.
"""

from __future__ import annotations

import sys
from typing import Any

from triptych.diagnostics.tensor_errors import UnsupportedTensorError
from triptych.interop.torch_fields import is_torch
from triptych.interop.torch_tracers import check_untraced


# Any: what offers memory is asked of its class; so in all of this file.
def check_settled(value: Any) -> None:
    """Refuse torch's tensors whose memory is not what they stand for, or whose changes autograd would have to know.

    A tensor that requires a gradient is one only where autograd follows: not under `torch.no_grad()`, nor in the
    `forward` of a `torch.autograd.Function`, whose `backward` says what the gradient is.
    """
    check_untraced(value)
    kind = type(value)
    if not hasattr(kind, "requires_grad"):
        return
    if lacks_memory(value):
        raise UnsupportedTensorError(
            f"this {kind.__name__} has no memory",
            found="a tensor on the device meta",
            expected="a tensor with elements",
            instead="`compile(function, x)`, which needs none, and a call of the result with tensors that have memory",
        )
    if value.requires_grad is True and _follows_gradients():
        raise UnsupportedTensorError(
            f"this {kind.__name__} requires a gradient, and autograd does not see what compiled code does",
            found="requires_grad=True while autograd follows",
            expected="a tensor that autograd does not follow",
            instead="`.detach()`, which shares the memory; `with torch.no_grad():`; or the call in the `forward` of a "
            "`torch.autograd.Function` whose `backward` computes the gradient",
        )
    if _has_tangent(value):
        raise UnsupportedTensorError(
            f"this {kind.__name__} carries a tangent, which compiled code would lose",
            found="a dual tensor of forward-mode differentiation",
            expected="a tensor without a tangent",
            instead="the call in the `forward` of a `torch.autograd.Function` with a `jvp`, or "
            "`torch.autograd.forward_ad.unpack_dual(x).primal`",
        )
    for bit, resolve in (("is_neg", "resolve_neg"), ("is_conj", "resolve_conj")):
        if hasattr(kind, bit) and getattr(value, bit)() is True:
            raise UnsupportedTensorError(
                f"the memory of this {kind.__name__} does not hold its elements yet",
                found=f"{bit}() is True: the elements are computed when they are read",
                expected="a tensor whose elements are in memory",
                instead=f"`.{resolve}()`",
            )


def check_described(value: Any) -> None:
    """Refuse what no function can be compiled for: what stands for other tensors, or is recorded."""
    if not lacks_memory(value):
        check_untraced(value)


def lacks_memory(value: Any) -> bool:
    """Whether a tensor has type, extents and strides only: one of `FakeTensorMode`, or on the device `meta`."""
    fakes: Any = sys.modules.get("torch._subclasses.fake_tensor")
    is_fake = fakes is not None and isinstance(value, fakes.FakeTensor)
    return is_fake or (is_torch(type(value)) and value.device.type == "meta")


def exporting(value: Any) -> Any:
    """What is asked for the memory: torch exports no tensor that requires a gradient, even where nobody follows it."""
    return value.detach() if getattr(value, "requires_grad", False) is True else value


def count_change(tensor: Any) -> None:
    """Tell autograd that a tensor has changed: a backward pass that needs what it has saved of it is then an error."""
    if not tensor.is_inference():
        sys.modules["torch"].autograd.graph.increment_version(tensor)


def _follows_gradients() -> bool:
    torch: Any = sys.modules.get("torch")
    return torch is None or torch.is_grad_enabled()


def _has_tangent(value: Any) -> bool:
    forward: Any = sys.modules.get("torch.autograd.forward_ad")
    if forward is None or forward._current_level < 0 or not isinstance(value, sys.modules["torch"].Tensor):
        return False
    return forward.unpack_dual(value).tangent is not None
