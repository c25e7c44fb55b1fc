"""Errors of requests to the object-stage: a target, an option or a view of code that does not exist."""

from __future__ import annotations

from triptych.support.errors import TriptychError


class UnknownTargetError(TriptychError, ValueError):
    """No target of that name is built in or installed."""

    code = "TT0504"


class UnknownOptionError(TriptychError, ValueError):
    """A compile option has an unknown name or a value outside its range."""

    code = "TT0505"


class MissingViewError(TriptychError, AttributeError):
    """A compiled function was asked for a form that its target does not have, as PTX of code for the CPU."""

    code = "TT0507"


class CompiledFunctionPickleError(TriptychError, TypeError):
    """A compiled function was pickled, as for another process: its machine code stays where it is."""

    code = "TT0652"
