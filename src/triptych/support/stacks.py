"""Threads with a stack of a given size, as a caller's own may be small (512 KiB is the default of macOS); and threads
that only look."""

from __future__ import annotations

import threading
from collections.abc import Callable
from typing import TypeVar

from triptych.support.forking import Brief

T = TypeVar("T")

_LARGE = 8 << 20
"""As the main thread has on most systems."""
_SIZE = Brief()
"""Python has one size for all threads that start."""


OBSERVERS: set[int] = set()
"""Threads of Triptych's own that write nothing that programs wait for, by their identity."""


def start_thread(size: int, start: Callable[[], T]) -> T:
    """Call what starts a thread; the thread has a stack of `size` bytes."""
    with _SIZE:
        previous = threading.stack_size(size)
        try:
            return start()
        finally:
            threading.stack_size(previous)


def on_large_stack(work: Callable[[], T]) -> T:
    """Do work of a native library here if this is the main thread, otherwise in a thread whose stack is large."""
    if threading.current_thread() is threading.main_thread():
        return work()
    done: list[T] = []
    failed: list[BaseException] = []

    def run() -> None:
        try:
            done.append(work())
        except BaseException as error:
            failed.append(error)

    thread = threading.Thread(target=run, name="triptych-large-stack")
    start_thread(_LARGE, thread.start)
    thread.join()
    if failed:
        raise failed[0]
    return done[0]
