"""Files of the workbench: the kernel file that a command was given, and what is kept beside the compiled programs."""

from __future__ import annotations

from pathlib import Path

from triptych.support.config import config
from triptych.support.wording import did_you_mean_file
from triptych.workbench.errors import ContractError

EXPORTS = "kernel_fn, reference_fn, get_inputs"
_SUFFIX = ".py"


def kernel_file(path: str | Path, expected: str = f"a Python file with {EXPORTS}") -> Path:
    """The file, or what is wrong with its name."""
    file = Path(path)
    if file.is_dir():
        inside = sorted(other.name for other in file.glob(f"*{_SUFFIX}"))
        own = f"{file.resolve().name}{_SUFFIX}"
        meant = own if own in inside else inside[0] if len(inside) == 1 else None
        raise ContractError(
            f"{path} is a folder and no kernel file",
            found=f"a folder with {', '.join(inside[:4]) or 'no Python file'}{' ...' if len(inside) > 4 else ''}",
            expected=expected,
            instead=_meant(str(file / meant) if meant else None),
        )
    if not file.exists():
        raise ContractError(f"there is no kernel file {path}", expected=expected, instead=did_you_mean_file(file))
    if file.suffix != _SUFFIX:
        named = file.with_suffix(_SUFFIX)
        meant = str(named) if named.is_file() else None
        raise ContractError(f"{path} is no Python file", expected=expected, instead=_meant(meant))
    return file


def _meant(path: str | None) -> str:
    return "" if path is None else f"did you mean {path!r}?"


def kept_folder(*names: str) -> Path:
    """A folder there, made if it is not there. The store refuses a root that others may read, so it is made private."""
    root = Path(config().cache_root)
    root.mkdir(mode=0o700, parents=True, exist_ok=True)
    folder = root.joinpath("workbench", *names)
    folder.mkdir(parents=True, exist_ok=True)
    return folder
