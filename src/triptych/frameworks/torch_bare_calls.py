"""Bare calls of `@jit` functions while torch records: each becomes a call of an operator that is made for it.

Input: a function and the arguments of one call, whose tensors have no memory. Output: the operator, whose schema says
which tensors this specialization writes; or why there can be none, as `TracedByTorchError`. A call then goes into the
recording as torch's own operations do. `torch_graphs` is the way here from `torch.compile`.
"""

from __future__ import annotations

import inspect
from functools import partial
from typing import Any, TypeAlias

from triptych.compat.torch import torch
from triptych.diagnostics.tensor_errors import OperatorDeclarationError, TracedByTorchError
from triptych.driver.jitting import JitFunction, KernelFunction
from triptych.frameworks.operator_signatures import TENSORS, OperatorParameter, operator_parameters
from triptych.frameworks.torch_operators import Operator
from triptych.interop.torch_tracers import CUSTOM_OP
from triptych.support.dataclass import dataclass
from triptych.support.forking import PerProcess
from triptych.support.tracebacks import caller
from triptych.support.wording import with_article

NAMESPACE = "triptych_auto"
_DIGITS = 16
"""Of a key, how many are part of a name: caches of torch's know an operator by its name, in other processes, too."""
_UNKNOWN_EXTENT = 8
"""Of a mode about which torch knows nothing: what is written does not depend on it."""
Value: TypeAlias = Any
"""A tensor of torch, which has no types here, or a number of Python's or of torch's."""


@dataclass(frozen=True, slots=True)
class Unknown:
    """An argument of which only the class is known."""

    kind: type


_OPERATORS: dict[str, Operator] = {}
_LOCK = PerProcess()


def operator_for(function: JitFunction, args: tuple[Value, ...], kwargs: dict[str, Value]) -> Operator:
    """The operator for a call, made if there is none."""
    parameters = _parameters(function)
    try:
        bound = inspect.signature(function.function, follow_wrapped=False).bind(*args, **kwargs)
    except TypeError as error:
        raise _refused(str(error)) from None
    given = bound.arguments
    _check_arguments(parameters, given)
    with torch.utils._python_dispatch._disable_current_modes():
        described = {name: _described(value) for name, value in given.items()}
        with _LOCK.here():
            operator = _operator(function, described)
    _check_apart(operator, given)
    return operator


def call_as_operator(function: JitFunction, args: tuple[Value, ...], kwargs: dict[str, Value]) -> None:
    """A call for tensors that stand for others, so that who records them records the operator."""
    operator_for(function, args, kwargs).default(*args, **kwargs)


def _parameters(function: JitFunction) -> dict[str, OperatorParameter]:
    if isinstance(function, KernelFunction):
        raise _refused("a `@kernel` function is launched, and not called")
    try:
        parameters = operator_parameters(function, None)
    except OperatorDeclarationError as error:
        raise _refused(f"{error.title} ({error.found})") from None
    declared = inspect.signature(function.function, follow_wrapped=False).parameters.values()
    named = [each.name for each in declared if each.kind is each.KEYWORD_ONLY]
    if named:
        raise _refused(f"the parameter `{named[0]}` is given by its name only")
    streams = [each.name for each in parameters if not each.kind]
    if streams:
        raise _refused(f"the parameter `{streams[0]}` is a stream, which torch gives to operators")
    return {each.name: each for each in parameters}


def _check_arguments(parameters: dict[str, OperatorParameter], given: dict[str, Value]) -> None:
    tensors = {}
    for name, value in given.items():
        kind = parameters[name].kind
        is_tensor = isinstance(value, torch.Tensor)
        fits = is_tensor or (value is None and kind.endswith("?")) if kind in TENSORS else _is_number(value)
        if not fits:
            found = value.kind if isinstance(value, Unknown) else type(value)
            raise _refused(f"the argument `{name}` is {with_article(found.__name__)}, and `{kind}` in a schema")
        if is_tensor:
            tensors[name] = value
    if not tensors:
        raise _refused("the function has no tensors: torch takes what it gives for a constant")
    followed = [name for name, value in tensors.items() if value.requires_grad] if torch.is_grad_enabled() else []
    if followed:
        raise _refused(f"`{followed[0]}` requires a gradient, and this function has no backward function")


def _check_apart(operator: Operator, given: dict[str, Value]) -> None:
    """Refuse a written tensor that shares memory: what torch does with it does not reach the other one."""
    memory = {n: v.untyped_storage()._cdata for n, v in given.items() if isinstance(v, torch.Tensor)}
    for name in operator._signature.written:
        other = next((each for each in memory if each != name and memory[each] == memory.get(name)), None)
        if other is not None:
            raise _refused(f"`{other}` and `{name}` share memory, and `{name}` is written")


def _is_number(value: Value) -> bool:
    return isinstance(value, (int, float, str, torch.SymInt, torch.SymFloat, torch.SymBool))


def _described(value: Value) -> Any:
    """What a call is compiled for: of a tensor, its numbers, as far as torch knows them without being held to them."""
    if isinstance(value, torch.Tensor):
        extents = [_known(n) for n in value.shape]
        return torch.empty_strided(extents, [_known(n) for n in value.stride()], dtype=value.dtype, device="meta")
    return value if value is None or isinstance(value, (int, float, str)) else _known(value)


def _known(value: Value) -> Any:
    if not isinstance(value, (torch.SymInt, torch.SymFloat, torch.SymBool)):
        return value
    return value.node.hint if value.node.has_hint() else _UNKNOWN_EXTENT


def _operator(function: JitFunction, described: dict[str, Value]) -> Operator:
    """By a name that other processes find for the same program, too."""
    bound = inspect.signature(function.function, follow_wrapped=False).bind(**described)
    bound.apply_defaults()
    digest = function.key_of(bound.arguments, caller(), {}).digest
    name = stem = f"{NAMESPACE}::{function.function.__name__}_{digest[:_DIGITS]}"
    other = 0
    while name in _OPERATORS and _OPERATORS[name].origin is not function:  # equal now; what they read may change
        other += 1
        name = f"{stem}_{other}"
    if name not in _OPERATORS:
        _OPERATORS[name] = _made(function, name, described)
    return _OPERATORS[name]


def _made(function: JitFunction, name: str, described: dict[str, Value]) -> Operator:
    operator = Operator(function, name, {}, None, None, None)
    try:
        compiled = JitFunction.compile(operator._function, **described)
    except OperatorDeclarationError:
        raise _refused("the function returns numbers, which a graph would take for constants") from None
    if not any(leaf.memory and leaf.memory.written for leaf in compiled._loaded.compiled.lowered.traced.parameters):
        raise _refused("the function writes no tensor")
    operator._find_written((), described)
    operator.when_defined(partial(operator.batch, "loop"))
    return operator


def _refused(reason: str) -> TracedByTorchError:
    return TracedByTorchError(
        "torch is recording, and this call can be no operator of torch",
        found=reason,
        expected="a function of annotated tensors and numbers that writes some of its tensors",
        instead=CUSTOM_OP,
    )
