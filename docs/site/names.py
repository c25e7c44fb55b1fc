"""Names in code spans of pages: what begins with a module of the package is an attribute of it."""

from __future__ import annotations

import importlib
import re
from functools import cache
from types import ModuleType
from typing import Any

_SHORT = {"tt": "triptych", "cute": "triptych.cute", "triptych": "triptych"}
_SPAN = re.compile(r"(?<!`)`(?P<name>(?:tt|cute|triptych)(?:\.\w+)+)(?:\([^`]*\))?`(?!`)")
_FENCED = re.compile(r"^(```+|:::+).*?^\1\s*$", re.MULTILINE | re.DOTALL)


def unknown_names(text: str) -> list[str]:
    """Names of the package that a page has in its prose, and that do not exist."""
    names = dict.fromkeys(match["name"] for match in _SPAN.finditer(_FENCED.sub("", text)))
    return [name for name in names if not exists(name)]


@cache
def exists(name: str) -> bool:
    """Whether a dotted name leads to something."""
    first, *rest = name.split(".")
    value: Any = importlib.import_module(_SHORT[first])
    for part in rest:
        if hasattr(value, part):
            value = getattr(value, part)
        elif isinstance(value, ModuleType):
            try:
                value = importlib.import_module(f"{value.__name__}.{part}")
            except ModuleNotFoundError:
                return False
        else:
            return False
    return True
