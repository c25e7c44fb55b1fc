"""Transport by fsspec for any other URL, as `s3://bucket/folder`: files by the package installed for the scheme."""

from __future__ import annotations

from typing import Any

from triptych.artifact_store.directory import SUFFIXES, Part
from triptych.support.forking import import_late

PACKAGES: tuple[str, ...] = ("fsspec.core",)


class FsspecFiles:
    """A folder of some file system, laid out as the local one."""

    def __init__(self, files: Any, root: str) -> None:
        self._files = files
        self._root = root

    def read(self, part: Part, name: str, limit: int) -> bytes | None:
        try:
            content: bytes = self._files.cat_file(self._path(part, name), 0, limit + 1)
        except FileNotFoundError:
            return None
        return content

    def write(self, part: Part, name: str, data: bytes) -> None:
        path = self._path(part, name)
        self._files.makedirs(path.rpartition("/")[0], exist_ok=True)
        self._files.pipe_file(path, data)

    def close(self) -> None:
        """Connections belong to fsspec."""

    def _path(self, part: Part, name: str) -> str:
        return f"{self._root.rstrip('/')}/{part}/{name[:2]}/{name}{SUFFIXES[part]}"


def connect(url: str, timeout: float, *, trusts_anyone: bool) -> FsspecFiles:
    """`timeout` is kept by who waits: file systems have no common word for it."""
    files, root = import_late("fsspec.core").url_to_fs(url)
    return FsspecFiles(files, root)
