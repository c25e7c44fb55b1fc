"""Errors of programs that import `cutlass`: a name that Triptych does not have, the other package."""

from __future__ import annotations

from triptych.support.errors import TriptychError


class NotHereYetError(TriptychError, AttributeError):
    """A module of the public language has a name that Triptych does not have yet; the error tells the tier of the name.

    It is an `AttributeError`, so `hasattr` and `getattr` with a default work.
    """

    code = "TT0706"


class NotImportableYetError(TriptychError, ImportError):
    """A program imports a public name, or a module, that Triptych does not have yet; the error tells its tier.

    It is an `ImportError`, so a program that can do without catches it.
    """

    code = "TT0707"


class OtherPackageError(TriptychError, RuntimeError):
    """The package `cutlass` itself is imported already, and one process cannot have two meanings of one name."""

    code = "TT0710"
