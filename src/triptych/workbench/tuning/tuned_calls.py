"""`@tuned(TUNE)`: a kernel that takes the parameters somebody has tuned for its problem, and tunes only when asked."""

from __future__ import annotations

import functools
import inspect
from collections.abc import Callable, Hashable, Mapping, Sequence
from pathlib import Path
from typing import Any

from triptych.cute.tuning.choices import Choice, keep
from triptych.cute.tuning.rows import Config, Row, Space, configs_of
from triptych.cute.tuning.search import search_named
from triptych.cute.tuning.trying import try_all
from triptych.support.config import config
from triptych.workbench.arrays import is_array
from triptych.workbench.devices.device import HOST, device
from triptych.workbench.measurement.clocks import HostClock
from triptych.workbench.tuning.choosing import chosen_for, described, problem_of, text_of

Function = Callable[..., Any]
_PLAIN = (bool, int, float, str)


def tuned(space: Space, *, bucket: Function | None = None) -> Callable[[Function], TunedFunction]:
    """Decorator for a function that takes the parameters of `space` by keyword, each with a default.

    A call that names none of them takes those that are kept for its problem: from `FILE.tuned.json` beside the
    function's file, then from what this user has tuned, then the defaults. `autotune=True` or `TRIPTYCH_TUNE=1` tunes
    where nothing is kept. `bucket(*inputs)` says which problems take the same parameters.
    """
    return lambda function: TunedFunction(function, configs_of(space), bucket)


class TunedFunction:
    """Called like the function in it."""

    def __init__(self, function: Function, configs: list[dict[str, Any]], bucket: Function | None) -> None:
        functools.update_wrapper(self, function)
        self.__wrapped__ = function
        self.configs = configs
        self.rows: list[Row] = []
        """What came of each configuration, after a call that tuned."""
        self._names = {name for each in configs for name in each}
        self._bucket = bucket
        self._known: dict[Hashable, dict[str, Any]] = {}

    def __call__(self, *inputs: Any, autotune: bool = False, **given: Any) -> Any:
        if self._names & given.keys():
            return self.__wrapped__(*inputs, **given)
        return self.__wrapped__(*inputs, **given, **self.parameters(*inputs, autotune=autotune, **given))

    def parameters(self, *inputs: Any, autotune: bool = False, **given: Any) -> dict[str, Any]:
        """What a call with these inputs takes; nothing: the defaults."""
        settings = config()
        wanted = autotune or settings.tune
        place = settings.target, self._place(inputs)
        if place not in self._known or (wanted and not self._known[place]):
            problem = self._problem(inputs)
            found = chosen_for(self._file, problem)
            if found is None and wanted:
                found = self._tune(inputs, given, problem)
            self._known[place] = found or {}
        return self._known[place]

    def _place(self, inputs: Sequence[Any]) -> Hashable:
        """The problem as this process looks it up at each call: the text that a file has takes 20 µs to be written."""
        if self._bucket is not None:
            return text_of(self._bucket(*inputs))
        return tuple(
            (each.dtype, each.shape)
            if is_array(each)
            else (type(each), each)
            if type(each) in _PLAIN
            else text_of(described(each))
            for each in inputs
        )

    @property
    def _file(self) -> Path:
        return Path(inspect.getfile(self.__wrapped__))

    def _problem(self, inputs: Sequence[Any]) -> object:
        return self._bucket(*inputs) if self._bucket is not None else [described(value) for value in inputs]

    def _tune(self, inputs: Sequence[Any], given: Mapping[str, Any], problem: object) -> dict[str, Any]:
        clock = HostClock()

        def sample(chosen: Config, count: int) -> list[float]:
            call = functools.partial(self.__wrapped__, *inputs, **given, **chosen)
            call()
            return [clock.seconds(call, 1) for _ in range(count)]

        search = search_named("auto", dict(enumerate(self.configs)), 0, None)
        best, self.rows = try_all(search, self.configs, sample, self.__wrapped__.__qualname__)
        key = problem_of(self._file, problem, device(config().target or HOST))
        keep(Choice(self._file.stem, key, self.configs[best], self.rows[best].best))
        return self.configs[best]
