"""Programs that see a file system of their own: a small disk, a read-only one, one directory at two places."""

from __future__ import annotations

import shutil
import subprocess
import sys
from functools import cache
from pathlib import Path

import pytest

from tests.integration.subprograms import run

_UNSHARE = ("unshare", "--user", "--map-root-user", "--mount")


@cache
def has_namespaces() -> bool:
    """Whether this user may mount, where nobody else sees it."""
    if shutil.which("unshare") is None or shutil.which("mount") is None:
        return False
    tried = subprocess.run([*_UNSHARE, "mount", "-t", "tmpfs", "tmpfs", "/mnt"], capture_output=True, check=False)
    return tried.returncode == 0


def run_mounted(mounts: str, folder: Path, *words: str) -> subprocess.CompletedProcess[str]:
    """Run this Python with `words` after the shell commands `mounts`, in `folder`; skip where that cannot be."""
    if not has_namespaces():
        pytest.skip("this user cannot mount anything")
    script = f'cd {folder} && {mounts} && cd - > /dev/null && exec "$@"'
    launcher = "import os, sys; os.execvp(sys.argv[1], sys.argv[1:])"
    return run("-c", launcher, *_UNSHARE, "sh", "-c", script, "sh", sys.executable, *words)
