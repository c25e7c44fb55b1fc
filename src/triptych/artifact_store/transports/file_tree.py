"""`file://` and `local://`: a directory, often on a network, that several users read and some write."""

from __future__ import annotations

from urllib.parse import unquote, urlsplit

from triptych.artifact_store.directory import Directory

PACKAGES: tuple[str, ...] = ()


class FileTree(Directory):
    """The directory as a connection."""

    def close(self) -> None:
        """Files are closed one by one."""


def connect(url: str, timeout: float, *, trusts_anyone: bool) -> FileTree:
    """A directory that others can write is refused when it is used."""
    return FileTree(unquote(urlsplit(url).path), private=False, trusts_anyone=trusts_anyone)
