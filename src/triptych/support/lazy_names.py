"""Lazy names of a package that load on first use (PEP 562), so that importing the package costs next to nothing.

Type checkers read the same table as a stub beside the package (`__init__.pyi`), which a test writes and compares.
"""

from __future__ import annotations

import sys
from collections.abc import Mapping
from typing import Any

from triptych.support.forking import import_late

_MISTAKES = "triptych.diagnostics.likely_mistakes"
"""Loaded only when a name is missing."""


class LazyNames:
    """A package's table: the public names of each module, `name=Other` where the module spells it differently."""

    __slots__ = ("homes", "modules", "package")

    def __init__(self, package: str, names: Mapping[str, str], modules: tuple[str, ...]) -> None:
        self.package = package
        self.modules = modules
        """Public names that are modules of the package."""
        self.homes: dict[str, tuple[str, str]] = {}
        """Of each name, its module and how it is called there."""
        for home, listed in names.items():
            for entry in listed.split():
                name, _, spelled = entry.partition("=")
                self.homes[name] = home, spelled or name

    def load(self, name: str) -> Any:
        """A public name, as `__getattr__` of the package; afterwards it is an ordinary attribute."""
        if name in self.modules:
            return import_late(f"{self.package}.{name}")
        package = sys.modules[self.package]
        if name not in self.homes:
            try:
                raise import_late(_MISTAKES).missing_name(self.package, name, list(self.homes))
            except AttributeError as error:  # a bare `raise` adds no entry for this frame, which is none of the user's
                error.__traceback__ = None
                raise
        home, spelled = self.homes[name]
        value = getattr(import_late(home), spelled)
        setattr(package, name, value)
        return value
