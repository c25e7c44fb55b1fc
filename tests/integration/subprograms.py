"""Programs of their own process: what they print, and how they end."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import triptych

ROOT = Path(__file__).parents[2]


def run_text(text: str, folder: Path, *words: str) -> subprocess.CompletedProcess[str]:
    """Run a program that is saved in a file of `folder`: functions are compiled from their source."""
    path = folder / "program.py"
    path.write_text("import signal\nsignal.signal(signal.SIGINT, signal.default_int_handler)\n" + text)
    return run(str(path), *words)


def run(*words: str, timeout: float = 300, **environment: str) -> subprocess.CompletedProcess[str]:
    """Run this Python with `words`, beside the tests and on the package that is being tested."""
    path = os.pathsep.join((str(Path(triptych.__file__).parents[1]), str(ROOT)))
    return subprocess.run(
        [sys.executable, *words],
        env={**os.environ, "PYTHONPATH": path, **environment},
        cwd=ROOT,
        capture_output=True,
        text=True,
        check=False,
        timeout=timeout,
    )
