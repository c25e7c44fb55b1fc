"""Installed files beside the package: examples and guides, in `share/triptych` or in a checkout."""

from __future__ import annotations

import site
import sysconfig
from pathlib import Path

import triptych
from triptych.workbench.errors import FolderError


def examples_folder() -> Path:
    """Where an installation has them, or beside the sources of a checkout."""
    installed = (Path(root, "share", "triptych") for root in (sysconfig.get_path("data"), site.getuserbase()))
    checkout = Path(str(triptych.__file__)).resolve().parents[2]
    for folder in (checkout, *installed):
        if (folder / "examples" / "kernels").is_dir():
            return folder / "examples"
    raise FolderError(
        "the examples are not there, whose kernels would run",
        found=f"no folder examples in {checkout}, nor share/triptych in {sysconfig.get_path('data')}",
        expected="an installation by pip, or a checkout",
        instead="pip install --force-reinstall triptych",
    )
