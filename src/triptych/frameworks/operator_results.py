"""Results of operators: made in the same way where tensors have memory and where they have none.

Input: a signature, which says what each result is like or which function makes it. Output: functions of the operator's
parameters: one that makes the results and runs a function, and the fake kernel.
"""

from __future__ import annotations

import inspect
from collections.abc import Callable
from functools import partial
from typing import Any, TypeAlias

from triptych.compat.torch import current_stream, torch
from triptych.frameworks.operator_borders import check_made
from triptych.frameworks.operator_signatures import OperatorSignature
from triptych.support.source import Span

Value: TypeAlias = Any
"""A tensor of torch, which has no types here."""


def kernels(
    name: str, signature: OperatorSignature, call: Callable[..., None], span: Span | None
) -> tuple[Callable[..., Any], Callable[..., Any]]:
    """What runs for tensors with memory, by `call`, and what answers for those without.

    As text, which Python compiles once: walking over the signature would cost more than the call.
    """
    names: dict[str, Any] = {"__name__": __name__, "_like": _like, "_stream": current_stream, "_call": call}
    head = []
    for each in signature.given:
        names[f"_{each.name}"] = each.default
        head.append(each.name if each.default is inspect.Parameter.empty else f"{each.name}=_{each.name}")
    lines = []
    for result, allocation in signature.results.items():
        if isinstance(allocation, str):
            lines.append(f"{result} = _like({allocation})")
            continue
        names[f"_make_{result}"] = partial(_made, name, result, allocation, span)
        wanted = ", ".join(f"{each}={each}" for each in inspect.signature(allocation).parameters)
        lines.append(f"{result} = _make_{result}({wanted})")
    values = {each.name: each.name if each.kind else "_stream()" for each in signature.parameters}
    named = {each.name for each in signature.parameters if each.is_keyword}
    passed = ", ".join(f"{name}={value}" if name in named else value for name, value in values.items())
    end = f"return {', '.join(signature.results)}"
    for function, body in (("run", [*lines, f"_call({passed})", end]), ("fake", [*lines, end])):
        exec(f"def {function}({', '.join(head)}):\n    " + "\n    ".join(body), names)
    return names["run"], names["fake"]


def _made(name: str, result: str, allocation: Callable[..., Any], span: Span | None, **given: Value) -> Any:
    """A result by a function of parameters."""
    made = allocation(**given)
    check_made(result, name, made, given, span)
    return made


def _like(tensor: Value) -> Any:
    """A new tensor with the shape, the type and the order of strides of another one, and no gaps.

    `torch.empty_like` gives modes of one element other strides where tensors have memory than where they have none.
    Boxed kernels do the same in machine code.
    """
    if tensor.is_contiguous():
        return torch.empty_like(tensor, memory_format=torch.contiguous_format)
    strides, step = [0] * tensor.dim(), 1
    for mode in sorted(range(tensor.dim()), key=lambda mode: (tensor.stride(mode), -mode)):
        strides[mode] = step
        step = step * tensor.size(mode)
    return tensor.new_empty_strided(tensor.size(), strides)
