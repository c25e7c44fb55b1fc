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
        self._futures: list[_TaskFuture[Any]] = []

    def submit(self, function: Callable[P, T], /, *args: P.args, **kwargs: P.kwargs) -> Future[T]:
        """Run a function as a task."""
        task = self._ray.remote(**self._options)(function).remote(*args, **kwargs)
        future = _TaskFuture[T](self._ray, task)
        self._futures.append(future)
        return future

    def shutdown(self, wait: bool = True, *, cancel_futures: bool = False) -> None:
        """Wait for the tasks, or cancel them; the connection to the cluster stays."""
        for future in self._futures if cancel_futures else ():
            future.cancel()
        tasks = [future.task for future in self._futures]
        if wait and tasks:
            self._ray.wait(tasks, num_returns=len(tasks))
        self._futures.clear()


class _TaskFuture(Future[T]):
    """Of a task. Ray's own future says that it is cancelled and lets its worker go on; here the worker ends."""

    def __init__(self, ray: Any, task: Any) -> None:
        super().__init__()
        self._ray, self.task = ray, task
        task.future().add_done_callback(self._take)

    def cancel(self) -> bool:
        """End the task, wherever it is."""
        if self.done():
            return False
        self._ray.cancel(self.task, force=True)
        return super().cancel()

    def _take(self, told: Future[T]) -> None:
        """What the task gave or raised, unless nobody waits for it any more."""
        if not self.set_running_or_notify_cancel():
            return
        error = told.exception()
        if error is not None:
            self.set_exception(error)
        else:
            self.set_result(told.result())
