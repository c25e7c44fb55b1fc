"""Errors of exported functions that are loaded into a Python process again."""

from __future__ import annotations

from triptych.support.errors import TriptychError


class ExportedModuleError(TriptychError, ValueError):
    """A file is no module that was exported, or it was by a version whose interface is another one."""

    code = "TT0522"


class MissingFunctionError(TriptychError, AttributeError):
    """A module that was exported has no function of that name."""

    code = "TT0523"


class ExportedCallError(TriptychError, RuntimeError):
    """An exported function has failed while it ran: it knows a text, but not the exception that Python would raise."""

    code = "TT0650"
