"""Breakpoint diagnostics: a line of TRIPTYCH_BREAK where no thread can stop, said at tracing or at exit."""

from __future__ import annotations

import atexit
import os
import sys

from triptych.diagnostics.runtime_errors import BreakPlaceError
from triptych.metastage.debugger.breakpoint_setting import BreakPlace, break_place
from triptych.metastage.debugger.breakpoints import SITES
from triptych.support.config import config
from triptych.support.nearest import nearest

REACHED: set[str] = set()
"""Settings that have stopped a thread."""
_WATCHED: set[str] = set()


def check_break_place(first_site: int) -> None:
    """Refuse a line of the kernel just traced, whose places begin with that number, at which nothing stops."""
    text = config().break_
    place = break_place(text)
    if place is None:
        return
    _check_file(place)
    frames = [frame for site in SITES[first_site:] for frame in site.frames[-1:] if place.is_in(frame.file)]
    lines = {frame.line for frame in frames}
    around = [frame for frame in frames if frame.first_line <= place.line <= frame.last_line]
    if around and place.line not in lines:
        before = max((line for line in lines if line < place.line), default=min(lines))
        after = min((line for line in lines if line > place.line), default=max(lines))
        names = [f"{place.file}:{line}" for line in sorted({before, after})]
        raise BreakPlaceError(
            f"no statement of {around[0].function} begins at the line where a thread is to stop",
            found=f"TRIPTYCH_BREAK={text}",
            expected="the first line of a statement that the kernel has: what is decided while tracing leaves none",
            instead=f"TRIPTYCH_BREAK={' or '.join(names)}",
        )
    if text not in _WATCHED:
        _WATCHED.add(text)
        atexit.register(_tell_if_missed, text)


def _check_file(place: BreakPlace) -> None:
    loaded = {os.path.abspath(file) for module in list(sys.modules.values()) if (file := _file(module))}
    known = loaded | {frame.file for site in SITES for frame in site.frames}
    if os.path.exists(place.file) or any(place.is_in(file) for file in known):
        return
    names = sorted({os.path.basename(frame.file) for site in SITES for frame in site.frames})
    guess = nearest(os.path.basename(place.file), names) or (names[0] if names else None)
    raise BreakPlaceError(
        "there is no file of this name, so no thread can stop there",
        found=f"TRIPTYCH_BREAK={config().break_}",
        expected="a file of the program that has kernels, or the end of its path",
        instead=f"TRIPTYCH_BREAK={guess}:{place.line}" if guess else "",
    )


def _file(module: object) -> str:
    file = getattr(module, "__file__", None)
    return file if isinstance(file, str) else ""


def _tell_if_missed(text: str) -> None:
    if text not in REACHED:
        print(f"triptych: TRIPTYCH_BREAK={text}: no thread of a kernel came there", file=sys.stderr)
