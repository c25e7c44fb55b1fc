"""Names in code spans of pages: what begins with a module of the package is an attribute of it."""

from __future__ import annotations

import importlib
import re
from functools import cache
from pathlib import Path
from types import ModuleType
from typing import Any

from triptych.ir.errors import MissingPackageError

OF_OTHERS = frozenset({"cute.experimental"})
"""Names of the public CuTe DSL that pages say are missing here."""
_HISTORY = {"decisions", "changes"}
_SHORT = {"tt": "triptych", "cute": "triptych.cute", "triptych": "triptych"}
_SPAN = re.compile(r"(?<!`)`(?P<name>(?:tt|cute|triptych)(?:\.\w+)+)(?:\([^`]*\))?`(?!`)")
_FENCED = re.compile(r"^(```+|:::+).*?^\1\s*$", re.MULTILINE | re.DOTALL)


def unknown_names(text: str) -> list[str]:
    """Names of the package that a page has in its prose, and that do not exist."""
    names = dict.fromkeys(match["name"] for match in _SPAN.finditer(_FENCED.sub("", text)))
    return [name for name in names if name not in OF_OTHERS and not exists(name)]


def unknown_names_of(sources: Path) -> list[str]:
    """Such names in the pages of the site. Decisions and changes tell of names that there were."""
    pages = [page for page in sorted(sources.rglob("*.md")) if not {page.parent.name, page.stem} & _HISTORY]
    return [
        f"{page.relative_to(sources).as_posix()}: there is no {name}"
        for page in pages
        for name in unknown_names(page.read_text(encoding="utf-8"))
    ]


@cache
def exists(name: str) -> bool:
    """Whether a dotted name leads to something."""
    first, *rest = name.split(".")
    try:
        return _leads_on(importlib.import_module(_SHORT[first]), rest)
    except MissingPackageError:
        return True  # a module of the package that needs another one, which is not installed here


# Any: names lead to modules, classes and functions alike.
def _leads_on(value: Any, parts: list[str]) -> bool:
    for part in parts:
        if hasattr(value, part):
            value = getattr(value, part)
        elif isinstance(value, ModuleType):
            try:
                value = importlib.import_module(f"{value.__name__}.{part}")
            except MissingPackageError:
                raise
            except ModuleNotFoundError:
                return False
        else:
            return False
    return True
