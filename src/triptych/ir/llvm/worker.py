"""LLVM in other processes: a pool of workers that turn LLVM IR into object code and assembly.

Input: LLVM IR text and a `Request`. Output: an `Artifact`, to wait for. A crash of LLVM becomes `WorkerDiedError` here
and a new worker there; several workers compile at once, which LLVM behind one interpreter lock cannot.
"""

from __future__ import annotations

import atexit
import contextlib
import json
import os
import subprocess
import tempfile
import threading
import time
import weakref
from collections.abc import Callable, Iterator
from concurrent.futures import Future
from dataclasses import asdict
from functools import cache
from pathlib import Path
from typing import IO, Any

from triptych.ir import bindings
from triptych.ir.errors import CodegenError, WorkerDiedError, how_it_ended, python_executable
from triptych.ir.llvm import worker_process
from triptych.support.config import config
from triptych.support.dataclass import dataclass
from triptych.support.interrupts import defer_signals, interruptible

_PROGRAM = Path(worker_process.__file__)
_MESSAGE_LIMIT = 2000
"""Characters of LLVM's own words in an error: a stack dump behind them helps nobody."""


@dataclass(frozen=True, slots=True)
class Request:
    """What to generate. `host` stands for the machine the worker runs on."""

    triple: str = "host"
    cpu: str = "host"
    features: str = "host"
    opt_level: int = 3
    vectorize: bool = True
    strength_reduction: bool = True
    """Addresses in loops are stepped along, each in a register of its own, instead of computed from one counter."""
    emit: tuple[str, ...] = ("object", "assembly")
    libraries: tuple[str, ...] = ()
    """Files of LLVM bitcode: functions that the text declares and a library has are added, and nothing else of it."""
    modules: tuple[str, ...] = ()
    """More LLVM IR that becomes one with the text."""
    exports: tuple[str, ...] = ()
    """When there are any, the only names of the text and its modules that others see."""
    position_independent: bool = False
    """For a linker and any address, instead of for the process that maps it where it likes."""
    comments: bool = False
    """The assembly says what LLVM knows beside the instructions, such as how the scheduler was bound."""


@dataclass(frozen=True, slots=True)
class Artifact:
    """The emitted parts; a part that was not asked for is empty."""

    object: bytes = b""
    assembly: str = ""


class Worker:
    """One process and the pipes to it. Used by one thread at a time: the pool hands it out."""

    def __init__(self) -> None:
        self.compiled = 0
        python = python_executable()
        self._said: IO[bytes] = tempfile.TemporaryFile()  # noqa: SIM115 - lives as long as the process
        self._process = subprocess.Popen(
            [python, "-I", "-S", str(_PROGRAM), str(bindings.folder_of("llvmlite")), str(os.getpid())],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=self._said,
        )

    @property
    def alive(self) -> bool:
        return self._process.poll() is None

    @property
    def pid(self) -> int:
        return self._process.pid

    def compile(self, request: Request, text: str, timeout: float | None) -> Artifact:
        """Send, wait, receive. `CodegenError` leaves the worker usable, `WorkerDiedError` means it is gone."""
        self.compiled += 1
        started = time.monotonic()
        with _alarm(timeout, self._process.kill):
            head, body = self._exchange(json.dumps(asdict(request)).encode(), text.encode())
        if head is None or body is None:
            raise self._death_report(overdue=timeout is not None and time.monotonic() - started >= timeout)
        facts = json.loads(head)
        if "error" in facts:
            raise CodegenError("LLVM refused the generated code", found=facts["error"].strip())
        return _artifact(request, facts["sizes"], body)

    def _exchange(self, request: bytes, text: bytes) -> tuple[bytes | None, bytes | None]:
        requests, answers = self._pipes()
        try:
            worker_process.write_message(requests, request)
            worker_process.write_message(requests, text)
            requests.flush()
        except BrokenPipeError:
            return None, None
        return worker_process.read_message(answers), worker_process.read_message(answers)

    def _pipes(self) -> tuple[Any, Any]:
        return self._process.stdin, self._process.stdout

    def _death_report(self, *, overdue: bool) -> WorkerDiedError:
        status = self._process.wait()
        if overdue:
            return WorkerDiedError(
                "LLVM took longer than its time limit and was stopped",
                instead="a smaller function, a lower opt_level or a longer worker timeout",
            )
        return WorkerDiedError(f"LLVM stopped its worker process ({how_it_ended(status)})", found=self._last_words())

    def _last_words(self) -> str:
        self._said.seek(0)
        lines = self._said.read().decode(errors="replace").splitlines()
        telling = [line for line in lines if "error" in line.lower() or "assert" in line.lower()]
        return "\n".join(telling or lines)[:_MESSAGE_LIMIT].strip()

    def kill(self) -> None:
        """End the process at once; a thread that waits for its answer then sees the end of the pipe."""
        self._process.kill()
        self._process.wait()

    def stop(self) -> None:
        """End the process without waiting for it."""
        self._process.kill()

    def close(self) -> None:
        """End a worker that no thread uses. It has no state worth an orderly end, which would take 20 ms."""
        self.kill()
        self._close_files()

    def _close_files(self) -> None:
        requests, answers = self._pipes()
        with contextlib.suppress(BrokenPipeError):
            requests.close()
        answers.close()
        self._said.close()

    def forget(self, *, busy: bool) -> None:
        """Let go of a worker inherited through a fork: it belongs to the parent, which alone may talk to it.

        The descriptors are pointed elsewhere first, so that nothing reaches the parent's worker. The files of a busy
        worker may be locked by a thread that does not exist here, so they stay open.
        """
        elsewhere = os.open(os.devnull, os.O_RDWR)
        for pipe in self._pipes():
            os.dup2(elsewhere, pipe.fileno())
        os.close(elsewhere)
        self._process.returncode = 0
        if busy:
            _INHERITED.append(self)
        else:
            self._close_files()


_INHERITED: list[Worker] = []
"""Workers that were busy in the parent at a fork: kept, because collecting them would close their locked files."""


class Compilation:
    """A request that a worker is given. One that is left before its result is there is dropped, its worker with it."""

    def __init__(self, pool: WorkerPool, request: Request, text: str) -> None:
        self._pool = pool
        self.request = request
        self.text = text
        self.future: Future[Artifact] = Future()
        self.worker: Worker | None = None
        self.dropped = False

    @interruptible
    def result(self, timeout: float | None = None) -> Artifact:
        """Wait for the artifact, or raise what made it impossible."""
        try:
            return self.future.result(timeout)
        finally:
            if not self.future.done():
                self._pool.drop(self)


class WorkerPool:
    """A fixed number of workers, started on demand and replaced when they die or have leaked enough."""

    def __init__(self, size: int = 2, *, timeout: float | None = 600.0, compiles_per_worker: int = 200) -> None:
        """`compiles_per_worker` bounds LLVM's leak of about 180 KB per optimised module."""
        self._size = size
        self._timeout = timeout
        self._compiles_per_worker = compiles_per_worker
        self._reset()
        _POOLS.add(self)

    def _reset(self) -> None:
        self._changed = threading.Condition()
        self._idle: list[Worker] = []
        self._busy: set[Worker] = set()
        self._closed = False

    def start(self, count: int = 1) -> None:
        """Begin the start of `count` workers and return at once, so that they load LLVM while the caller works."""
        with self._changed:
            missing = min(count, self._size) - len(self._idle) - len(self._busy)
            self._idle += [Worker() for _ in range(missing)]

    def submit(self, request: Request, text: str) -> Compilation:
        """Compile in the background. The thread that waits for the worker dies with the interpreter."""
        compilation = Compilation(self, request, text)
        threading.Thread(target=self._work, args=(compilation,), daemon=True, name="triptych-llvm").start()
        return compilation

    def compile(self, request: Request, text: str) -> Artifact:
        """Compile and wait."""
        return defer_signals(lambda: self.submit(request, text).result())

    def drop(self, compilation: Compilation) -> None:
        """Nobody waits for it any more. LLVM cannot be interrupted, so its process is ended."""
        with self._changed:
            compilation.dropped = True
            if compilation.worker is not None:
                compilation.worker.stop()
            self._changed.notify_all()

    def pids(self) -> list[int]:
        """The processes at work or waiting, in no order that means anything."""
        with self._changed:
            return sorted(worker.pid for worker in (*self._idle, *self._busy))

    def close(self) -> None:
        """End all workers. A compilation under way fails; the pool cannot be used again."""
        with self._changed:
            self._closed = True
            idle, self._idle = self._idle, []
            busy = list(self._busy)
            self._changed.notify_all()
        for worker in busy:
            worker.kill()
        for worker in idle:
            worker.close()

    def _work(self, compilation: Compilation) -> None:
        try:
            artifact = self._compile_on_a_worker(compilation)
        except BaseException as error:
            compilation.future.set_exception(error)
        else:
            compilation.future.set_result(artifact)

    def _compile_on_a_worker(self, compilation: Compilation) -> Artifact:
        """The worker is free again before the caller hears of the result, so that its next request finds it."""
        worker = self._take(compilation)
        try:
            return worker.compile(compilation.request, compilation.text, self._timeout)
        finally:
            with self._changed:
                compilation.worker = None
            self._give_back(worker)

    def _take(self, compilation: Compilation) -> Worker:
        with self._changed:
            self._changed.wait_for(lambda: self._closed or compilation.dropped or self._is_free())
            if self._closed or compilation.dropped:
                raise WorkerDiedError("the worker pool is closed" if self._closed else "the compilation was dropped")
            worker = self._idle.pop() if self._idle else Worker()
            self._busy.add(worker)
            compilation.worker = worker
        if worker.alive:
            return worker
        self._end(worker)
        return self._take(compilation)

    def _is_free(self) -> bool:
        return bool(self._idle) or len(self._busy) < self._size

    def _give_back(self, worker: Worker) -> None:
        worn_out = worker.compiled >= self._compiles_per_worker or not worker.alive
        if worn_out or self._closed:
            self._end(worker)
            return
        with self._changed:
            self._busy.discard(worker)
            self._idle.append(worker)
            self._changed.notify()

    def _end(self, worker: Worker) -> None:
        with self._changed:
            self._busy.discard(worker)
            self._changed.notify()
        worker.close()

    def forget(self) -> None:
        """After a fork: the child starts its own workers."""
        for worker in self._idle:
            worker.forget(busy=False)
        for worker in self._busy:
            worker.forget(busy=True)
        self._reset()


_POOLS: weakref.WeakSet[WorkerPool] = weakref.WeakSet()


def _close_pools() -> None:
    for pool in list(_POOLS):
        pool.close()


def _forget_pools() -> None:
    for pool in list(_POOLS):
        pool.forget()


atexit.register(_close_pools)
if hasattr(os, "register_at_fork"):
    os.register_at_fork(after_in_child=_forget_pools)


@contextlib.contextmanager
def _alarm(seconds: float | None, ring: Callable[[], object]) -> Iterator[None]:
    """Call `ring` from another thread unless the block ends in time."""
    if seconds is None:
        yield
        return
    timer = threading.Timer(seconds, ring)
    timer.daemon = True
    timer.start()
    try:
        yield
    finally:
        timer.cancel()


def _artifact(request: Request, sizes: list[int], body: bytes) -> Artifact:
    parts: dict[str, bytes] = {}
    start = 0
    for name, size in zip(request.emit, sizes, strict=True):
        parts[name] = body[start : start + size]
        start += size
    return Artifact(parts.get("object", b""), parts.get("assembly", b"").decode())


def shared_pool() -> WorkerPool:
    """The pool that all targets of this process use, sized by the settings in force."""
    settings = config()
    return _pool_of(settings.workers, settings.worker_timeout)


@cache
def _pool_of(size: int, timeout: float) -> WorkerPool:
    return WorkerPool(size, timeout=timeout)
