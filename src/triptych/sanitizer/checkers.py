"""Checkers of the setting `debug`: each of its words is one that is compiled into kernels."""

from __future__ import annotations

import zlib

from triptych.support.config import config
from triptych.support.source import Span

_ORDER = "order:"
_WITHOUT = "without:"

BOUNDS = "bounds"
"""Every access lies in its tensor, is aligned as assumed and not at null."""
RACES = "races"
"""Accesses of shared memory by different threads are ordered by a barrier, a mask of lanes, or a release."""
INIT = "init"
"""Shared memory is written before it is read."""
GLOBAL = "global"
"""Accesses of global memory by different threads and blocks of a launch are ordered."""
ASYNC = "async"
"""Of `races`: what asynchronous copies and products need is left alone until they have ended. They are done late."""

BARRIER_STATISTICS = "barriers"
"""No checker: how threads come to what orders them is counted, for hints."""
BREAK = "break"
"""No checker: statements of kernels can stop for a debugger."""

DEFAULT = "bounds,races,init,async"
"""What `triptych check` and `pytest --triptych-check` turn on."""


def checkers() -> frozenset[str]:
    """The checkers that are on here."""
    words = frozenset(config().debug.lower().split(",")) - {""}
    return frozenset({BOUNDS, RACES, INIT, GLOBAL, ASYNC}) | words if "all" in words else words


def warp_order() -> int | None:
    """The seed of an order in which the warps of a block come to their turns; None is the order of their numbers."""
    return next((int(word.removeprefix(_ORDER)) for word in checkers() if word.startswith(_ORDER)), None)


def in_order(seed: int) -> str:
    """The word of that order."""
    return f"{_ORDER}{seed}"


def suppressed(span: Span | None) -> bool:
    """Whether the checkers are to overlook what orders threads at a line, to see whether anything needs it."""
    return span is not None and suppressing(span) in checkers()


def suppressing(span: Span) -> str:
    """The word for that line."""
    return f"{_WITHOUT}{zlib.crc32(span.file.encode())}.{span.line}"
