"""Gradients of operators: the node that autograd gets where it follows, and what the node computes.

Input: an operator, and what computes its gradients: a function or an operator that takes parameters, results, and
`grad_` of results, and gives `grad_` of parameters. Output: a function for autograd's dispatch key.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any, NamedTuple, TypeAlias

from triptych.compat.torch import torch
from triptych.diagnostics.tensor_errors import OperatorDeclarationError, OperatorGradientError
from triptych.frameworks.operator_borders import check_no_tangent
from triptych.frameworks.operator_signatures import TENSORS, OperatorSignature
from triptych.support.source import Span

from torch._functorch.utils import enable_single_level_autograd_function  # isort: skip - after the error without torch

GRADIENT = "grad_"
"""What a gradient is called: `grad_` and the name of the parameter or of the result."""
Value: TypeAlias = Any
"""A tensor of torch, which has no types here, or a number; or an object of torch's own."""


class Backward(NamedTuple):
    """What computes gradients."""

    function: Callable[..., Any]
    takes: Sequence[str]
    gives: Sequence[str] | None
    """The gradients that it returns, in their order; None where it returns a dict."""


def following(
    name: str,
    signature: OperatorSignature,
    dispatched: Callable[..., Any],
    backward: Backward | None,
    span: Span | None,
) -> Callable[..., Any]:
    """What puts a node into autograd's graph where a gradient is asked for, and elsewhere goes on.

    `torch.library.register_autograd` does the same, and takes 40 us for a call without a gradient.
    """
    saved, derive = _refusing(name, span) if backward is None else _deriving(signature, backward)
    defaults = tuple(each.default for each in signature.given)

    # One level: the dispatcher comes here for each transform of `torch.func`, and `Function` would ask for their rules.
    class Node(torch.autograd.function._SingleLevelFunction):  # type: ignore[misc,unused-ignore]
        @staticmethod
        def forward(ctx: Value, *args: Value) -> Any:
            output = dispatched(*args)  # gradients are not followed here
            outputs = output if isinstance(output, tuple) else (output,)
            values = (*args, *outputs)
            ctx.numbers = [values[i] for i in saved.numbers]
            ctx.save_for_backward(*[values[i] for i in saved.tensors])
            return output

        @staticmethod
        def backward(ctx: Value, *upstream: Value) -> Any:
            return derive(ctx, upstream)

    Node.__name__ = Node.__qualname__ = f"{name}_backward"
    apply: Any = Node.apply
    single_level, is_transformed = enable_single_level_autograd_function, torch._C._are_functorch_transforms_active
    names = [each.name for each in signature.given]
    tensors = tuple(i for i, each in enumerate(signature.given) if each.kind in TENSORS)
    is_followed, without_autograd = torch.is_grad_enabled, torch._C._AutoDispatchBelowAutograd

    def follow(*args: Value) -> Any:
        args = (*args, *defaults[len(args) :])  # the dispatcher leaves out the last ones that are defaults
        check_no_tangent(name, names, args)
        if is_followed():
            for i in tensors:
                if args[i] is not None and args[i].requires_grad:
                    if not is_transformed():
                        return apply(*args)
                    with single_level():
                        return apply(*args)
        with without_autograd():
            return dispatched(*args)

    return follow


class _Saved(NamedTuple):
    """What the node keeps of parameters and results, by number: tensors, and what is none."""

    tensors: Sequence[int]
    numbers: Sequence[int]


def _deriving(signature: OperatorSignature, backward: Backward) -> tuple[_Saved, Callable[..., tuple[Any, ...]]]:
    names = [each.name for each in signature.given]
    results = list(signature.results)
    known = [*names, *results]
    is_tensor = [each.kind in TENSORS for each in signature.given] + [True] * len(results)
    wanted = [known.index(name) for name in backward.takes if name in known]
    saved = _Saved([i for i in wanted if is_tensor[i]], [i for i in wanted if not is_tensor[i]])
    # Where each argument of the function is found: among the tensors, the numbers, or the upstream gradients.
    places = [*(known[i] for i in saved.tensors), *(known[i] for i in saved.numbers), *(GRADIENT + r for r in results)]
    order = [places.index(name) for name in backward.takes]
    given = [GRADIENT + name for name in names]

    def derive(ctx: Value, upstream: tuple[Value, ...]) -> tuple[Any, ...]:
        values = [*ctx.saved_tensors, *ctx.numbers, *(each.contiguous() for each in upstream)]
        arguments = [values[i] for i in order]
        if backward.gives is None:
            found = backward.function(**dict(zip(backward.takes, arguments, strict=True)))
        else:
            made = backward.function(*arguments)
            found = dict(zip(backward.gives, made if isinstance(made, tuple) else (made,), strict=True))
        return tuple([found.get(name) for name in given])

    return saved, derive


def _refusing(name: str, span: Span | None) -> tuple[_Saved, Callable[..., tuple[Any, ...]]]:
    def derive(ctx: Value, upstream: tuple[Value, ...]) -> tuple[Any, ...]:
        raise OperatorGradientError(
            f"the operator {name} has no backward function",
            span=span,
            found=f"a gradient that is asked for through {name}",
            expected="a function that computes it",
            instead=f'`triptych.torch.op(..., "{name}", ..., backward=function)`',
        )

    return _Saved((), ()), derive


def check_taken(name: str, signature: OperatorSignature, takes: Sequence[str], span: Span | None) -> None:
    """Refuse a backward function that takes what the operator has not."""
    known = [each.name for each in signature.given]
    known += [*signature.results, *(GRADIENT + result for result in signature.results)]
    for unknown in takes:
        if unknown not in known:
            raise OperatorDeclarationError(
                f"the backward function of {name} takes `{unknown}`, which the operator has not",
                span=span,
                found=f"`{unknown}`",
                expected=", ".join(known),
            )
