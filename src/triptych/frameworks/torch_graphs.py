"""`torch.compile` and bare calls of `@jit` functions: what it traces in the place of a call.

Input: a call, as torch traces it. Output: a call of an operator in torch's graph, or the end of the graph, with the
reason. Importing this imports torch's tracer; it happens when that one meets the first call.
"""

from __future__ import annotations

import threading
from collections.abc import Callable
from typing import Any, TypeAlias, TypeVar

from triptych.compat.torch import torch
from triptych.diagnostics.tensor_errors import TracedByTorchError
from triptych.driver.jitting import JitFunction
from triptych.frameworks.torch_bare_calls import NAMESPACE, Unknown, operator_for
from triptych.interop.torch_tracers import IN_GRAPH, REASON
from triptych.support.errors import TriptychError

from torch._dynamo.comptime import comptime  # isort: skip - after the error that says that torch is missing

Value: TypeAlias = Any
"""What torch's tracer has, which has no types here."""
_F = TypeVar("_F", bound=Callable[..., Any])


def _at_tracing(function: _F) -> _F:
    """Decorator of functions that torch calls while it traces, and takes what they return for a constant."""
    torch._dynamo.assume_constant_result(function)
    return function


class _Call(threading.local):
    """The call that this thread traces: values seen so far, and why it ends the graph."""

    def __init__(self) -> None:
        self.function: JitFunction | None = None
        self.seen: list[Any] = []
        self.reason = ""


_CALL = _Call()


@_at_tracing
def _begin() -> bool:
    _CALL.seen.clear()
    return True


def _see_function(context: Value) -> None:
    """Keep the function, which is the only one of its class: not every version of torch passes such objects."""
    _CALL.function = context.get_local("function").python_type()._only()


def _see(context: Value) -> None:
    """Keep what the tracer knows of one argument: a tensor without memory, a symbol, or the value."""
    variable = context.get_local("value")
    if variable.is_python_constant():
        _CALL.seen.append(variable.as_python_constant())
    elif variable.is_proxy() and isinstance(variable.as_proxy(), torch.fx.Proxy):  # else of several, as in a tuple
        _CALL.seen.append(variable.as_fake())
    else:
        _CALL.seen.append(Unknown(variable.python_type()))


@_at_tracing
def _name(count: int, keywords: tuple[str, ...]) -> str:
    """The name of the call's operator; empty where it has none."""
    function, args, last = _CALL.function, _CALL.seen[:count], _CALL.seen[count:]
    assert function is not None, "`_see_function` comes first"
    try:
        operator = operator_for(function, tuple(args), dict(zip(keywords, last, strict=True)))
    except TracedByTorchError as error:
        _CALL.reason = f"{error.found}. {REASON}"
        return ""
    except TriptychError as error:  # of the function: the call itself raises it, at the user's line
        _CALL.reason = f"{type(error).__name__}: {error.title}"
        return ""
    finally:
        _CALL.seen.clear()
    return operator.name.rpartition("::")[2]


def _end(context: Value) -> None:
    context.graph_break(_CALL.reason)


def in_graph(function: JitFunction, *args: Value, **kwargs: Value) -> Any:
    """A call in torch's graph."""
    _begin()
    comptime(_see_function)
    for value in (*args, *kwargs.values()):  # noqa: B007 - `_see` asks for it by its name
        comptime(_see)
    name = _name(len(args), tuple(kwargs))
    if not name:
        comptime(_end)
    return getattr(getattr(torch.ops, NAMESPACE), name).default(*args, **kwargs)


IN_GRAPH.append(in_graph)
