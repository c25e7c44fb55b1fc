"""Export, another last step of the object-stage: `Compiled -> files`, for programs that are not Python."""

from __future__ import annotations

from pathlib import Path

from triptych.objectstage.exports import Export, ExportError
from triptych.objectstage.target import Target
from triptych.stages import Compiled


def export_files(compiled: Compiled, target: Target, wanted: Export, stem: Path) -> None:
    """Write the files, whose names differ in their suffixes; the folder is made if there is none."""
    if target.export is None:
        raise ExportError(f"code for the target {target.name!r} cannot be exported", expected="another target")
    contents = target.export(compiled, wanted)
    stem.parent.mkdir(parents=True, exist_ok=True)
    for suffix, content in contents.items():
        stem.with_name(stem.name + suffix).write_bytes(content)
