"""Garbage collection of Python, paused while a compilation makes many objects that live until it ends."""

from __future__ import annotations

import gc
import os
from _thread import get_ident
from collections.abc import Iterator
from contextlib import contextmanager


@contextmanager
def no_collection() -> Iterator[None]:
    """Looking for garbage among the objects of a trace costs a fifth of its time, among those of passes a tenth."""
    if not gc.isenabled():
        yield
        return
    _PAUSED_BY.append(get_ident())
    gc.disable()
    try:
        yield
    finally:
        gc.enable()
        _PAUSED_BY.remove(get_ident())


_PAUSED_BY: list[int] = []
"""Threads that compile without collection."""


def _collect_again() -> None:
    """After a fork: the thread that would have done it does not exist here."""
    own = [thread for thread in _PAUSED_BY if thread == get_ident()]
    if len(own) < len(_PAUSED_BY):
        _PAUSED_BY[:] = own
        gc.enable()


if hasattr(os, "register_at_fork"):
    os.register_at_fork(after_in_child=_collect_again)
