"""Plug-ins found by name: installed packages announce them as entry points, they load on first use.

The base never imports a target or a language; it asks a `Registry` for it.
"""

from __future__ import annotations

import warnings
from collections.abc import Mapping
from operator import attrgetter
from typing import Generic, TypeVar, cast

from triptych.support.errors import TriptychError, TriptychWarning
from triptych.support.forking import import_late, lazy
from triptych.support.wording import did_you_mean

T = TypeVar("T")


class UnknownPluginError(TriptychError, LookupError):
    """A plug-in was asked for by a name nobody registered, or the plug-in of that name cannot be loaded."""

    code = "TT0701"


class DuplicatePluginError(TriptychError, ValueError):
    """Two different plug-ins claim one name, so asking for that name has no single answer."""

    code = "TT0702"


class Registry(Generic[T]):
    """The plug-ins of one entry point group.

    `builtin` maps reserved names to `module:attribute`: they need no installed metadata, whose reading costs 50 ms.
    """

    def __init__(self, group: str, *, builtin: Mapping[str, str] | None = None) -> None:
        self.group = group
        self._builtin = dict(builtin or {})
        self._loaded: dict[str, T] = {}

    def names(self) -> list[str]:
        """Every name that can be asked for, without loading anything."""
        return sorted({*self._builtin, *self._installed, *self._loaded})

    def register(self, name: str, value: T) -> None:
        """Add a plug-in of this process (tests, notebooks) under a free name."""
        if name in self.names():
            raise DuplicatePluginError(f"{self.group} already has a plug-in {name!r}", instead="another name")
        self._loaded[name] = value

    def get(self, name: str) -> T:
        """The plug-in, loaded on first use."""
        if name not in self._loaded:
            self._loaded[name] = self._load(name, self._reference(name))
        return self._loaded[name]

    def all(self) -> dict[str, T]:
        """Every plug-in that loads; a broken one is warned about and left out, so it cannot take the others down."""
        found: dict[str, T] = {}
        for name in self.names():
            try:
                found[name] = self.get(name)
            except (UnknownPluginError, DuplicatePluginError) as error:
                warnings.warn(error.title, TriptychWarning, stacklevel=2)
        return found

    @lazy
    def _installed(self) -> dict[str, list[str]]:
        """Name to the distinct references that installed packages claim for it."""
        from importlib.metadata import entry_points  # 50 ms that a process using only built-ins never pays

        claims: dict[str, list[str]] = {}
        for entry in entry_points(group=self.group):
            references = claims.setdefault(entry.name, [])
            if entry.value not in (*references, self._builtin.get(entry.name)):
                references.append(entry.value)
        return claims

    def _reference(self, name: str) -> str:
        """The one reference behind `name`."""
        if name in self._builtin:
            return self._builtin[name]
        references = self._installed.get(name, [])
        if not references:
            known = self.names()
            raise UnknownPluginError(
                f"{self.group} has no plug-in {name!r}",
                expected=f"one of {', '.join(known)}" if known else "an installed plug-in; there is none",
                instead=did_you_mean(name, known),
            )
        if len(references) > 1:
            raise DuplicatePluginError(
                f"{len(references)} plug-ins claim the name {name!r} in {self.group}",
                found=", ".join(references),
                instead="uninstall one of the packages that provide them",
            )
        return references[0]

    def _load(self, name: str, reference: str) -> T:
        module, _, attribute = reference.partition(":")
        try:
            return cast(T, attrgetter(attribute)(import_late(module)))
        except Exception as error:
            raise UnknownPluginError(
                f"plug-in {name!r} of {self.group} cannot be loaded: {type(error).__name__}: {error}", found=reference
            ) from error
