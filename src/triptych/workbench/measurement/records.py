"""Benchmark record: one JSON with all samples and all that is needed to do it again.

| field | holds |
|---|---|
| `schema` | `SCHEMA` |
| `made`, `command` | when, and the command line |
| `file`, `source`, `digest` | the kernel file, its whole text, and SHA-256 of it |
| `beside` | modules of the file's own folder that it imports, by path: their text |
| `commit`, `dirty` | of the git repository around the file, where there is one |
| `target`, `machine`, `versions` | where and with what |
| `settings` | seconds, seed, clock |
| `cases` | for each: `hot`, `cold` (figures with all samples), `noise`, `work`, `verified`; or `comparison` |
| `second`, `apart` | of two files: the other one, and why each had a process of its own |

`record.schema.json` says it for programs.
"""

from __future__ import annotations

import hashlib
import json
import subprocess
import sys
import time
from importlib import metadata
from pathlib import Path
from typing import Any

from triptych.support.config import config
from triptych.workbench.errors import RecordError
from triptych.workbench.measurement.machine import machine

SCHEMA = "triptych.bench/1"
_PACKAGES = ("triptych", "numpy", "llvmlite", "torch-mlir", "torch")


def new_record(
    file: Path,
    cases: list[dict[str, Any]],
    settings: dict[str, Any],
    command: list[str],
    beside: dict[str, str] | None = None,
) -> dict[str, Any]:
    """What was measured, with everything around it."""
    return {
        "schema": SCHEMA,
        "made": time.strftime("%Y-%m-%dT%H:%M:%SZ", time.gmtime()),
        "command": command,
        **kernel_facts(file, beside or {}),
        "target": config().target or "cpu",
        "machine": machine(),
        "versions": _versions(),
        "settings": settings,
        "cases": cases,
    }


def kernel_facts(file: Path, beside: dict[str, str]) -> dict[str, Any]:
    """A kernel file in a record: all that is needed to run it again."""
    source = file.read_text(encoding="utf-8")
    commit, dirty = _git(file)
    return {
        "file": str(file),
        "source": source,
        "digest": digest_of(source),
        "beside": beside,
        "commit": commit,
        "dirty": dirty,
    }


def read_record(path: str | Path) -> dict[str, Any]:
    """A record from a file, or an error that says why it is none."""
    try:
        found = json.loads(Path(path).read_text(encoding="utf-8"))
    except (OSError, ValueError) as error:
        raise RecordError(
            f"{path} cannot be read as a record", found=str(error), expected="a file that `triptych bench --json` wrote"
        ) from None
    if not isinstance(found, dict) or found.get("schema") != SCHEMA:
        said = found.get("schema") if isinstance(found, dict) else None
        raise RecordError(f"{path} is no record of this version", found=f"schema {said!r}", expected=repr(SCHEMA))
    missing = [name for name in schema()["required"] if name not in found]
    if missing:
        raise RecordError(f"{path} lacks {', '.join(missing)}", expected="what `triptych bench --schema` describes")
    if digest_of(found["source"]) != found["digest"]:
        raise RecordError(f"the source in {path} is not the one that was measured", expected="a record nobody edited")
    return found


def schema() -> dict[str, Any]:
    """The published JSON Schema of records."""
    return dict(json.loads(Path(__file__).with_name("record.schema.json").read_text(encoding="utf-8")))


def digest_of(source: str) -> str:
    """The identity of a kernel file."""
    return hashlib.sha256(source.encode()).hexdigest()


def _git(file: Path) -> tuple[str, bool]:
    def git(*words: str) -> str:
        done = subprocess.run(["git", "-C", str(file.parent), *words], capture_output=True, text=True, check=False)
        return done.stdout.strip() if done.returncode == 0 else ""

    try:
        return git("rev-parse", "HEAD"), bool(git("status", "--porcelain", "--", str(file)))
    except OSError:  # there is no git
        return "", False


def _versions() -> dict[str, str]:
    found = {"python": sys.version.split()[0]}
    for name in _PACKAGES:
        try:
            found[name] = metadata.version(name)
        except metadata.PackageNotFoundError:
            continue
    return found
