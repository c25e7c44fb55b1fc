"""What stands beside a kernel file: modules of its own folder that it has imported, which a record has to keep too."""

from __future__ import annotations

import os
import sys
from collections.abc import Iterator
from pathlib import Path

from triptych.workbench.contracts import gpu_mode
from triptych.workbench.contracts.contract import Contract


def files_beside(contract: Contract) -> dict[str, str]:
    """Their text, by the path from the folder of the file."""
    folder = contract.file.parent
    files = set(_imported_from(folder))
    if contract.format == gpu_mode.FORMAT:
        files.add(folder / gpu_mode.TASK)
    return {
        file.relative_to(folder).as_posix(): file.read_text(encoding="utf-8")
        for file in sorted(files - {contract.file})
    }


def clash(first: Contract, second: Path) -> str:
    """A module that both folders have, and that the first file has imported: the second would get the wrong one."""
    other = second if second.is_dir() else second.parent
    if other.resolve() == first.file.parent:
        return ""
    for name in files_beside(first):
        top = name.partition("/")[0]
        if (other / top).exists():
            return f"both have {top} beside them"
    return ""


def _imported_from(folder: Path) -> Iterator[Path]:
    """Files of modules in the folder, and in packages that are named as folders there.

    What Python imports has a path from the root. Modules that a library makes may say anything: `torch.classes` says
    `_classes.py`, which is in no folder.
    """
    for name, module in list(sys.modules.items()):
        text = getattr(module, "__file__", None)
        if not isinstance(text, str) or not text.endswith(".py") or not os.path.isabs(text) or not os.path.isfile(text):
            continue
        file = Path(text).resolve()
        if file.is_relative_to(folder):
            parts = file.relative_to(folder).parts
            if len(parts) == 1 or parts[0] == name.partition(".")[0]:
                yield file
