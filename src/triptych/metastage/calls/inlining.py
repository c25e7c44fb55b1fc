"""Calls while tracing: Python functions are rewritten and inlined, builtins on run-time values get their meaning."""

from __future__ import annotations

import functools
import itertools
import operator
from collections.abc import Callable
from types import BuiltinFunctionType, FunctionType, MethodDescriptorType, MethodType
from typing import Any, Protocol

from triptych.hooks import Hooks
from triptych.metastage.arguments.specs import Parameter, arrange, bind
from triptych.metastage.calls.builtin_functions import answer_to
from triptych.metastage.calls.opaque_calls import (
    HIGHER_ORDER,
    is_meant_once,
    loops_in_python,
    native_operation,
    opaque_call,
)
from triptych.metastage.calls.special_methods import ABSENT, SpecialMethods
from triptych.metastage.control_flow import mutation
from triptych.metastage.control_flow.object_identity import check_shown
from triptych.metastage.trace import locations
from triptych.metastage.trace.effects import log_level
from triptych.metastage.trace.errors import EndlessInliningError, StaticRequiredError
from triptych.metastage.trace.trace import Trace, place
from triptych.metastage.trace.user_code import is_own, is_user_function, user_method
from triptych.metastage.values.binding_time import Range, require_static, with_truth
from triptych.metastage.values.coercion import declared_number, require_kept
from triptych.metastage.values.explaining import not_callable
from triptych.metastage.values.numeric import Numeric, numeric_class
from triptych.support.errors import TriptychError

_PLACES = ("loc", "ip")
"""Keywords by which public programs pass a location along; a trace knows the places of all that it emits."""

_AS_HOOKS: dict[Any, str] = {setattr: "setattr", delattr: "delattr"}
"""Builtins that are another way to write what a hook answers."""

_AS_OPERATORS: dict[Any, str] = {operator.is_: "is", operator.is_not: "is not"}

_FORMATTING = ("format", "format_map", "join")

DEEPEST_INLINING = 64
"""Nested inlined calls before a recursion is taken for endless; Python's own stack ends somewhat later."""


class PythonLoops:
    """The hooks of a trace for a function whose `for` runs while tracing."""

    def __init__(self, hooks: Hooks) -> None:
        self._hooks: Any = hooks

    def __getattr__(self, name: str) -> Any:
        return getattr(self._hooks, name)

    def for_(self, iterable: object, *rest: object) -> None:
        """A loop over known bounds is one over their numbers."""
        if isinstance(iterable, range) or (isinstance(iterable, Range) and iterable.is_static):
            iterable = tuple(iterable)
        self._hooks.for_(iterable, *rest)


class TracedCallable(Protocol):
    """An object that traced code calls in a way of its own: a `@jit` function, a kernel."""

    def __traced_call__(self, trace: Trace, args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any: ...


class Inlining:
    """Calls of one trace: which functions are rewritten, and how each builtin answers a run-time value."""

    def __init__(self, trace: Trace) -> None:
        self.trace = trace
        self.special = SpecialMethods(self._traced, functools.partial(native_operation, trace))
        self._bound: dict[FunctionType, Callable[..., Any]] = {}
        self._nested: set[FunctionType] = set()
        """Functions that rewritten code has defined: rewritten with it."""
        self._refused: dict[FunctionType, TriptychError] = {}
        """Why functions of the program run as they are, unrewritten."""
        self._depth = 0

    def _traced(self, function: Callable[..., Any], *args: object) -> Any:
        return self.call(function, args, {})

    # Any: told apart by its exact class, in the order of how often each is called.
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
        if kind is not BuiltinFunctionType and isinstance(function, type):
            made = self._construct(function, args, kwargs)
            if made is not None:
                return made
        elif kind in (BuiltinFunctionType, MethodDescriptorType):
            mutation.check_call(self.trace, function, args)
        if kind is BuiltinFunctionType and function in _AS_HOOKS and not kwargs:
            return getattr(self.trace.hooks, _AS_HOOKS[function])(*args)
        if kind is BuiltinFunctionType and function in _AS_OPERATORS and len(args) == 2:
            return self.trace.hooks.operate(_AS_OPERATORS[function], *args)
        answer = answer_to(function, args, kwargs)
        if answer is not None:
            return answer(*args, **kwargs)
        if not callable(function):
            raise not_callable(function, place())
        return self._opaque(function, args, kwargs)

    def _opaque(self, function: Callable[..., Any], args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
        """A call that Python makes; what it does by special methods or functions of the user's is traced."""
        if isinstance(function, BuiltinFunctionType | type):
            if function in (getattr, hasattr) and len(args) > 1 and isinstance(args[1], str):
                return self._look_up(function, *args)
            answer = self.special.function(function, args)
            if answer is not ABSENT:
                return answer
            if type(getattr(function, "__self__", None)) is str and function.__name__ in _FORMATTING:
                for argument in (*args, *kwargs.values()):
                    check_shown(argument, f"`str.{function.__name__}`")
            if function is itertools.islice:  # which replaces the refusal of a run-time number by an error of its own
                args = args[:1] + tuple(require_static(bound, "`islice`", "`items[n]`") for bound in args[1:])
            if function in HIGHER_ORDER:
                args = tuple(map(self._argument, args))
                kwargs = {name: self._argument(value) for name, value in kwargs.items()}
        return opaque_call(self.trace, function, args, kwargs)

    def _look_up(self, function: Callable[..., Any], owner: object, name: str, *default: object) -> Any:
        """`getattr` and `hasattr`, which read as `owner.name` does."""
        try:
            found = self.trace.hooks.attribute(owner, name)
        except AttributeError:
            if function is hasattr:
                return False
            if not default:
                raise
            return default[0]
        return True if function is hasattr else found

    def _argument(self, value: object) -> Any:
        return self.inlined(value) if type(value) is FunctionType else value

    def _construct(self, cls: type, args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
        """A new instance whose `__init__` is the user's and traced; None if making one is Python's business."""
        own = user_method(cls, "__init__")
        maker: Any = cls.__new__
        if own is None or maker is not object.__new__ or type(cls).__call__ is not type.__call__:
            return None
        made = mutation.note_fresh(self.trace, maker(cls))
        if self._inline(own, (made, *args), kwargs) is not None:
            raise TypeError("__init__() should return None")
        return made

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
        outer = self.trace.call_location
        try:
            if runnable is function and is_own(function):
                self.trace.call_location = [] if outer is None else outer
                return function(*args, **{name: value for name, value in kwargs.items() if name not in _PLACES})
            self.trace.call_location = None
            if runnable is not function or function in self._nested:
                return runnable(*args, **kwargs)
            level = log_level(function, args)
            if level is not None and not self.call(args[0].isEnabledFor, (level,), {}):
                return None  # nobody listens: the call does nothing, as often as it is made
            return opaque_call(self.trace, function, args, kwargs)
        except StaticRequiredError as error:
            refusal = self._refused.pop(function, None)
            if refusal is not None:
                _tell_why(error, function, refusal)
            raise
        finally:
            self._depth -= 1
            self.trace.call_location = outer

    def inlined(self, function: FunctionType) -> Callable[..., Any]:
        """The function with its control flow under the trace's hooks; library and unrewritable ones as they are."""
        known = self._bound.get(function)
        if known is None:
            known = self._bound[function] = self._rewritten(function)
        return known

    def _rewritten(self, function: FunctionType) -> Callable[..., Any]:
        if locations.is_rewritten(function.__code__) and not loops_in_python(
            function
        ):  # one in another has a decorator
            self._nested.add(function)
            return function
        if is_meant_once(function) or not (is_user_function(function) or function in self.trace.decorated):
            return function
        try:
            rewritten = self.trace.rewrite(function)
        except TriptychError as refusal:
            self._refused[function] = refusal
            # Meta-programming may use all of Python; a run-time value in its control flow is still an error there.
            locations.register(function.__code__, rewritten=False)
            return function
        locations.register(rewritten.code)
        hooks = PythonLoops(self.trace.hooks) if loops_in_python(function) else self.trace.hooks
        bound: Callable[..., Any] = rewritten.bind(hooks)
        return bound


def _tell_why(error: StaticRequiredError, function: FunctionType, refusal: TriptychError) -> None:
    """A run-time condition in a function that could not be rewritten: that is what has to change."""
    if error.span is not None and not error.span.text():  # made by `exec`, as the methods of a dataclass
        error.span = place()
        error.found = f"a call of {function.__qualname__}, whose source nobody has"
        error.instead = "the same written out at this line: an operation for each of the numbers"
        return
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
    """A call of a compiled function from traced code: the body is inlined, and a Python int for an integer stays one.

    Whoever calls knows the number, so the body may make a layout or the shape of a register tensor of it.
    """
    kept = tuple(parameter for parameter in parameters if not parameter.is_python_int)
    positional, keywords = arrange(function, declared_arguments(function, kept, args, kwargs, inlined=True))
    trace.decorated.add(function)
    return trace.hooks.call(function, *positional, **keywords)


def declared_arguments(
    function: FunctionType,
    parameters: tuple[Parameter, ...],
    args: tuple[Any, ...],
    kwargs: dict[str, Any],
    *,
    inlined: bool = False,
) -> dict[str, Any]:
    """The arguments of a call from traced code by parameter name; Python numbers take their declared types.

    In an inlined call a Python int for an integer only has to fit its type and stays one, and a run-time number for a
    Constexpr is what it is: programs pass them on, and what needs to know them refuses them where it does.
    """
    bound = bind(function, args, kwargs, place())
    for parameter in parameters:
        value = bound[parameter.name]
        if parameter.static and inlined:
            continue
        if parameter.static:
            require_static(value, f"the Constexpr argument `{parameter.name}`", "the parameter without Constexpr")
        elif isinstance(parameter.declared, type) and isinstance(value, bool | int | float):
            number = declared_number(value, numeric_class(parameter.declared), f"`{parameter.name}`")
            if inlined and type(value) is int and number.info.is_integer:
                continue
            bound[parameter.name] = with_truth(number, value) if isinstance(value, bool) else number
        elif isinstance(value, Numeric) and isinstance(parameter.declared, type):
            declared = numeric_class(parameter.declared)
            # An integer goes on as it is: `cute.size` of a layout may be wider than the parameter that takes it.
            if not (value.info.is_integer and declared.info.is_integer):
                require_kept(type(value), declared, f"`{parameter.name}`")
    return bound
