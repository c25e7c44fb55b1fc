"""Many threads and processes compile and call the same functions at once; a dying LLVM harms only its own compile."""

from __future__ import annotations

import multiprocessing
import threading
import time
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from multiprocessing.connection import Connection
from typing import Any

import pytest

import triptych as tt
from tests.integration.shared_programs import Case, fatal, fresh_cases, wrong_results
from triptych.driver.listeners import COMPILE_LISTENERS
from triptych.ir.errors import WorkerDiedError
from triptych.stages import Loaded

WORKERS = 4
CALLS = 1000
PATIENCE = 50.0
"""Seconds after which what still runs counts as deadlocked."""


def in_threads(task: Callable[[int], Any]) -> list[Any]:
    """The results of one task in several threads that start together."""
    barrier = threading.Barrier(WORKERS)

    def run(index: int) -> Any:
        barrier.wait()
        return task(index)

    with ThreadPoolExecutor(WORKERS) as executor:
        pending = [executor.submit(run, index) for index in range(WORKERS)]
        return [each.result(timeout=PATIENCE) for each in pending]


def in_processes(method: str, task: Callable[..., None], *arguments: Any) -> list[Any]:
    """What each of several processes sends; a process that ends silently or not at all fails the test."""
    context: Any = multiprocessing.get_context(method)
    pipes = [context.Pipe(duplex=False) for _ in range(WORKERS)]
    processes = [context.Process(target=task, args=(sender, *arguments), daemon=True) for _, sender in pipes]
    for process in processes:
        process.start()
    deadline = time.monotonic() + PATIENCE
    try:
        return [_received(receiver, deadline) for receiver, _ in pipes]
    finally:
        for process in processes:
            process.join(timeout=5)
            process.kill()


def _received(receiver: Connection, deadline: float) -> Any:
    assert receiver.poll(max(0.0, deadline - time.monotonic())), "a process is stuck"
    return receiver.recv()


def compile_and_call(sender: Connection) -> None:
    """The task of a new process: everything is compiled here."""
    sender.send(wrong_results(fresh_cases(), CALLS))


def call_inherited_and_compile(sender: Connection, inherited: tuple[Case, ...]) -> None:
    """The task of a forked process: call what the parent compiled, then compile the same functions again."""
    sender.send(wrong_results(inherited, CALLS) + wrong_results(fresh_cases(), CALLS))


def test_threads_share_functions() -> None:
    cases = fresh_cases()
    assert in_threads(lambda _: wrong_results(cases, CALLS)) == [[]] * WORKERS


def test_threads_compile_functions_of_their_own() -> None:
    assert in_threads(lambda _: wrong_results(fresh_cases(), CALLS)) == [[]] * WORKERS


def test_spawned_processes() -> None:
    assert in_processes("spawn", compile_and_call) == [[]] * WORKERS


@pytest.mark.filterwarnings("ignore:This process .* is multi-threaded:DeprecationWarning")
def test_forked_processes_of_a_parent_that_has_compiled() -> None:
    cases = fresh_cases()
    assert wrong_results(cases, 40) == []
    assert in_processes("fork", call_inherited_and_compile, cases) == [[]] * WORKERS
    assert wrong_results(cases, CALLS) == []
    assert wrong_results(fresh_cases(), 40) == []


@pytest.mark.filterwarnings("ignore:This process .* is multi-threaded:DeprecationWarning")
def test_fork_while_other_threads_compile() -> None:
    """Locks and pipes of compilations under way in the parent are of no concern to the child."""
    cases = fresh_cases()
    assert wrong_results(cases, 40) == []
    going_on = threading.Event()
    parent_results: list[list[str]] = []

    def keep_compiling() -> None:
        while not going_on.is_set():
            parent_results.append(wrong_results(fresh_cases(), 8))

    compiling = threading.Thread(target=keep_compiling)
    compiling.start()
    try:
        assert in_processes("fork", call_inherited_and_compile, cases) == [[]] * WORKERS
    finally:
        going_on.set()
        compiling.join(PATIENCE)
    assert parent_results
    assert not any(parent_results)


def test_a_dying_llvm_is_an_exception_and_the_next_compile_works() -> None:
    with pytest.raises(WorkerDiedError, match="inline asm"):
        tt.jit(fatal)(1)
    assert wrong_results(fresh_cases(), 40) == []


def test_a_dying_llvm_harms_only_its_own_thread() -> None:
    def task(index: int) -> list[str]:
        if index % 2:
            return wrong_results(fresh_cases(), 100)
        for _ in range(3):
            with pytest.raises(WorkerDiedError):
                tt.jit(fatal)(1)
        return []

    assert in_threads(task) == [[]] * WORKERS


def test_specializations_of_one_function_do_not_wait_for_each_other() -> None:
    """Each of two waits, while it is traced, for the other one to be traced as well."""
    meeting = threading.Barrier(2)

    def meet() -> None:
        meeting.wait(PATIENCE)

    @tt.jit(opt_level=0)
    def scaled(n: tt.Int32, factor: tt.Constexpr[int]) -> Any:
        tt.at_trace_time(meet)
        return n * factor

    with ThreadPoolExecutor(2) as executor:
        pending = [executor.submit(scaled, 5, factor) for factor in (2, 3)]
        assert [each.result(timeout=PATIENCE) for each in pending] == [10, 15]


def test_one_specialization_is_compiled_by_one_thread() -> None:
    seen: list[str] = []

    def watch(loaded: Loaded) -> Loaded:
        seen.append(loaded.compiled.lowered.traced.name)
        return loaded

    @tt.jit(opt_level=0)
    def scaled_once(n: tt.Int32, factor: tt.Constexpr[int]) -> Any:
        return n * factor

    COMPILE_LISTENERS.append(watch)
    try:
        assert in_threads(lambda _: scaled_once(5, 7)) == [35] * WORKERS
    finally:
        COMPILE_LISTENERS.remove(watch)
    assert seen == ["scaled_once"]
