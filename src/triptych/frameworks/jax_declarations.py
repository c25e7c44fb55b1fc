"""Declarations of calls of JAX: what a user says of a function, checked where it is said."""

from __future__ import annotations

import inspect
from collections.abc import Callable, Mapping, Sequence
from typing import Any

from triptych.diagnostics.tensor_errors import OperatorDeclarationError
from triptych.driver.jitting import JitFunction, KernelFunction
from triptych.frameworks.jax_arrays import ArrayFacts, TensorSpec, Tree
from triptych.metastage.arguments.specs import Parameter
from triptych.support.dataclass import dataclass
from triptych.support.source import Span
from triptych.support.wording import did_you_mean, with_article

_RULES = ("sequential", "expand_dims", "broadcast_all")
_POSITIONAL = (inspect.Parameter.POSITIONAL_ONLY, inspect.Parameter.POSITIONAL_OR_KEYWORD)

Specs = Sequence[TensorSpec | None] | None


@dataclass(frozen=True, slots=True)
class Declaration:
    """What a call is declared as."""

    outputs: Tree
    """A tree of shapes and types, or a function of the inputs' that gives one."""
    aliases: Mapping[int, int]
    input_specs: Specs = None
    output_specs: Specs = None
    is_static: bool = False
    takes_stream: bool = False
    """Whether the first parameter is a stream, however it is annotated."""
    vjp: Callable[..., Any] | None = None
    vmap: str | Callable[..., Any] = "sequential"


@dataclass(frozen=True, slots=True)
class Bound:
    """The inputs and outputs of one call, and which outputs have parameters of their own, in their order."""

    inputs: tuple[ArrayFacts, ...]
    made: tuple[ArrayFacts, ...]
    passed: tuple[int, ...]


def called_here(span: Span | None) -> list[tuple[str, Span]]:
    """Beside the line of a declaration, that of the call."""
    return [] if span is None else [("called here", span)]


def positional_parameters(function: JitFunction, static: Mapping[str, Any], span: Span | None) -> list[Parameter]:
    """The parameters that arrays and streams are given for."""
    every = inspect.signature(function.function, follow_wrapped=False).parameters
    for name in static:
        if name not in every:
            raise OperatorDeclarationError(
                f"{function.__name__} has no parameter `{name}`",
                span=span,
                found=f"{name}={static[name]!r}",
                expected=", ".join(every),
                instead=did_you_mean(name, list(every)),
            )
    return [
        each
        for each in function._parameters_now()
        if every[each.name].kind in _POSITIONAL and each.name not in static and not each.static
    ]


def checked_function(function: object, declared: Declaration, span: Span | None) -> JitFunction:
    """The function, where the declaration can be one."""
    if not isinstance(function, JitFunction) or isinstance(function, KernelFunction):
        raise OperatorDeclarationError(
            "a call of JAX is made of a `@jit` function",
            span=span,
            found="a `@kernel` function"
            if isinstance(function, KernelFunction)
            else with_article(type(function).__name__),
            expected="a `@jit` function, which launches kernels",
            instead="`@triptych.jit` in front of it",
        )
    if not callable(declared.vmap) and declared.vmap not in _RULES:
        raise OperatorDeclarationError(
            "this is no rule of `jax.vmap`",
            span=span,
            found=repr(declared.vmap),
            expected=f"{', '.join(map(repr, _RULES))}, or a function as `custom_vmap` takes it",
            instead=did_you_mean(str(declared.vmap), list(_RULES)),
        )
    if declared.vjp is not None and not callable(declared.vjp):
        raise OperatorDeclarationError(
            "this computes no cotangents",
            span=span,
            found=with_article(type(declared.vjp).__name__),
            expected="a `@jit` function, another `triptych.jax.call`, or a function of arrays",
        )
    return function
