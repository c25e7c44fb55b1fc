"""Errors of requests to the workbench itself; a kernel that is wrong is a verdict, not an error."""

from __future__ import annotations

from triptych.support.errors import TriptychError


class ContractError(TriptychError, ValueError):
    """A file does not have what the workbench needs: a kernel, what it should compute, and inputs for both."""

    code = "TT0720"


class RecordError(TriptychError, ValueError):
    """A file is no record of `triptych bench`, or one of a version that is not known."""

    code = "TT0721"


class ImpossibleTimeError(TriptychError, ArithmeticError):
    """A kernel took less time than the machine needs for the work it is said to do: one of the two is not so."""

    code = "TT0722"


class UnknownDeviceError(TriptychError, LookupError):
    """A device that nobody has described: its limits are not guessed from those of others."""

    code = "TT0723"


class PlanError(TriptychError, ValueError):
    """A plan lacks what it is asked for."""

    code = "TT0724"


class FolderError(TriptychError, ValueError):
    """A folder of a kernel cannot be made: its name is taken or is none, or the version to start from is not there."""

    code = "TT0725"
