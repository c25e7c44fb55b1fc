"""`@tuned(TUNE)`: a kernel that takes the parameters somebody has tuned for its problem, and tunes only when asked.

Asked by `autotune=True` or by `TRIPTYCH_TUNE=1`. A problem is the same kernel, shapes, device and tools.
"""

from __future__ import annotations

import functools
import inspect
import json
from collections.abc import Callable, Hashable, Mapping, Sequence
from dataclasses import asdict
from pathlib import Path
from typing import Any

from triptych.cute.tuning.rows import Config, Row, Space, configs_of
from triptych.cute.tuning.search import search_named
from triptych.cute.tuning.trying import try_all
from triptych.support.config import config
from triptych.workbench.arrays import dtype_name, is_array
from triptych.workbench.contracts.contract import Contract
from triptych.workbench.devices import HOST, Device, device
from triptych.workbench.measurement.clocks import HostClock
from triptych.workbench.tuning.tuning_cache import (
    Choice,
    Problem,
    find_choice,
    host_name,
    keep,
    kernel_digest,
    tool_versions,
)


def problem_of(file: Path, bucket: object, target: Device) -> Problem:
    """What a choice is for."""
    where = host_name() if target.architecture == HOST else target.architecture
    return Problem(kernel_digest(file), text_of(bucket), where, tool_versions())


def bucket_of(contract: Contract, inputs: Sequence[Any]) -> object:
    """What the file itself says (`bucket(*inputs)`, a plan's `buckets`), else shapes, types and numbers as they are."""
    return contract.bucket(*inputs) if contract.bucket is not None else [described(value) for value in inputs]


def keep_choice(contract: Contract, inputs: Sequence[Any], target: Device, row: Row) -> dict[str, Any]:
    """Keep the winner for later runs of this user; as plain data, for the source tree."""
    key = problem_of(contract.file, bucket_of(contract, inputs), target)
    choice = Choice(contract.file.stem, key, dict(row.config), row.best)
    keep(choice)
    return asdict(choice)


def chosen_for(file: Path, bucket: object) -> dict[str, Any] | None:
    """The parameters that are kept for a problem on the target that calls run on; None: nobody has tuned it."""
    found = find_choice(problem_of(file, bucket, device(config().target or HOST)), file)
    return None if found is None else dict(found.config)


def text_of(bucket: object) -> str:
    """The same for equal buckets, in any process."""
    return json.dumps(bucket, sort_keys=True, default=str)


def described(value: object) -> object:
    """An input as far as it decides which parameters are best."""
    if is_array(value):
        array: Any = value
        return f"{dtype_name(array)} {' x '.join(map(str, array.shape))}"
    if isinstance(value, list | tuple):
        return [described(part) for part in value]
    if isinstance(value, dict):
        return {str(name): described(part) for name, part in value.items()}
    return value if isinstance(value, bool | int | float | str | None) else type(value).__qualname__


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
