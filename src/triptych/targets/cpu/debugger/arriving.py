"""Breakpoint callback of the pool: threads of a warp reach a place where they may stop, or one of them fails."""

from __future__ import annotations

from triptych.support.forking import import_late

PYTHON_STOPPER = "triptych_python_stopper"
PYTHON_REMEMBERER = "triptych_python_rememberer"


def stopped(launch: int, site: int, numbers: int) -> None:
    """The debugger is imported by the first thread that stops. What it raises ends the launch."""
    import_late("triptych.targets.cpu.debugger.session").arrived(launch, site, numbers)


def failed(launch: int, site: int, numbers: int) -> None:
    """A thread has failed a check; the site is that of its last stop."""
    import_late("triptych.targets.cpu.debugger.failing").remember(launch, site, numbers)
