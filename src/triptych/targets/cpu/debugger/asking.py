"""Interactive input: whether anybody can answer a debugger, as nobody does in a job without a terminal."""

from __future__ import annotations

import builtins
import os
import pdb  # noqa: T100 - to ask which one it is
import select
import stat
import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from types import BuiltinFunctionType
from typing import TextIO

from triptych.diagnostics.runtime_errors import NobodyAnswersError
from triptych.support.config import process_environment
from triptych.support.source import Span

_PATIENCE = 1.0
"""Seconds in which whoever writes to a pipe has begun to."""


def chosen_debugger() -> Callable[[], object] | None:
    """The debugger that the program, or what runs it, has chosen; None for Python's."""
    if process_environment().get("PYTHONBREAKPOINT"):
        return sys.breakpointhook
    if sys.breakpointhook is not sys.__breakpointhook__ and not _waits_for_a_client():
        return sys.breakpointhook
    return pdb.set_trace if _is_of_pytest() else None


def _is_of_pytest() -> bool:
    """Whether pytest has put its own in the place of Python's: it stops capturing first."""
    return pdb.set_trace.__module__.startswith("_pytest")


def _waits_for_a_client() -> bool:
    """Whether the debugger is that of an editor which is not there: notebooks load it, and it stops nobody."""
    if not str(getattr(sys.breakpointhook, "__module__", "")).startswith("debugpy"):
        return False
    editors = sys.modules.get("debugpy")
    return editors is None or not editors.is_client_connected()


def is_switched_off() -> bool:
    """Whether Python is told to pass over breakpoints."""
    return process_environment().get("PYTHONBREAKPOINT") == "0" and sys.breakpointhook is sys.__breakpointhook__


def check_answers(span: Span) -> None:
    """Refuse to stop where nobody can answer."""
    chosen = chosen_debugger()
    if chosen is pdb.set_trace:
        with _reading():
            found = _answers(sys.__stdin__)
    else:
        found = chosen is not None or _answers(sys.stdin)
    if found:
        return
    raise NobodyAnswersError(
        "a thread of a kernel stops for the debugger, and nobody can answer it",
        span=span,
        found="a standard input that is no terminal, and that has nothing to read",
        expected="a terminal, a notebook, a file of commands, or a debugger of your own",
        instead="run it in a terminal, or with commands: `python program.py < commands.txt`; PYTHONBREAKPOINT=0 passes "
        "over breakpoints, and without `break` in TRIPTYCH_DEBUG they are not compiled",
    )


@contextmanager
def _reading() -> Iterator[None]:
    """Standard input as pytest was given it: while it captures, the null device stands there."""
    plugins = getattr(getattr(pdb.set_trace, "__self__", None), "_pluginmanager", None)
    capturing = plugins.getplugin("capturemanager") if plugins is not None else None
    if capturing is not None:
        capturing.suspend_global_capture(in_=True)
    try:
        yield
    finally:
        if capturing is not None:
            capturing.resume_global_capture()


def _answers(given: TextIO | None) -> bool:
    if not isinstance(builtins.input, BuiltinFunctionType):  # a notebook's, which asks its page
        return True
    if given is None or given.closed:
        return False
    try:
        number = given.fileno()
    except (OSError, ValueError):  # an object of the program, which reads from somewhere else
        return True
    if os.isatty(number) or stat.S_ISREG(os.fstat(number).st_mode):
        return True
    if stat.S_ISCHR(os.fstat(number).st_mode):  # the null device
        return False
    if not _ANSWERED and _ready(number):
        _ANSWERED.append(True)
    return bool(_ANSWERED)


_ANSWERED: list[bool] = []
"""Not empty once a pipe has had something to read: the rest of it may be in Python's own buffer by then."""


def _ready(number: int) -> bool:
    if not hasattr(select, "poll"):
        return False
    asked = select.poll()
    asked.register(number, select.POLLIN)
    return any(events & select.POLLIN for _, events in asked.poll(_PATIENCE * 1000))
