"""Autotuner: every combination of parameters is compiled and timed, and the fastest is taken."""

from __future__ import annotations

import functools
from collections.abc import Callable, Mapping, Sequence
from typing import Any

from triptych.cute.tuning.rows import Row, configs_of
from triptych.cute.tuning.search import Exhaustive
from triptych.cute.tuning.timing import JitArguments, benchmark
from triptych.cute.tuning.trying import try_all
from triptych.driver.jitting import JitFunction
from triptych.metastage.arguments.specs import bind
from triptych.metastage.trace.errors import ArgumentBindingError
from triptych.support.tracebacks import caller


def tune(
    func: Callable[..., Callable[[], Any]],
    params_dict: Mapping[str, Sequence[Any]] | None = None,
    kernel_arguments: JitArguments | None = None,
    warmup_iterations: int = 10,
    iterations: int = 100,
    stream: object = None,
) -> dict[str, Any]:
    """The fastest of all combinations of parameters.

    `func(*arguments, **parameters)` gives what is timed, a function without arguments. A combination for which it, or
    what it gives, raises an exception is left out with a `TuningWarning` that says why; when none is left the last
    exception is raised, with the reasons of all as notes.
    """
    arguments = kernel_arguments or JitArguments()

    def microseconds(parameters: dict[str, Any]) -> float:
        timed = func(*arguments.args, **arguments.kwargs, **parameters)
        return benchmark(timed, warmup_iterations=warmup_iterations, iterations=iterations, stream=stream)

    return _fastest(params_dict or {}, microseconds, getattr(func, "__qualname__", "tune"))[0]


def autotune_jit(
    params_dict: Mapping[str, Sequence[Any]] | None = None,
    update_on_change: Sequence[str] = (),
    warmup_iterations: int = 10,
    iterations: int = 100,
) -> Callable[[JitFunction], AutotunedFunction]:
    """Decorator for a `@jit` function: the first call times every combination of parameters and keeps the fastest.

    Other values of the arguments named in `update_on_change` are tuned anew. Tuning runs the function many times on
    the arguments of the call, so it must not matter how often it runs. `tables` has what came of every combination; one
    that fails is told in a `TuningWarning`.
    """

    def decorate(function: JitFunction) -> AutotunedFunction:
        return AutotunedFunction(function, params_dict or {}, tuple(update_on_change), (warmup_iterations, iterations))

    return decorate


class AutotunedFunction:
    """A `@jit` function that chooses some of its arguments itself. `compile` takes it for the function in it."""

    def __init__(
        self,
        function: JitFunction,
        params: Mapping[str, Sequence[Any]],
        watched: tuple[str, ...],
        repeats: tuple[int, int],
    ) -> None:
        functools.update_wrapper(self, function)
        self.__wrapped__ = function
        self._params = params
        self._watched = watched
        self._repeats = repeats
        self.best: dict[tuple[Any, ...], dict[str, Any]] = {}
        """The parameters chosen for each combination of watched arguments."""
        self.tables: dict[tuple[Any, ...], list[Row]] = {}
        """What came of every combination of parameters, for each combination of watched arguments."""

    def __repr__(self) -> str:
        choices = ", ".join(f"{name} of {list(values)}" for name, values in self._params.items())
        return f"<AutotunedFunction {self.__wrapped__.function.__qualname__}, {choices}>"

    def __call__(self, *args: object, **kwargs: object) -> Any:
        function = self.__wrapped__
        bound = bind(function.function, args, kwargs, caller())
        unknown = [name for name in self._watched if name not in bound]
        if unknown:
            raise ArgumentBindingError(
                f"update_on_change names {unknown[0]!r}, which is no parameter of {function.__name__}",
                span=caller(),
                expected=f"some of {', '.join(bound)}",
            )
        watched = tuple(bound[name] for name in self._watched)
        if watched not in self.best:
            self.best[watched], self.tables[watched] = self._tuned(args, kwargs)
        return function(*args, **{**kwargs, **self.best[watched]})

    def _tuned(self, args: tuple[Any, ...], kwargs: dict[str, Any]) -> tuple[dict[str, Any], list[Row]]:
        warmups, iterations = self._repeats

        def microseconds(parameters: dict[str, Any]) -> float:
            arguments = JitArguments(*args, **{**kwargs, **parameters})
            return benchmark(
                self.__wrapped__, warmup_iterations=warmups, iterations=iterations, kernel_arguments=arguments
            )

        return _fastest(self._params, microseconds, self.__wrapped__.function.__qualname__)


def _fastest(
    choices: Mapping[str, Sequence[Any]], microseconds: Callable[[dict[str, Any]], float], name: str
) -> tuple[dict[str, Any], list[Row]]:
    configs = configs_of(choices)
    search = Exhaustive(range(len(configs)))
    best, rows = try_all(search, configs, lambda config, _: [microseconds(dict(config)) / 1e6], name)
    return configs[best], rows
