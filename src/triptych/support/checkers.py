"""The words of the setting `debug`: each is one checker that is compiled into kernels."""

from __future__ import annotations

from triptych.support.config import config

BOUNDS = "bounds"
"""Every access lies in its tensor, is aligned as assumed and not at null."""
RACES = "races"
"""Accesses of shared memory by different threads are ordered by a barrier, a mask of lanes, or a release."""
INIT = "init"
"""Shared memory is written before it is read."""
GLOBAL = "global"
"""Accesses of global memory by different threads and blocks of a launch are ordered."""
ASYNC = "async"
"""What copies and products need that go on by themselves is left alone until they have ended."""

BREAK = "break"
"""No checker: statements of kernels can stop for a debugger."""

DEFAULT = "bounds,races,init,async"
"""What `triptych check` and `pytest --triptych-check` turn on."""


def checkers() -> frozenset[str]:
    """The checkers that are on here."""
    words = frozenset(config().debug.lower().split(",")) - {""}
    return frozenset({BOUNDS, RACES, INIT, GLOBAL, ASYNC}) | words if "all" in words else words
