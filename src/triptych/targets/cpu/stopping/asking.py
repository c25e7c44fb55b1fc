"""Who answers a debugger: nobody does in a job without a terminal, which would wait for ever."""

from __future__ import annotations

import builtins
import os
import select
import stat
import sys
from types import BuiltinFunctionType

from triptych.support.config import process_environment
from triptych.support.source import Span
from triptych.support.stop_errors import NobodyAnswersError

_PATIENCE = 1.0
"""Seconds in which whoever writes to a pipe has begun to."""


def has_own_debugger() -> bool:
    """Whether the program, or what runs it, has chosen another debugger than Python's."""
    if bool(process_environment().get("PYTHONBREAKPOINT")):
        return True
    return sys.breakpointhook is not sys.__breakpointhook__ and not _waits_for_a_client()


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
    if _is_chosen_by_hand() or _answers():
        return
    raise NobodyAnswersError(
        "a thread of a kernel stops for the debugger, and nobody can answer it",
        span=span,
        found="a standard input that is no terminal, and that has nothing to read",
        expected="a terminal, a notebook, a file of commands, or a debugger of your own",
        instead="run it in a terminal, or with commands: `python program.py < commands.txt`; PYTHONBREAKPOINT=0 passes "
        "over breakpoints, and without `break` in TRIPTYCH_DEBUG they are not compiled",
    )


def _is_chosen_by_hand() -> bool:
    """Whether a debugger is chosen that need not ask the terminal; that of pytest does."""
    return has_own_debugger() and not str(getattr(sys.breakpointhook, "__module__", "")).startswith("_pytest")


def _answers() -> bool:
    if not isinstance(builtins.input, BuiltinFunctionType):  # a notebook's, which asks its page
        return True
    given = sys.stdin if not has_own_debugger() else sys.__stdin__
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
