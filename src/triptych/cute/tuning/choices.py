"""Choices that outlive their process: JSON by kernel, problem, device and tools, in a source tree and of a user.

Whoever reads the same file chooses the same parameters. A look-up never tunes.
"""

from __future__ import annotations

import hashlib
import json
import os
import tempfile
from collections.abc import Iterable, Mapping
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

from triptych.ir import bindings
from triptych.support.config import config
from triptych.support.errors import TriptychError
from triptych.support.forking import import_late
from triptych.support.processors import processor_model, processors

SCHEMA = "triptych.tuned/2"
SUFFIX = ".tuned.json"
"""`gemm.tuned.json` beside `gemm.py` is looked at first."""


class ChoiceFileError(TriptychError, ValueError):
    """A file is none of `triptych tune --export`, or one of a version that is not known."""

    code = "TT0729"


@dataclass(frozen=True, slots=True)
class Problem:
    """What a choice is for. Each part is text that a person can compare."""

    kernel: str
    """The digest of the kernel, without the parameters that are tuned."""
    problem: str
    """Shapes and types, or the bucket that the plan puts them in."""
    device: str
    tools: str

    @property
    def digest(self) -> str:
        """Of all parts."""
        return hashlib.sha256("\0".join(asdict(self).values()).encode()).hexdigest()[:24]


@dataclass(frozen=True, slots=True)
class Choice:
    """Parameters, how long a call took with them, and for what."""

    name: str
    """Of the kernel, for people."""
    key: Problem
    config: Mapping[str, Any]
    seconds: float

    @property
    def rank(self) -> tuple[float, str]:
        """Of two for the same problem the lower one is kept, whichever is read first."""
        return self.seconds, json.dumps(dict(self.config), sort_keys=True, default=str)


def host_name() -> str:
    """This host, as choices name it."""
    return f"{processor_model()}, {processors()} processors"


def tool_versions() -> str:
    """What generates code: a choice for other tools is no choice for these."""
    versions = {"triptych": str(import_late("triptych").__version__), **bindings.versions()}
    return ", ".join(f"{name} {version}" for name, version in sorted(versions.items()) if version)


def find_choice(key: Problem, beside: Path | None = None) -> Choice | None:
    """From the source tree first (the file beside the kernel's), then from what the user has tuned; else None."""
    if beside is not None:
        file = beside.with_suffix(SUFFIX)
        found = read_choices(file).get(key.digest) if file.is_file() else None
        if found is not None:
            return found
    file = _store() / f"{key.digest}.json"
    return read_choices(file).get(key.digest) if file.is_file() else None


def keep(choice: Choice) -> None:
    """For every later process of this user. The last search counts here: it knows the machine as it is."""
    write_choices(_store() / f"{choice.key.digest}.json", [choice])


def read_choices(file: str | Path) -> dict[str, Choice]:
    """All choices of a file, by the digest of what they are for."""
    path = Path(file)
    try:
        facts = json.loads(path.read_text(encoding="utf-8"))
        schema = facts["schema"]
        rows = facts["choices"] if schema == SCHEMA else []
        choices = [Choice(row["name"], Problem(**row["key"]), row["config"], float(row["seconds"])) for row in rows]
    except (OSError, ValueError, KeyError, TypeError) as error:
        raise ChoiceFileError(
            f"{path.name} has no choices of triptych tune",
            found=f"{type(error).__name__}: {error}",
            expected=f"a file that `triptych tune --export` wrote, of the schema {SCHEMA}",
        ) from error
    if schema != SCHEMA:
        raise ChoiceFileError(f"{path.name} is of another version", found=str(schema), expected=SCHEMA)
    return {choice.key.digest: choice for choice in choices}


def merged(files: Iterable[str | Path]) -> dict[str, Choice]:
    """The choices of several files; of two for the same the quicker, so that the order of files does not matter."""
    found: dict[str, Choice] = {}
    for file in files:
        for digest, choice in read_choices(file).items():
            if digest not in found or choice.rank < found[digest].rank:
                found[digest] = choice
    return found


def choices_text(choices: Iterable[Choice]) -> str:
    """As a file has them: sorted, so that equal choices are equal files."""
    rows = sorted((asdict(choice) for choice in choices), key=lambda row: (row["name"], *row["key"].values()))
    return json.dumps({"schema": SCHEMA, "choices": rows}, indent=2, default=str) + "\n"


def write_choices(file: Path, choices: Iterable[Choice]) -> None:
    """All at once: a reader sees the old file or the new one."""
    file.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
    handle, name = tempfile.mkstemp(dir=file.parent, prefix=f".{file.name}")
    with os.fdopen(handle, "w", encoding="utf-8") as out:
        out.write(choices_text(choices))
    os.replace(name, file)


def _store() -> Path:
    return Path(config().cache_root) / "workbench" / "choices"
