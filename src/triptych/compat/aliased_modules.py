"""Modules of Triptych while they are also modules of `cutlass`: a public name that is not here yet is a coded error.

The module objects stay the same, only their class changes, so identity, `isinstance` and what a program does to a
module mean the same under both names; `restore` puts all of it back.
"""

from __future__ import annotations

import importlib
import sys
from dis import opmap
from types import FrameType, ModuleType
from typing import Any, TypeVar

from triptych.compat.errors import NotHereYetError, NotImportableYetError
from triptych.compat.module_aliases import BESIDE, HOMES, NOT_HERE_YET
from triptych.compat.public_names import TIERS, public_names, tier_of, tier_of_module, when
from triptych.diagnostics.likely_mistakes import missing_name
from triptych.support.tracebacks import caller

Absence = TypeVar("Absence", NotHereYetError, NotImportableYetError)

_IMPORT_FROM = opmap["IMPORT_FROM"]
_PUBLIC = {home: public for public, home in reversed(HOMES.items())}
"""Each module of Triptych by its public name; the first in the table, which is the shortest."""


class AliasedModule(ModuleType):
    """A module that has a public name; where it lacks an attribute, the table of public names is asked."""

    def __getattr__(self, name: str) -> Any:
        try:
            return _absent(self, name, sys._getframe(1))
        except (AttributeError, ImportError) as error:
            error.__traceback__ = None  # a bare `raise` adds no entry for this frame, which is none of the user's
            raise


def alias(module: ModuleType) -> None:
    """From now on the module answers for its public name."""
    module.__class__ = AliasedModule


def restore(module: ModuleType) -> None:
    """An ordinary module again, without the attributes that imports of its further public names have set."""
    public, own = _PUBLIC.get(module.__name__), vars(module).get("__all__", ())
    for child in (*HOMES, *NOT_HERE_YET):
        parent, _, name = child.rpartition(".")
        if parent == public and name not in own and HOMES.get(child) != f"{module.__name__}.{name}":
            vars(module).pop(name, None)
    module.__class__ = ModuleType


def without_a_home(public: str) -> ModuleType:
    """A module of which nothing is here yet."""
    module = AliasedModule(public, "Nothing of this public module is here yet.")
    module.__path__ = []  # modules of it can be imported
    return module


def _absent(module: AliasedModule, name: str, frame: FrameType) -> Any:
    """A module by its public name; otherwise the error for a name that is not here, or that nobody has."""
    public = _PUBLIC.get(module.__name__, module.__name__)
    if name.startswith("__"):
        raise AttributeError(f"module {public!r} has no attribute {name!r}", name=name, obj=module)
    child = f"{public}.{name}"
    if child in HOMES or child in NOT_HERE_YET:
        return importlib.import_module(child)
    tier = BESIDE.get(child) or public_names().get(child) or tier_of_module(child)
    if tier is None and public in NOT_HERE_YET:
        tier = tier_of(child) or tier_of_module(public)
    if tier is None:
        raise missing_name(public, name, dir(module))
    # `from m import name` turns an AttributeError into one that says nothing of tiers.
    if frame.f_code.co_code[max(frame.f_lasti, 0)] == _IMPORT_FROM:
        raise not_here(child, tier, NotImportableYetError)
    raise not_here(child, tier, NotHereYetError)


def not_here(name: str, tier: str, error: type[Absence]) -> Absence:
    """The error for a public name that is not here yet."""
    return error(
        f"`{name}` is not here yet: it belongs to tier {tier}, {TIERS[tier].title}",
        span=caller(),
        found=name,
        expected="a public name that is here; `triptych coverage PATH` lists those that a program uses",
        instead=f"nothing yet: {when(name, tier)}",
    )
