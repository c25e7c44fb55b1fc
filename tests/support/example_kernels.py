"""The kernel examples as modules: they are scripts, which import each other by their file names."""

from __future__ import annotations

import importlib
import sys
from pathlib import Path
from types import ModuleType

FOLDER = Path(__file__).resolve().parents[2] / "examples" / "kernels"


def example(name: str) -> ModuleType:
    """The module of one example."""
    if str(FOLDER) not in sys.path:
        sys.path.append(str(FOLDER))
    return importlib.import_module(name)
