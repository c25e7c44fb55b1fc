"""Where the workbench keeps files: beside the compiled programs, in a directory that is the user's alone."""

from __future__ import annotations

from pathlib import Path

from triptych.support.config import config


def kept_folder(*names: str) -> Path:
    """A folder there, made if it is not there. The store refuses a root that others may read, so it is made private."""
    root = Path(config().cache_root)
    root.mkdir(mode=0o700, parents=True, exist_ok=True)
    folder = root.joinpath("workbench", *names)
    folder.mkdir(parents=True, exist_ok=True)
    return folder
