"""Toolchain fingerprint: our own source, and the releases of MLIR and LLVM.

A release number is enough for what others publish. Ours is read: in a checkout code changes and its number does not.
"""

from __future__ import annotations

import hashlib
import os
from collections.abc import Iterator
from functools import cache
from pathlib import Path

_ROOT = Path(__file__).parents[1]
_PROGRAMS = str(_ROOT / "diagnostics" / "catalogue")
"""Programs that show errors, which nothing imports."""


@cache
def own_source() -> str:
    """A digest of every module of this package: 10 ms, once in a process that keeps what it compiles."""
    whole = hashlib.sha256()
    for path in sorted(own_files()):
        content = Path(path).read_bytes()
        whole.update(f"{os.path.relpath(path, _ROOT)} {len(content)}\n".encode())
        whole.update(content)
    return whole.hexdigest()


def own_files(folder: str = str(_ROOT)) -> Iterator[str]:
    """The modules of this package, which are its Python files that somebody imports."""
    with os.scandir(folder) as entries:
        for entry in entries:
            if entry.is_dir():
                yield from own_files(entry.path) if entry.path != _PROGRAMS else ()
            elif entry.name.endswith(".py"):
                yield entry.path
