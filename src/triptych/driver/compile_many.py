"""`compile_many(jobs)`: programs compiled at the same time, by processes that give them to the store.

A job is a call of `compile` that is not made yet: `partial(compile, f, *args)`. Whoever makes it later, here or in any
process that shares the store, finds what was compiled.
"""

from __future__ import annotations

import dataclasses
import pickle
import time
import traceback
from collections.abc import Callable, Sequence
from concurrent.futures import CancelledError, Executor, Future
from functools import partial
from queue import SimpleQueue
from typing import Any, Literal, NamedTuple, TypeAlias

from triptych.artifact_store.configured import default_store
from triptych.driver.boundary import for_user
from triptych.driver.cache_misses import NoStoreError
from triptych.driver.compile_calls import Compiler
from triptych.driver.compile_workers import CompileWorkers, is_loading
from triptych.driver.compiling import CompiledFunction
from triptych.fingerprint.cache_key import Key
from triptych.support.config import config, override
from triptych.support.dataclass import dataclass
from triptych.support.errors import TriptychError
from triptych.support.processors import cpu_seconds, processors
from triptych.support.tracebacks import caller
from triptych.support.wording import with_article

CompileCall: TypeAlias = "partial[CompiledFunction]"
Outcome: TypeAlias = Literal["compiled", "found", "traced", "not kept", "failed"]


class CompileJobError(TriptychError, TypeError):
    """Something is no job for `compile_many`, or it is called again while a worker process loads the program."""

    code = "TT0716"


@dataclass(frozen=True, slots=True)
class Compilation:
    """What came of one job."""

    job: CompileCall
    outcome: Outcome
    """Compiled now, found in the store, traced (its code is there for every trace), compiled for nobody, or failed."""
    seconds: float = 0.0
    key: str = ""
    error: Exception | None = None
    cpu_seconds: float = 0.0
    """Of processors: the same however busy the machine is. Of a thread its own, without LLVM's processes."""

    @property
    def name(self) -> str:
        """Function and target, as a person reads them."""
        return " ".join(filter(None, (_name_of(self.job), self.job.keywords.get("target", ""))))

    def result(self) -> CompiledFunction:
        """The compiled function, in this process; raises what the job raised."""
        if self.error is not None:
            raise self.error
        return self.job()


class Done(NamedTuple):
    """What a worker tells of a job; pickled."""

    outcome: Outcome
    seconds: float
    key: str
    error: Exception | None
    cpu_seconds: float = 0.0


Progress: TypeAlias = Callable[[Compilation, int, int], None]
"""Called in this process after each job, with how many are done and how many there are."""


def compile_many(
    jobs: Sequence[CompileCall],
    executor: Executor | None = None,
    *,
    workers: int | None = None,
    progress: Progress | None = None,
) -> list[Compilation]:
    """Compile jobs, as `partial(compile, f, *args)`; what came of each, in their order.

    Without an executor there are as many processes as processors, or `workers`; they end with this call, also when it
    is interrupted. An executor of yours (of threads, processes, Ray, Dask, MPI) stays open. One job's error is not
    another's.
    """
    try:
        _check(jobs)
    except Exception as error:
        for_user(error)
        raise
    found: dict[int, Compilation] = {}

    def finish(i: int, done: Done) -> None:
        found[i] = Compilation(jobs[i], done.outcome, done.seconds, done.key, done.error, done.cpu_seconds)
        if progress is not None:
            progress(found[i], len(found), len(jobs))

    left = [i for i in range(len(jobs)) if not _is_settled(jobs[i], partial(finish, i))]
    if left and executor is not None:
        _compile_on(executor, {i: jobs[i] for i in left}, finish)
    elif left:
        own = CompileWorkers(min(workers or processors(), len(left)))
        try:
            _compile_on(own, {i: jobs[i] for i in left}, finish)
        finally:
            own.shutdown(cancel_futures=True)
    return [found[i] for i in range(len(jobs))]


def compile_job(settings: dict[str, Any], job: CompileCall) -> Done:
    """Make one call of `compile`, in whatever process this is; errors come back as values."""
    started, cpu, key = time.perf_counter(), cpu_seconds(), ""
    try:
        with override(**settings):
            key, store = key_of(job).digest, default_store()
            had = store is not None and store.has(key)
            made = job()
            has = store is not None and store.has(made.code_key or key) and store.flush()
        outcome: Outcome = "found" if had else "not kept" if not has else "traced" if made.code_key else "compiled"
        return Done(outcome, time.perf_counter() - started, key, None, cpu_seconds() - cpu)
    except Exception as error:  # of the program: whoever asked for it is told
        return Done("failed", time.perf_counter() - started, key, _sendable(error), cpu_seconds() - cpu)


def key_of(job: CompileCall) -> Key:
    """The key under which the store has what a job compiles."""
    compiler: Compiler = job.func  # type: ignore[assignment]  # asked in `_check`
    return compiler.key(*job.args, **job.keywords)


def _compile_on(executor: Executor, jobs: dict[int, CompileCall], finish: Callable[[int, Done], None]) -> None:
    settings = dataclasses.asdict(config())
    futures: dict[Future[Done], int] = {}
    ended: SimpleQueue[Future[Done]] = SimpleQueue()
    """By callbacks: an executor that is shut down cancels futures and tells `as_completed` nothing."""
    try:
        for i, job in jobs.items():
            try:
                futures[executor.submit(compile_job, settings, job)] = i
            except Exception as error:  # of pickling, which runs the program's own code, or of an executor that is over
                finish(i, Done("failed", 0.0, "", _unsent(job, error)))
        for future in futures:
            future.add_done_callback(ended.put)
        for _ in futures:
            future = ended.get()
            finish(futures[future], _done(future, jobs[futures[future]]))
    finally:
        for future in futures:
            future.cancel()


def _unsent(job: CompileCall, error: Exception) -> Exception:
    """A job that no other process can have: a function inside a function, or an argument that is of this one."""
    given = {"the function": job.args[0]}
    given |= {f"argument {number} of compile": value for number, value in enumerate(job.args[1:], 2)}
    given |= {f"{name}=": value for name, value in job.keywords.items()}
    for what, value in given.items():
        try:
            pickle.dumps(value)
        except Exception as reason:  # of any class
            return CompileJobError(
                "another process cannot have a part of this job",
                span=caller(),
                found=f"{what}, {with_article(type(value).__name__)}: {reason}",
                expected="a function at the top level of its file, and arguments that can be pickled",
                instead="a NumPy array, `from_dlpack(...)` or `make_fake_tensor(...)` for a tensor; or an executor of "
                "threads",
            )
    return error


def _done(future: Future[Done], job: CompileCall) -> Done:
    try:
        return future.result()
    except CancelledError:
        stopped = CompileJobError(
            "a job was cancelled before it began",
            span=caller(),
            found="an executor that was shut down while compile_many used it, or `cancel` of its future",
            expected="an executor that stays open until compile_many returns",
        )
        return Done("failed", 0.0, "", stopped)
    except Exception as error:  # of the executor: its process is gone, or has no such module, or cannot have the job
        return Done("failed", 0.0, "", _unsent(job, error))


def _is_settled(job: CompileCall, finish: Callable[[Done], None]) -> bool:
    """Whether nothing is left to do: it is kept, or it is none that can be compiled."""
    store = default_store()
    try:
        key = key_of(job).digest
    except Exception as error:
        finish(Done("failed", 0.0, "", error))
        return True
    if store is not None and store.has(key):
        finish(Done("found", 0.0, key, None))
        return True
    return False


def _check(jobs: Sequence[object]) -> None:
    if is_loading():
        raise CompileJobError(
            "compile_many is called while a worker process loads the program",
            span=caller(),
            found="a call at the top level of the program",
            instead='`if __name__ == "__main__":` around what starts it',
        )
    for job in jobs:
        if not isinstance(job, partial) or not isinstance(job.func, Compiler):
            raise CompileJobError(
                "a job of compile_many is a call of `compile` that is not made yet",
                span=caller(),
                found=repr(job),
                instead="`partial(tt.compile, function, *args)`",
            )
    if jobs and default_store() is None:
        raise NoStoreError(
            "what is compiled in other processes has nowhere to go",
            span=caller(),
            found="TRIPTYCH_CACHE=0",
            instead="TRIPTYCH_CACHE=1",
        )


def _name_of(job: CompileCall) -> str:
    function = job.args[0]
    return str(getattr(function, "__qualname__", type(function).__qualname__))


def _sendable(error: Exception) -> Exception:
    """The error, if another process can have it; else its text."""
    if not isinstance(error, TriptychError):
        error.add_note("in the process that compiled:\n" + "".join(traceback.format_exception(error)))
    try:
        pickle.loads(pickle.dumps(error))
    except Exception:  # of any class
        return RuntimeError(f"{type(error).__name__}: {error}")
    return error
