"""Calls while tracing: Python functions are rewritten and inlined, builtins on run-time values get their meaning."""

from __future__ import annotations

import functools
import sysconfig
from collections.abc import Callable
from functools import cache
from types import BuiltinFunctionType, FunctionType, MethodDescriptorType, MethodType, SimpleNamespace
from typing import Any, Protocol

from triptych.metastage import mutation, places
from triptych.metastage.arguments import Parameter, arrange, bind
from triptych.metastage.builtin_functions import answer_to
from triptych.metastage.errors import EndlessInliningError, StaticRequiredError
from triptych.metastage.explaining import not_callable
from triptych.metastage.tracing import Trace, place
from triptych.metastage.truth import require_static
from triptych.support.errors import TriptychError

_MAKERS = frozenset({list, dict, set, bytearray, sorted})
_LIBRARY = tuple(sysconfig.get_paths()[name] for name in ("stdlib", "platstdlib", "purelib", "platlib"))


_PLACES = ("loc", "ip")
"""Keywords by which public programs pass a location along; a trace knows the places of all that it emits."""

DEEPEST_INLINING = 64
"""Nested inlined calls before a recursion is taken for endless; Python's own stack ends somewhat later."""


class TracedCallable(Protocol):
    """An object that traced code calls in a way of its own: a `@jit` function, a kernel."""

    def __traced_call__(self, trace: Trace, args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any: ...


class Inlining:
    """Calls of one trace: which functions are rewritten, and how each builtin answers a run-time value."""

    def __init__(self, trace: Trace) -> None:
        self.trace = trace
        self._bound: dict[FunctionType, Callable[..., Any]] = {}
        self._refused: dict[FunctionType, TriptychError] = {}
        """Why functions of the program run as they are, unrewritten."""
        self._depth = 0

    def call(self, function: Any, args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
        kind = type(function)
        if kind is FunctionType:
            return self._inline(function, args, kwargs)
        if kind is MethodType:
            return self.call(function.__func__, (function.__self__, *args), kwargs)
        if kind is functools.partial:
            return self.call(function.func, (*function.args, *args), {**function.keywords, **kwargs})
        if hasattr(kind, "__traced_call__"):  # isinstance takes 20 us for a protocol
            return function.__traced_call__(self.trace, args, kwargs)
        called: Any = kind.__call__
        if type(called) is FunctionType:
            return self._inline(called, (function, *args), kwargs)
        if kind in (BuiltinFunctionType, MethodDescriptorType):
            mutation.check_call(self.trace, function, args)
        answer = answer_to(function, args, kwargs)
        if answer is not None:
            return answer(*args, **kwargs)
        if not callable(function):
            raise not_callable(function, place())
        result = function(*args, **kwargs)
        if function in _MAKERS if _is_hashable_builtin(function) else _makes_new(function):
            mutation.note_fresh(self.trace, result)
        return result

    def _inline(self, function: FunctionType, args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
        runnable = self.inlined(function)
        self._depth += 1
        if self._depth > DEEPEST_INLINING:
            raise EndlessInliningError(
                f"calls of {function.__qualname__} are nested more than {DEEPEST_INLINING} deep while tracing",
                span=place(),
                found="a recursion that only a run-time condition would end",
                expected="a recursion whose depth is known while tracing (`const_expr`, a Constexpr argument)",
                instead="a `for` or `while` loop",
            )
        if runnable is function and _is_own(function):
            kwargs = {name: value for name, value in kwargs.items() if name not in _PLACES}
        try:
            return runnable(*args, **kwargs)
        except StaticRequiredError as error:
            refusal = self._refused.pop(function, None)
            if refusal is not None:
                _tell_why(error, function, refusal)
            raise
        finally:
            self._depth -= 1

    def inlined(self, function: FunctionType) -> Callable[..., Any]:
        """The function with its control flow under the trace's hooks; library and unrewritable ones as they are."""
        known = self._bound.get(function)
        if known is None:
            known = self._bound[function] = self._rewritten(function)
        return known

    def _rewritten(self, function: FunctionType) -> Callable[..., Any]:
        if places.is_registered(function.__code__) or not _is_user_code(function):
            return function
        try:
            rewritten = self.trace.rewrite(function)
        except TriptychError as refusal:
            self._refused[function] = refusal
            # Meta-programming may use all of Python; a run-time value in its control flow is still an error there.
            places.register(function.__code__)
            return function
        places.register(rewritten.code)
        bound: Callable[..., Any] = rewritten.bind(self.trace.hooks)
        return bound


def _tell_why(error: StaticRequiredError, function: FunctionType, refusal: TriptychError) -> None:
    """A run-time condition in a function that could not be rewritten: that is what has to change."""
    error.expected = f"{function.__name__} without what keeps it from being compiled: {refusal.found}"
    error.instead = refusal.instead
    if refusal.span is not None:
        error.related.append((f"why Python runs {function.__name__} as it is", refusal.span))


def inline_call(
    trace: Trace,
    function: FunctionType,
    parameters: tuple[Parameter, ...],
    args: tuple[Any, ...],
    kwargs: dict[str, Any],
) -> Any:
    """A call of a compiled function from traced code: the body is inlined."""
    positional, keywords = arrange(function, declared_arguments(function, parameters, args, kwargs))
    return trace.hooks.call(function, *positional, **keywords)


def declared_arguments(
    function: FunctionType, parameters: tuple[Parameter, ...], args: tuple[Any, ...], kwargs: dict[str, Any]
) -> dict[str, Any]:
    """The arguments of a call from traced code by parameter name; Python numbers take their declared types."""
    bound = bind(function, args, kwargs, place())
    for parameter in parameters:
        value = bound[parameter.name]
        if parameter.static:
            require_static(value, f"the Constexpr argument `{parameter.name}`", "the parameter without Constexpr")
        elif isinstance(parameter.declared, type) and isinstance(value, bool | int | float):
            bound[parameter.name] = parameter.declared(value)
    return bound


@cache
def _is_library(file: str) -> bool:
    return file.startswith(_LIBRARY) or file.startswith("<frozen")


def _is_user_code(function: FunctionType) -> bool:
    return not (_is_own(function) or _is_library(function.__code__.co_filename))


def _is_own(function: FunctionType) -> bool:
    """Whether a function is the framework's."""
    module = function.__module__ or ""
    return module == "triptych" or module.startswith("triptych.")


def _is_hashable_builtin(function: Any) -> bool:
    return isinstance(function, BuiltinFunctionType | type) and getattr(function, "__module__", "") == "builtins"


def _makes_new(function: Any) -> bool:
    """Whether calling a class makes an object nobody else knows (its own `__new__` might not)."""
    if function is SimpleNamespace:
        return True
    return isinstance(function, type) and not any("__new__" in vars(cls) for cls in function.__mro__[:-1])
