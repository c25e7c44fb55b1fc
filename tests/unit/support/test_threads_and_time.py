"""Stacks of threads, processor time and the processors themselves."""

from __future__ import annotations

import subprocess
import sys
import threading
from collections.abc import Callable

import pytest

from triptych.support.processors import cpu_seconds, processor_model, processors
from triptych.support.stacks import on_large_stack


def in_a_thread(work: Callable[[], object]) -> object:
    """What a thread with a small stack gets."""
    got: list[object] = []
    thread = threading.Thread(target=lambda: got.append(work()))
    thread.start()
    thread.join()
    return got[0]


def test_work_of_a_thread_runs_in_one_with_a_large_stack() -> None:
    assert on_large_stack(lambda: threading.current_thread().name) == "MainThread"
    assert in_a_thread(lambda: on_large_stack(lambda: threading.current_thread().name)) == "triptych-large-stack"


def test_what_it_raises_is_raised_here() -> None:
    def failing() -> object:
        with pytest.raises(KeyError) as raised:
            on_large_stack(lambda: dict[str, int]()["key"])
        return raised.value.args

    assert in_a_thread(failing) == ("key",)


def test_time_of_children_that_run_counts() -> None:
    program = "import time\nwhile time.process_time() < 0.5: pass\nprint(1, flush=True)\ninput()"
    before = cpu_seconds()
    with subprocess.Popen(
        [sys.executable, "-S", "-c", program], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True
    ) as child:
        assert child.stdout is not None
        child.stdout.readline()
        assert cpu_seconds() - before >= 0.4
        child.communicate("\n")
    assert in_a_thread(lambda: 0 <= cpu_seconds() < 0.4)


def test_processors_have_a_number_and_a_name() -> None:
    assert processors() >= 1
    assert processor_model()
