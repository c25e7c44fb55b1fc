"""`triptych build MANIFEST`: compile everything that a manifest lists, before anybody needs it, on any machine.

A manifest is a Python file with a list `JOBS` of calls of `compile` that are not made yet.
"""

from __future__ import annotations

import importlib
import json
import sys
from functools import partial
from pathlib import Path
from typing import Any, TextIO

from triptych.driver.compile_many import Compilation, CompileCall, compile_many
from triptych.support.config import config, override
from triptych.support.dataclass import dataclass
from triptych.support.errors import TriptychError

JOBS = "JOBS"
_WIDTH = 24
_NOT_KEPT = "the store cannot keep it (guide 'Compiled once')"


class ManifestError(TriptychError, ValueError):
    """`triptych build` was given a file that is no manifest."""

    code = "TT0717"


@dataclass(frozen=True, slots=True)
class BuildRequest:
    """What the command line asks for."""

    manifest: str
    targets: list[str]
    workers: int | None
    json: bool


def build(request: BuildRequest) -> int:
    """Compile for every target; 1 if anything failed, or is not there for others."""
    targets = request.targets or [config().target or "cpu"]
    jobs = [each for job in jobs_of(request.manifest) for each in _for_targets(job, targets)]
    with override(sealed=False):
        done = compile_many(jobs, workers=request.workers, progress=_Shown(sys.stderr))
    if request.json:
        print(json.dumps([_facts(each) for each in done], indent=2))
    else:
        counts = {name: sum(each.outcome == name for each in done) for name in ("compiled", "found", "traced")}
        failed = len(done) - sum(counts.values())
        print(", ".join(f"{count} {name}" for name, count in {**counts, "failed": failed}.items()))
    return int(any(each.outcome in ("failed", "not kept") for each in done))


def jobs_of(manifest: str) -> list[CompileCall]:
    """The jobs of a manifest, which is imported by its own name: other processes must find what it defines."""
    path = Path(manifest).resolve()
    if not path.is_file() or path.suffix != ".py":
        raise ManifestError(f"there is no manifest {manifest}", expected="a Python file with a list `JOBS`")
    sys.path.insert(0, str(path.parent))
    module = importlib.import_module(path.stem)
    if Path(getattr(module, "__file__", "")).resolve() != path:
        raise ManifestError(
            f"the manifest has the name of another module, {path.stem}",
            found=getattr(module, "__file__", "a module without a file"),
            instead="another name, as kernels_manifest.py",
        )
    jobs = getattr(module, JOBS, None)
    if not isinstance(jobs, list):
        raise ManifestError(
            f"{path.name} has no list `JOBS`",
            found="nothing of that name" if jobs is None else type(jobs).__name__,
            instead="`JOBS = [partial(tt.compile, function, *args)]`",
        )
    return jobs


# Any: of the user's file, and looked at when it is compiled.
def _for_targets(job: Any, targets: list[str]) -> list[CompileCall]:
    """A job that names a target is for that one only."""
    if not isinstance(job, partial) or "target" in job.keywords:
        return [job]
    return [partial(job, target=target) for target in targets]


class _Shown:
    """A bar on a terminal, else a line for each job; what failed is always told."""

    def __init__(self, stream: TextIO) -> None:
        self._stream = stream

    def __call__(self, each: Compilation, done: int, total: int) -> None:
        is_terminal = self._stream.isatty()
        filled = "#" * (_WIDTH * done // total)
        line = f"{done}/{total} {each.name}: {each.outcome}, {each.seconds:.1f} s"
        if is_terminal:
            end = "\n" if done == total or each.outcome in ("failed", "not kept") else ""
            self._stream.write(f"\r\x1b[K[{filled:<{_WIDTH}}] {line}{end}")
        else:
            self._stream.write(line + "\n")
        problem = str(each.error) if each.error is not None else _NOT_KEPT if each.outcome == "not kept" else ""
        self._stream.write(f"{problem}\n" if problem else "")
        self._stream.flush()


def _facts(each: Compilation) -> dict[str, object]:
    error = each.error
    told = error.as_dict() if isinstance(error, TriptychError) else None if error is None else {"title": str(error)}
    return {"name": each.name, "outcome": each.outcome, "seconds": each.seconds, "key": each.key, "error": told}
