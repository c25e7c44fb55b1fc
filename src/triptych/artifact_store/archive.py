"""Entries as one file, to be carried to another machine: a tar of the same files, each verified when it is taken in."""

from __future__ import annotations

import os
import tarfile
from collections.abc import Iterator
from io import BytesIO

from triptych.artifact_store.directory import LIMITS, SUFFIXES, Part

_PARTS: dict[str, Part] = {"ac": "ac", "cas": "cas"}


def write_archive(path: str, files: Iterator[tuple[Part, str, bytes]]) -> None:
    """Write an archive, whole or not at all; the same files in the same order make the same bytes."""
    fresh = f"{path}.{os.getpid()}.new"
    try:
        with tarfile.open(fresh, "w", format=tarfile.PAX_FORMAT) as archive:
            for part, name, data in files:
                member = tarfile.TarInfo(f"{part}/{name[:2]}/{name}{SUFFIXES[part]}")
                member.size, member.mode = len(data), 0o600
                archive.addfile(member, BytesIO(data))
        os.replace(fresh, path)
    finally:
        if os.path.exists(fresh):
            os.unlink(fresh)


def read_archive(path: str) -> Iterator[tuple[Part, str, bytes]]:
    """What an archive has, by part and name. Nothing is unpacked: names are names, wherever they point."""
    with tarfile.open(path, "r:*") as archive:
        for member in archive:
            folder, _, rest = member.name.partition("/")
            part = _PARTS.get(folder)
            if part is None or not member.isreg() or member.size > LIMITS[part]:
                continue
            file = archive.extractfile(member)
            if file is not None:
                yield part, rest.rpartition("/")[2].removesuffix(SUFFIXES[part]), file.read()
