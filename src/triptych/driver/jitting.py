"""`@jit` and `@kernel`: bind the arguments, find the compiled function, compile it if it is new, call it."""

from __future__ import annotations

import dataclasses
import functools
import importlib
import weakref
from collections.abc import Callable
from functools import partial
from types import FunctionType, MethodType
from typing import TYPE_CHECKING, Any, ClassVar, NamedTuple, Self, overload

from triptych.artifact_store.configured import default_store
from triptych.driver.boundary import api_boundary, for_user
from triptych.driver.cache_misses import CacheMiss, NoStoreError, explain
from triptych.driver.compile_jobs import Job
from triptych.driver.compiling import CompiledFunction, compiled_function
from triptych.driver.function_keys import FunctionKeys
from triptych.driver.warm_calls import places, warm_call
from triptych.dsl import BASE, DSL
from triptych.fingerprint.cache_key import Key, diff
from triptych.fingerprint.guards import Guard, also, watches, without
from triptych.fingerprint.releases import own_source
from triptych.interop.torch_tracers import BARE_CALLS, as_operator, check_untraced, is_recorded, opaque, tell_torch
from triptych.ir import bindings
from triptych.metastage.arguments.specs import Parameter, bind, parameters_of, shape_of
from triptych.metastage.arguments.static_parts import identity
from triptych.metastage.calls.inlining import inline_call
from triptych.metastage.calls.opaque_calls import outside, trace_of_call
from triptych.metastage.kernels.launches import KernelLaunch, kernel_call
from triptych.metastage.trace.errors import DecorationError, KernelCallError
from triptych.metastage.trace.trace import Trace, place
from triptych.metastage.tracer import Specialization
from triptych.objectstage.target import CompileOptions, Target, find_target, host_target
from triptych.stages import Found, Traced
from triptych.support.config import OVERRIDES, config
from triptych.support.forking import PerProcess, import_late
from triptych.support.interrupts import defer_signals
from triptych.support.lru import LRUCache
from triptych.support.source import Span
from triptych.support.source_texts import remember
from triptych.support.timeline import STAGE, during
from triptych.support.tracebacks import caller
from triptych.support.wording import with_article

NO_CACHE = "no_cache"
"""A keyword of calls and of `compile`: whether to compile anew, as public programs write."""
MOST_WARM = 8
"""Warm calls that are tried one after the other before the table is asked and the row starts anew."""


class Entry(NamedTuple):
    """A compiled function in the table, and whether what it was compiled from is still the same."""

    compiled: CompiledFunction
    guard: Guard
    static: tuple[Any, ...]
    """Kept alive: the table knows static arguments by identity, and an identity is free again after its object."""
    is_settled: bool = True
    """False when tracing itself changed what it had read, as by computing a `cached_property`."""


class JitFunction:
    """A Python function that is compiled when it is called, once for each specialization.

    Every instance has a class of its own: `__call__` is looked up there, and becomes a warm call (see `warm_calls`).
    To a type checker a call takes and gives Any: where the function says Int32 and Tensor, Python passes ints and
    arrays, and gets Python's numbers back.
    """

    __name__: str
    __wrapped__: Callable[..., Any]
    """The function as it was written."""

    _only: ClassVar[weakref.ref[JitFunction]]
    """Of such a class, its instance."""

    def __new__(cls, *_: object) -> Self:
        made: Self = object.__new__(type(cls.__name__, (cls,), {"__module__": cls.__module__}))
        type(made)._only = weakref.ref(made)
        return made

    def __init__(self, function: FunctionType, language: DSL, preprocessor: bool, options: dict[str, Any]) -> None:
        functools.update_wrapper(self, function)
        self.function = function
        self.language = language
        self._preprocessor = preprocessor
        self._options = {name: value for name, value in options.items() if name != "contract"}
        self._contract: bool | None = options.get("contract")
        facts = {"own contract": self._contract, "preprocessor": preprocessor, "language": language}
        self._keys = FunctionKeys(function, facts)
        self._lock = PerProcess()
        """Of changes of the tables."""
        self._compiling: dict[Any, PerProcess] = {}
        """Of compilations under way, by their place in the table."""
        self._compiled: LRUCache[str, CompiledFunction] = LRUCache(_most_specializations)
        self._entries: LRUCache[Any, Entry] = LRUCache(_most_specializations)
        self._known_parameters: tuple[Parameter, ...] | None = None
        self._usual_options: tuple[tuple[int, str, bool], CompileOptions] | None = None
        """Of calls that choose none themselves, and the level in force: a call with a dataclass asks each time."""
        self._warm_calls = 0
        self._name_prefix = ""
        remember(function.__code__, function.__globals__)
        self._fields = frozenset({*vars(self), "_fields"} - vars(function).keys())

    @overload
    def __get__(self, instance: None, owner: type | None = None) -> Self: ...
    @overload
    def __get__(self, instance: object, owner: type | None = None) -> Callable[..., Any]: ...
    def __get__(self, instance: object, owner: type | None = None) -> Any:
        return self if instance is None else MethodType(self, instance)

    def __reduce__(self) -> Any:
        return _look_up, (self.function.__module__, self.function.__qualname__)

    def __cache_key__(self) -> tuple[Any, ...]:
        """What a function that calls this one depends on: its tables are not content, attributes of the user's are."""
        given = tuple(sorted((name, value) for name, value in vars(self).items() if name not in self._fields))
        return self.function, self._preprocessor, self.language, self._contract, *given

    def __repr__(self) -> str:
        return f"<{type(self).__name__} {self.function.__module__}.{self.function.__qualname__}>"

    @as_operator
    def __call__(self, *args: object, **kwargs: object) -> Any:
        try:
            tell_torch()
            return self._run(args, kwargs, caller())
        except Exception as error:
            for_user(error)
            raise

    def __traced_call__(self, trace: Trace, args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
        """A call from traced code: inlined."""
        with trace.contraction.inlined(self._contract):
            return inline_call(trace, self.function, self._parameters_now(), args, kwargs)

    @opaque
    @api_boundary
    def compile(self, *args: object, **kwargs: object) -> CompiledFunction:
        """Compile for these arguments without running; the result takes only the dynamic ones."""
        called_from = caller()
        return self.find(*self._bind(args, kwargs, called_from), called_from, {}).compiled

    def set_name_prefix(self, prefix: str) -> None:
        """Let the function's name in generated code begin with `prefix`, from the next compilation on."""
        self._name_prefix = prefix

    @api_boundary
    def explain_key(self, *args: object, **kwargs: object) -> Key:
        """Everything that decides what would be compiled for these arguments; print it."""
        called_from = caller()
        return self.key_of(bind(self.function, args, kwargs, called_from), called_from, {})

    @api_boundary
    def explain_miss(self, *args: object, **kwargs: object) -> CacheMiss:
        """Whether the store has the program for these arguments; if not, what differs from the nearest; print it."""
        store = default_store()
        if store is None:
            raise NoStoreError(
                "there is no store of compiled programs",
                span=caller(),
                found="TRIPTYCH_CACHE=0",
                instead="TRIPTYCH_CACHE=1",
            )
        called_from = caller()
        bound = bind(self.function, args, kwargs, called_from)
        target, specialization = self._target({}), self._specialize(bound, called_from)
        known = self._entries.get(_cache_slot(specialization, self._compile_options({}), target))
        miss = explain(store, self.key_of(bound, called_from, {}), self._name, target.name)
        return miss if known is None else dataclasses.replace(miss, reason=known.compiled.unkept)

    def key_of(self, bound: dict[str, Any], called_from: Span | None, options: dict[str, Any]) -> Key:
        """The key that the store has for bound arguments, whether or not there is a store."""
        target = self._target(options)
        specialization = self._specialize(bound, called_from)
        chosen, tools = self._compile_options(options), toolchain(target)
        return self._keys.find(specialization, chosen, target, self._name, tools)[1]

    # the table --------------------------------------------------------------------------------------------------
    @property
    def _parameters(self) -> tuple[Parameter, ...]:
        """As of the last compilation: a guard watches what annotations mean."""
        return self._known_parameters or self._parameters_now()

    def _parameters_now(self) -> tuple[Parameter, ...]:
        self._known_parameters = parameters_of(self.function)
        return self._known_parameters

    @property
    def _name(self) -> str:
        """What the function is called in generated code."""
        return "_".join(filter(None, (self._name_prefix, self.function.__name__)))

    @opaque
    def _run(self, args: tuple[Any, ...], kwargs: dict[str, Any], called_from: Span | None) -> Any:
        trace = trace_of_call(self, args, kwargs)
        if trace is not None:
            return self.__traced_call__(trace, args, kwargs)
        with outside():
            return self._run_untraced(args, kwargs, called_from)

    def _run_untraced(self, args: tuple[Any, ...], kwargs: dict[str, Any], called_from: Span | None) -> Any:
        bound, anew = self._bind(args, kwargs, called_from)
        if any(is_recorded(argument) for argument in bound.values()):
            return import_late(BARE_CALLS).call_as_operator(self, args, kwargs)
        for argument in bound.values():  # nothing is compiled for a call that is refused
            check_untraced(argument)
        entry = self.find(bound, anew, called_from, {})
        self._remember(args, kwargs, bound, entry)
        return entry.compiled.call_packed(*(bound[p.name] for p in self._parameters if not p.static))

    def _bind(
        self, args: tuple[Any, ...], kwargs: dict[str, Any], called_from: Span | None
    ) -> tuple[dict[str, Any], bool]:
        """The arguments by name, and whether the call says `no_cache=True`, which is no argument."""
        anew = NO_CACHE in kwargs and all(parameter.name != NO_CACHE for parameter in self._parameters)
        given = {name: value for name, value in kwargs.items() if name != NO_CACHE} if anew else kwargs
        return bind(self.function, args, given, called_from), anew and bool(kwargs[NO_CACHE])

    def find(self, bound: dict[str, Any], anew: bool, called_from: Span | None, options: dict[str, Any]) -> Entry:
        """The table entry for bound arguments, compiled first if there is none, something it read has changed, or a
        call wants it `anew`."""
        chosen, target = self._compile_options(options), self._target(options)
        specialization = self._specialize(bound, called_from)
        entry = None if anew else self._entries.get(_cache_slot(specialization, chosen, target))
        if entry is not None and entry.guard():
            return entry
        if self._parameters != self._parameters_now():  # annotations have changed
            specialization = self._specialize(bound, called_from)
        # One thread for each specialization; others compile other ones meanwhile.
        where = _cache_slot(specialization, chosen, target)
        with self._compiling.setdefault(where, PerProcess()).here():
            try:
                made = defer_signals(lambda: self._entry(specialization, chosen, target, entry, anew, called_from))
            finally:
                self._compiling.pop(where, None)
        with self._lock.here():
            return self._entries.put(where, made)

    def _remember(self, args: tuple[Any, ...], kwargs: dict[str, Any], bound: dict[str, Any], entry: Entry) -> None:
        """Let calls with arguments like these, given in the same way, go straight to the entry point, if they can."""
        static = [parameter.static for parameter in self._parameters]
        rest = [parameter.name for parameter in self._parameters[len(args) :]]
        native, elsewhere = entry.compiled.direct, places(self.function, rest, kwargs) if rest or kwargs else []
        if native is None or elsewhere is None or len(args) + len(rest) != len(static) or OVERRIDES:
            return
        given = [*args, *(bound[name] for name in rest)]
        if all(fixed or entry.compiled.takes(type(arg)) for arg, fixed in zip(given, static, strict=True)):
            own: Any = type(self)
            otherwise = own.__call__ if self._warm_calls % MOST_WARM else own.__base__.__call__
            own.__call__ = warm_call(native, given, static, entry.guard, otherwise, self.function, elsewhere)
            self._warm_calls += 1

    def _entry(
        self,
        specialization: Specialization,
        options: CompileOptions,
        target: Target,
        before: Entry | None,
        anew: bool,
        called_from: Span | None,
    ) -> Entry:
        with during("key", STAGE):
            tools = {} if default_store() is None else toolchain(target)
            guard, key = self._keys.find(specialization, options, target, self._name, tools)
        compiled = None if anew else self._compiled.get(key.digest)
        if compiled is None or compiled.assigns or _past(guard, compiled.found):
            job = Job(
                self.function,
                specialization,
                self.language,
                target,
                options,
                self._preprocessor,
                self._name,
                self._contract,
                called_from,
            )
            # What tracing changed may make no difference to the program: then the same code serves.
            before = None if before is None or before.is_settled else before
            likely = compiled or (before and before.compiled)
            effects = partial(self._effects, guard, key, specialization, options, target)
            compiled = compiled_function(job, key, effects, likely, anew)
            with self._lock.here():
                self._compiled.put(key.digest, compiled)
        guard = also(without(guard, compiled.overwritten), _past(guard, compiled.found))
        return Entry(compiled, guard, tuple(specialization.static.values()), guard())

    def _effects(
        self,
        guard: Guard,
        key: Key,
        specialization: Specialization,
        options: CompileOptions,
        target: Target,
        traced: Traced,
    ) -> str:
        """What tracing has changed of what the key names, or has read past it: a program that is found does neither."""
        past = [each.what for each in _past(guard, traced.found) if not each.is_in_key]
        if past:
            return f"tracing reads {past[0]}, which the key does not have"
        if without(guard, traced.overwritten)():
            return ""
        _, now = self._keys.find(
            specialization, options, target, self._name, {} if default_store() is None else toolchain(target)
        )
        return f"tracing changes what it reads: {', '.join(diff(key, now)[:3])}" if now.digest != key.digest else ""

    def _specialize(self, bound: dict[str, Any], called_from: Span | None) -> Specialization:
        static = {p.name: bound[p.name] for p in self._parameters if p.static}
        shapes = {
            p.name: shape_of(bound[p.name], p.declared, p.name, called_from) for p in self._parameters if not p.static
        }
        return Specialization(static, shapes)

    def _compile_options(self, options: dict[str, Any]) -> CompileOptions:
        settings = config()
        usual = settings.opt_level, settings.async_, settings.line_info
        if not options and self._usual_options is not None and self._usual_options[0] == usual:
            return self._usual_options[1]
        chosen = dict(zip(("opt_level", "async_order", "line_info"), usual, strict=True)) | self._options | options
        chosen.pop("target", None)
        found = CompileOptions.of(chosen)
        if not options:
            self._usual_options = (usual, found)
        return found

    def _target(self, options: dict[str, Any]) -> Target:
        return find_target(options.get("target") or self._options.get("target") or config().target or "cpu")


class KernelFunction(JitFunction):
    """A device function: launched from compiled host code, never called from Python."""

    if TYPE_CHECKING:

        def __call__(self, *args: object, **kwargs: object) -> KernelLaunch: ...
        @overload
        def __get__(self, instance: None, owner: type | None = None) -> Self: ...
        @overload
        def __get__(self, instance: object, owner: type | None = None) -> Callable[..., KernelLaunch]: ...
        def __get__(self, instance: object, owner: type | None = None) -> Any: ...

    def _run_untraced(self, args: tuple[Any, ...], kwargs: dict[str, Any], called_from: Span | None) -> Any:
        raise KernelCallError(
            f"the kernel {self.function.__qualname__} cannot be called from Python",
            span=called_from,
            found="a call of a `@kernel` function from Python",
            expected="a launch from a `@jit` function",
            instead=f"a `@jit` function that does `{self.function.__name__}(...).launch(grid=..., block=...)`",
        )

    @api_boundary
    def __getitem__(self, shape: object) -> Any:
        """The brackets that launch a kernel in other languages."""
        raise self._launched_otherwise(f"`{self.function.__name__}[...]`")

    @api_boundary
    def launch(self, *args: object, **kwargs: object) -> Any:
        """A launch is a method of the call, which has the arguments."""
        raise self._launched_otherwise(f"`{self.function.__name__}.launch(...)`")

    def _launched_otherwise(self, found: str) -> KernelCallError:
        return KernelCallError(
            f"the kernel {self.function.__qualname__} is launched in another way",
            span=place() or caller(),
            found=found,
            expected="a call with the kernel's arguments, and its launch, in a `@jit` function",
            instead=f"`{self.function.__name__}(...).launch(grid=..., block=...)`",
        )

    def __traced_call__(self, trace: Trace, args: tuple[Any, ...], kwargs: dict[str, Any]) -> KernelLaunch:
        return kernel_call(trace, self.function, self._name, self._parameters_now(), args, kwargs, self._contract)


@overload
def jit(function: Callable[..., Any], /) -> JitFunction: ...
@overload
def jit(
    *, language: DSL = ..., preprocessor: bool = ..., **options: object
) -> Callable[[Callable[..., Any]], JitFunction]: ...
@api_boundary
def jit(function: object = None, /, *, language: DSL = BASE, preprocessor: bool = True, **options: object) -> Any:
    """Decorator: compile a host function when it is called, once for each specialization.

    `@jit`, or with options `@jit(target="cpu", opt_level=2)`, which are those of `compile`. `preprocessor=False`, or
    `preprocess=False`, traces the function as it is: its `if` and `for` are then Python's own. `language` is a DSL with
    hooks and passes of its own. `contract=True` lets a product and a sum be rounded once, here and in inlined functions
    that say nothing.
    """
    return _decorate(JitFunction, function, language, preprocessor, options)


@overload
def kernel(function: Callable[..., Any], /) -> KernelFunction: ...
@overload
def kernel(
    *, language: DSL = ..., preprocessor: bool = ..., **options: object
) -> Callable[[Callable[..., Any]], KernelFunction]: ...
@api_boundary
def kernel(function: object = None, /, *, language: DSL = BASE, preprocessor: bool = True, **options: object) -> Any:
    """Decorator: a device function, which a `@jit` function launches: `k(args).launch(grid=..., block=...)`.

    It says what one thread of the grid does. Options are those of `jit`. `contract=False` rounds every
    product and every sum, here and in inlined functions that say nothing.
    """
    return _decorate(KernelFunction, function, language, preprocessor, options)


def _decorate(
    cls: type[JitFunction], function: object, language: DSL, preprocessor: bool, options: dict[str, Any]
) -> Any:
    decorator = jit if cls is JitFunction else kernel
    preprocessor = bool(options.pop("preprocess", preprocessor))
    CompileOptions.of({k: v for k, v in options.items() if k != "target"})
    if "target" in options:
        find_target(options["target"])  # refuses a name that is none
    if function is None:
        return functools.partial(decorator, language=language, preprocessor=preprocessor, **options)
    if isinstance(function, staticmethod | classmethod):
        return type(function)(_decorate(cls, function.__func__, language, preprocessor, options))
    if not isinstance(function, FunctionType):
        raise cannot_decorate(decorator.__name__, function)
    tell_torch()
    return cls(function, language, preprocessor, options)


def _cache_slot(specialization: Specialization, options: CompileOptions, target: Target) -> Any:
    """Where the table has the entry of a specialization."""
    static = tuple(identity(value) for value in specialization.static.values())
    settings = config()
    return static, specialization.signature(), options, target.name, settings.debug, settings.break_, settings.gpu


def _past(guard: Guard, found: tuple[Found, ...]) -> list[Found]:
    """What tracing has found that a guard does not watch, each once."""
    past = [f for f in found if f.namespace is None or not watches(guard, f.namespace, f.name)]
    return list({each.question(): each for each in past}.values())


def cannot_decorate(decorator: str, found: object) -> DecorationError:
    """The error for what is no function."""
    kind = type(found).__name__
    if isinstance(found, JitFunction):
        instead = f"one decorator: `@kernel` if it is launched, else `@jit`; {found.function.__name__} has one already"
    elif isinstance(found, type):
        instead = f"`@{decorator}` on its `__call__`, or on another method"
    else:
        instead = f"`@{decorator}` on a function that is written with `def`"
    return DecorationError(
        f"@{decorator} decorates functions, not {with_article(kind)}",
        span=caller(),
        found=repr(found),
        expected="a Python function",
        instead=instead,
    )


def _most_specializations() -> int:
    return config().specializations


def _look_up(module: str, qualname: str) -> Any:
    found: Any = importlib.import_module(module)
    for part in qualname.split("."):
        found = getattr(found, part)
    return found


@functools.cache
def toolchain(target: Target) -> dict[str, str]:
    """The tools that make code for a target, as of the first question: they do not change while a process runs."""
    version = str(importlib.import_module("triptych").__version__)
    host = {} if target.before_split is None else host_target().info()
    return {"triptych": version, "triptych source": own_source(), **bindings.versions(), **host, **target.info()}
