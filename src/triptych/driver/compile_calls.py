"""`compile(f, *args)`: the compiled function without a call of it, with options of its own."""

from __future__ import annotations

from collections.abc import Callable
from inspect import getattr_static
from types import FunctionType, MethodType
from typing import Any

from triptych.driver.boundary import api_boundary
from triptych.driver.compiling import CompiledFunction
from triptych.driver.jitting import JitFunction, cannot_decorate
from triptych.dsl import BASE
from triptych.fingerprint.cache_key import Key
from triptych.interop.torch_tracers import opaque
from triptych.objectstage.compile_flags import CompileFlag, flags_in, flags_of, options_of
from triptych.support.tracebacks import caller


class Compiler:
    """`compile(f, *args)` compiles without calling; `compile[OptLevel(1), KeepPTX](f, *args)` with options."""

    __slots__ = ("_flags",)

    def __init__(self, flags: tuple[CompileFlag, ...] = ()) -> None:
        self._flags = flags

    def __repr__(self) -> str:
        return "compile" + (f"[{', '.join(map(repr, self._flags))}]" if self._flags else "")

    @api_boundary
    def __getitem__(self, flags: object) -> Compiler:
        """With options as objects, one or several: `compile[OptLevel(1), KeepPTX]`."""
        return Compiler((*self._flags, *flags_of(flags)))

    @opaque
    @api_boundary
    def __call__(
        self,
        function: Callable[..., Any],
        /,
        *args: object,
        target: str = "",
        opt_level: int | None = None,
        options: str | None = None,
        **kwargs: object,
    ) -> CompiledFunction:
        """Compile `function` for these arguments: a `@jit` function, a method of one, or a plain function.

        `target` is "cpu" or an architecture such as "nvptx:sm_90a", `opt_level` is 0 to 3, `options` a command line.
        The result is called with the arguments that are no `Constexpr`, and shows every stage as text. With
        `no_cache=True`, here and in calls of a `@jit` function, it is compiled anew.
        """
        chosen = self._chosen(target, opt_level, options)
        jitted, args = _unbound(function, args)
        called_from = caller()
        return jitted.find(*jitted._bind(args, kwargs, called_from), called_from, chosen).compiled

    def __reduce__(self) -> Any:
        return Compiler, (self._flags,)

    @api_boundary
    def key(
        self,
        function: Callable[..., Any],
        /,
        *args: object,
        target: str = "",
        opt_level: int | None = None,
        options: str | None = None,
        **kwargs: object,
    ) -> Key:
        """The key under which the store has what a call with these arguments would compile; print it."""
        jitted, args = _unbound(function, args)
        called_from = caller()
        bound, _ = jitted._bind(args, kwargs, called_from)
        return jitted.key_of(bound, called_from, self._chosen(target, opt_level, options))

    def _chosen(self, target: str, opt_level: int | None, options: str | None) -> dict[str, Any]:
        chosen = options_of((*self._flags, *flags_in(options or "")))
        chosen |= {} if opt_level is None else {"opt_level": opt_level}
        return chosen | ({"target": target} if target else {})


compile = Compiler()


# Any: a decorator of the program's may have hidden the function anywhere.
def _unbound(function: Any, args: tuple[Any, ...]) -> tuple[JitFunction, tuple[Any, ...]]:
    if isinstance(function, MethodType) and isinstance(function.__func__, JitFunction):
        return function.__func__, (function.__self__, *args)
    if isinstance(function, JitFunction):
        return function, args
    if isinstance(function, FunctionType):
        return JitFunction(function, BASE, True, {}), args
    if isinstance(getattr(function, "__wrapped__", None), JitFunction):
        return function.__wrapped__, args
    called = getattr_static(type(function), "__call__", None)
    if isinstance(called, JitFunction):
        return called, (function, *args)
    raise cannot_decorate("jit", function)
