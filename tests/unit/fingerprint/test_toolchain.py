"""The digest of the package's own source: every module, and no program that only shows an error."""

from __future__ import annotations

import pkgutil
from pathlib import Path

import triptych
from triptych.fingerprint.releases import own_files


def test_the_digest_is_of_modules() -> None:
    files = {path.relative_to(triptych.__path__[0]) for path in map(Path, own_files())}
    modules = {
        Path(*module.name.split(".")[1:], *(["__init__"] if module.ispkg else [])).with_suffix(".py")
        for module in pkgutil.walk_packages(triptych.__path__, "triptych.", onerror=lambda _: None)
    }
    assert files == modules | {Path("__init__.py")}
