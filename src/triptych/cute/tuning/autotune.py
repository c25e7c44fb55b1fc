"""Choosing parameters by trying them: every combination is compiled and timed, and the fastest is taken."""

from __future__ import annotations

import functools
import itertools
from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import Any

from triptych.cute.tuning.timing import JitArguments, benchmark
from triptych.jitting import JitFunction
from triptych.metastage.arguments import bind
from triptych.metastage.call_errors import ArgumentBindingError
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
    what it gives, raises an exception is left out; when none is left the last exception is raised.
    """
    arguments = kernel_arguments or JitArguments()

    def seconds(parameters: dict[str, Any]) -> float:
        timed = func(*arguments.args, **arguments.kwargs, **parameters)
        return benchmark(timed, warmup_iterations=warmup_iterations, iterations=iterations, stream=stream)

    return _fastest(params_dict or {}, seconds)


def autotune_jit(
    params_dict: Mapping[str, Sequence[Any]] | None = None,
    update_on_change: Sequence[str] = (),
    warmup_iterations: int = 10,
    iterations: int = 100,
) -> Callable[[JitFunction], AutotunedFunction]:
    """Decorator for a `@jit` function: the first call times every combination of parameters and keeps the fastest.

    Other values of the arguments named in `update_on_change` are tuned anew. Tuning runs the function many times on
    the arguments of the call, so it must not matter how often it runs.
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
            self.best[watched] = self._tuned(args, kwargs)
        return function(*args, **{**kwargs, **self.best[watched]})

    def _tuned(self, args: tuple[Any, ...], kwargs: dict[str, Any]) -> dict[str, Any]:
        warmups, iterations = self._repeats

        def seconds(parameters: dict[str, Any]) -> float:
            arguments = JitArguments(*args, **{**kwargs, **parameters})
            return benchmark(
                self.__wrapped__, warmup_iterations=warmups, iterations=iterations, kernel_arguments=arguments
            )

        return _fastest(self._params, seconds)


def _fastest(choices: Mapping[str, Sequence[Any]], seconds: Callable[[dict[str, Any]], float]) -> dict[str, Any]:
    best: tuple[float, dict[str, Any]] | None = None
    failure: Exception | None = None
    for parameters in _combinations(choices):
        try:
            taken = seconds(parameters)
        except Exception as error:
            failure = error
            continue
        if best is None or taken < best[0]:
            best = taken, parameters
    if best is None:
        assert failure is not None
        raise failure
    return best[1]


def _combinations(choices: Mapping[str, Sequence[Any]]) -> Iterator[dict[str, Any]]:
    for values in itertools.product(*choices.values()):
        yield dict(zip(choices, values, strict=True))
