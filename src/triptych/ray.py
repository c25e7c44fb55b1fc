"""`RayExecutor`: a cluster of Ray as an executor of `compile_many`. Needs the extra `triptych[ray]`.

Machines of a cluster share what they compile through a store that all of them reach: a remote one, or a directory.
"""

from __future__ import annotations

from collections.abc import Callable
from concurrent.futures import Executor, Future
from typing import Any, ParamSpec, TypeVar

from triptych.support.forking import import_late

P = ParamSpec("P")
T = TypeVar("T")


class RayExecutor(Executor):
    """Tasks of the cluster that `ray.init` has connected this process to; `options` are those of `ray.remote`."""

    def __init__(self, **options: Any) -> None:
        self._ray: Any = import_late("ray")
        self._options = {"num_cpus": 1, "max_retries": 0, **options}
        self._tasks: list[Any] = []

    def submit(self, function: Callable[P, T], /, *args: P.args, **kwargs: P.kwargs) -> Future[T]:
        """Run a function as a task."""
        task = self._ray.remote(**self._options)(function).remote(*args, **kwargs)
        self._tasks.append(task)
        future: Future[T] = task.future()
        return future

    def shutdown(self, wait: bool = True, *, cancel_futures: bool = False) -> None:
        """Wait for the tasks, or cancel them; the connection to the cluster stays."""
        for task in self._tasks if cancel_futures else ():
            self._ray.cancel(task, force=True)
        if wait and self._tasks:
            self._ray.wait(self._tasks, num_returns=len(self._tasks))
        self._tasks.clear()
