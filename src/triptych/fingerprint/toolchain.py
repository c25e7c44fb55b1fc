"""Toolchain fingerprint: our own source, and the releases of MLIR and LLVM.

A release number is enough for what others publish. Ours is read: in a checkout code changes and its number does not.
"""

from __future__ import annotations

import hashlib
import os
from collections.abc import Iterator
from functools import cache
from pathlib import Path


@cache
def own_source() -> str:
    """A digest of every file of this package that is Python: 10 ms, once in a process that keeps what it compiles."""
    root = Path(__file__).parents[1]
    whole = hashlib.sha256()
    for path in sorted(_files(str(root))):
        content = Path(path).read_bytes()
        whole.update(f"{os.path.relpath(path, root)} {len(content)}\n".encode())
        whole.update(content)
    return whole.hexdigest()


def _files(folder: str) -> Iterator[str]:
    with os.scandir(folder) as entries:
        for entry in entries:
            if entry.is_dir():
                yield from _files(entry.path)
            elif entry.name.endswith(".py"):
                yield entry.path
