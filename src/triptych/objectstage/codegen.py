"""Code generation, loading and export, the last steps of the object-stage: `Lowered -> Compiled -> Loaded` or files."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import replace
from functools import cache
from pathlib import Path
from typing import Any

from triptych.objectstage.exports import Export, ExportError
from triptych.objectstage.host_program import HOST_CHECKS
from triptych.objectstage.lower import lower
from triptych.objectstage.target import CompileOptions, Target, host_target
from triptych.stages import Compiled, Loaded, Lowered, Traced
from triptych.support.config import config


def codegen(lowered: Lowered, target: Target, options: CompileOptions) -> Compiled:
    """Generate code for a target, and for the host of a target that runs kernels only when it is needed."""
    compiled, host = target.codegen(lowered, options), lowered.host
    if host is None:
        return compiled
    return replace(compiled, host=cache(lambda: _compile_host(host, CompileOptions(options.opt_level))))


def _compile_host(host: Traced, options: CompileOptions) -> Compiled:
    target = host_target()
    return codegen(lower(host, target, HOST_CHECKS, options=options), target, options)


def load(compiled: Compiled, target: Target) -> Loaded:
    """Load for a target. `Loaded.call` is the native entry point itself: no Python stands between."""
    return target.load(compiled)


def load_host(compiled: Compiled) -> Loaded:
    """The host program of a target that runs kernels only."""
    assert compiled.host is not None, "the object-stage has split the program"
    return load(compiled.host(), host_target())


def exported(compiled: Compiled, target: Target, wanted: Export) -> Mapping[str, bytes]:
    """The contents of the files, by their suffixes."""
    if target.export is None:
        raise ExportError(f"code for the target {target.name!r} cannot be exported", expected="another target")
    return target.export(compiled, wanted)


def export_files(compiled: Compiled, target: Target, wanted: Export, stem: Path) -> None:
    """Write the files, whose names differ in their suffixes; the folder is made if there is none."""
    contents = exported(compiled, target, wanted)
    stem.parent.mkdir(parents=True, exist_ok=True)
    for suffix, content in contents.items():
        stem.with_name(stem.name + suffix).write_bytes(content)


File = tuple[str, Callable[[], bytes]]
"""A suffix, and what makes the contents."""


def keep_files(name: str, options: Mapping[str, Any], *, assembly: File, binary: File) -> None:
    """Write the kinds of files that the options ask for into the folder of the setting `keep`."""
    kinds = {"keep_assembly": assembly, "keep_binary": binary}
    files = dict(file for option, file in kinds.items() if options[option])
    if files:
        folder = Path(config().keep or ".")
        folder.mkdir(parents=True, exist_ok=True)
        for suffix, content in files.items():
            (folder / f"{name}.{suffix}").write_bytes(content())
