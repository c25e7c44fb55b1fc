"""The oracle of stale programs: before and after the change, compiled code answers as Python does."""

from __future__ import annotations

import re
from collections.abc import Callable
from typing import Any

from tests.differential.judge import Failure
from tests.differential.stale.generator import ELSEWHERE, StaleProgram
from tests.differential.stale.kinds import LIBRARY
from tests.unit.fingerprint.programs import modules
from triptych.support.errors import TriptychError

CALLS = 3
"""The second call is warm; a guard that fails although nothing changed shows in the third."""


def judge(program: StaleProgram) -> Failure | None:
    """A failure: another result than Python's, or an error where Python has none.

    Some nests mean nothing in Python (a function that became a method), and some cannot be changed (its docstring);
    those say nothing here either.
    """
    with modules(kinds=LIBRARY, elsewhere=ELSEWHERE, stale=program.source) as made:
        stale = vars(made["stale"])
        if type(_outcome(stale["plain"])) is not int:
            return None
        for phase in ("before", "after"):
            failure = _compare(stale["compiled"], stale["plain"], phase, program)
            if failure is not None:
                return failure
            if phase == "before" and isinstance(_outcome(stale["change"]), str):
                return None
    return None


def _compare(
    compiled: Callable[[], Any], plain: Callable[[], Any], phase: str, program: StaleProgram
) -> Failure | None:
    for call in range(CALLS):
        found, expected = _outcome(compiled), _outcome(plain)
        if found != expected:
            said = re.sub(r"\d+", "N", found.splitlines()[0]) if isinstance(found, str) else "another result"
            return Failure(f"{phase} the change: {said}", f"call {call}: {found!r}, not {expected!r}\n{program.source}")
    return None


def _outcome(call: Callable[[], Any]) -> Any:
    try:
        return call()
    except TriptychError as error:
        return f"{type(error).__name__}: {error.title}\n{error}"
    except Exception as error:
        return f"{type(error).__name__}\n{error}"
