"""Compile workers of `compile_many`: an executor whose processes can be killed while they work.

LLVM has processes of its own (`ir.worker`); here Python traces as well, and one process can do that once at a time. A
worker that dies takes one job with it, and none outlives its parent.
"""

from __future__ import annotations

import contextlib
import os
import pickle
import signal
import subprocess
import sys
from _thread import start_new_thread
from collections import deque
from collections.abc import Callable
from concurrent.futures import Executor, Future, ThreadPoolExecutor
from multiprocessing import spawn
from typing import Any, BinaryIO, ParamSpec, TypeVar

from triptych.ir.errors import WorkerDiedError, how_it_ended, python_executable
from triptych.ir.llvm.worker_process import end_with, read_message, write_message

P = ParamSpec("P")
T = TypeVar("T")

_PROGRAM = "import sys; sys.path[:] = {path!r}; from triptych.driver.compile_workers import main; main({parent})"
_SHARED = ("sys_path", "sys_argv", "dir", "orig_dir")
_OF_THE_SCRIPT = ("init_main_from_name", "init_main_from_path")
"""What tells a worker to load the program itself, for functions that are defined there; otherwise it does not run."""
_LOADING: list[bool] = []
"""Whether this is a worker that runs the program's own file."""


def is_loading() -> bool:
    """Whether this process is a worker that is still loading the program: what it says at its top level runs again."""
    return bool(_LOADING)


class CompileWorkers(Executor):
    """Workers, started when there is something to do."""

    def __init__(self, size: int) -> None:
        self._threads = ThreadPoolExecutor(size, thread_name_prefix="triptych-compile")
        self._idle: deque[_Worker] = deque()
        self._workers: list[_Worker] = []
        self._is_over = False

    def submit(self, function: Callable[P, T], /, *args: P.args, **kwargs: P.kwargs) -> Future[T]:
        """Call a function in a worker. What cannot be pickled raises here."""
        return self._threads.submit(self._run, pickle.dumps((function, args, kwargs)))

    def shutdown(self, wait: bool = True, *, cancel_futures: bool = False) -> None:
        """End all workers: after what is under way, or at once."""
        if wait and not cancel_futures:
            self._threads.shutdown()
        self._is_over = True
        for worker in self._workers:
            worker.kill()
        self._threads.shutdown(cancel_futures=True)
        for worker in self._workers:
            worker.close()

    def _run(self, work: bytes) -> Any:
        worker = self._idle.pop() if self._idle else self._start()
        answer = worker.ask(work)
        self._idle.append(worker)
        return pickle.loads(answer)

    def _start(self) -> _Worker:
        worker = _Worker()
        self._workers.append(worker)
        if self._is_over:  # nobody else will
            worker.kill()
        return worker


class _Worker:
    """One process and the pipes to it, used by one thread at a time."""

    def __init__(self) -> None:
        optimised = ["-" + "O" * sys.flags.optimize] if sys.flags.optimize else []
        program = _PROGRAM.format(path=sys.path, parent=os.getpid())
        self._process = subprocess.Popen(
            [python_executable(), *optimised, "-c", program], stdin=subprocess.PIPE, stdout=subprocess.PIPE
        )

    def ask(self, work: bytes) -> bytes:
        """Send, wait, receive."""
        requests, answers = self._pipes()
        facts = spawn.get_preparation_data("triptych")
        wanted = (*_SHARED, *_OF_THE_SCRIPT) if b"__main__" in work else _SHARED
        prepared = {name: fact for name, fact in facts.items() if name in wanted}
        try:
            write_message(requests, pickle.dumps(prepared))
            write_message(requests, work)
            requests.flush()
            answer = read_message(answers)
        except BrokenPipeError:
            answer = None
        if answer is None:
            raise WorkerDiedError(f"the process that compiled ended ({how_it_ended(self._process.wait())})")
        return answer

    def kill(self) -> None:
        """End it at once. LLVM's process below it ends with it."""
        self._process.kill()
        self._process.wait()

    def close(self) -> None:
        """Close the pipes of a worker that has ended, once no thread reads them."""
        for pipe in self._pipes():
            with contextlib.suppress(BrokenPipeError):  # what it was sent and did not read
                pipe.close()

    def _pipes(self) -> tuple[Any, Any]:
        return self._process.stdin, self._process.stdout


def main(parent: int) -> None:
    """The life of a worker. What it prints goes to stderr; Ctrl-C is its parent's affair."""
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    start_new_thread(end_with, (parent,))
    requests, answers = os.fdopen(os.dup(0), "rb"), os.fdopen(os.dup(1), "wb")
    nothing = os.open(os.devnull, os.O_RDONLY)
    os.dup2(nothing, 0)
    os.dup2(2, 1)
    while _serve(requests, answers):
        pass


def _serve(requests: BinaryIO, answers: BinaryIO) -> bool:
    prepared, work = read_message(requests), read_message(requests)
    if prepared is None or work is None:
        return False
    _LOADING.append(True)
    spawn.prepare(pickle.loads(prepared))
    function, args, kwargs = pickle.loads(work)
    _LOADING.clear()
    write_message(answers, pickle.dumps(function(*args, **kwargs)))
    answers.flush()
    return True
