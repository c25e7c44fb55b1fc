"""Tar archives of stored programs: what `triptych cache export` writes and `import` reads.

Loaded when one is: a process that looks a program up needs none of the modules that read archives.
"""

from __future__ import annotations

import lzma
import os
import tarfile
import zlib
from collections.abc import Iterator
from io import BytesIO

from triptych.artifact_store.directory import LIMITS, SUFFIXES, Part
from triptych.support.errors import TriptychError


class ArchiveError(TriptychError, ValueError):
    """A file that should have entries of a store is something else, or a part of an archive only."""

    code = "TT0735"


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
    """What an archive has, by part and name. Nothing is unpacked: names are names, wherever they point.

    Raises OSError where there is no file, and `ArchiveError` for one that is no archive, or not a whole one.
    """
    with open(path, "rb") as file:
        try:
            with tarfile.open(fileobj=file, mode="r:*") as archive:
                yield from _members(archive)
        except (tarfile.TarError, zlib.error, lzma.LZMAError, EOFError, OSError, ValueError, OverflowError) as error:
            raise _refusal(path, str(error)) from None


def _members(archive: tarfile.TarFile) -> Iterator[tuple[Part, str, bytes]]:
    members = known = 0
    for member in archive:
        members += 1
        folder, _, rest = member.name.partition("/")
        part = _PARTS.get(folder)
        if part is None:
            continue
        known += 1
        if not member.isreg() or member.size > LIMITS[part]:
            continue
        file = archive.extractfile(member)
        if file is not None:
            content = file.read()
            if len(content) != member.size:
                raise EOFError("it ends within an entry")
            yield part, rest.rpartition("/")[2].removesuffix(SUFFIXES[part]), content
    if members and not known:
        raise ValueError("it has files, but none of a store")
    _check_end(archive)


def _check_end(archive: tarfile.TarFile) -> None:
    """The last blocks of an archive are zeros. Without them, entries may be missing behind the last one."""
    file = archive.fileobj
    assert file is not None, "it is open"
    file.seek(archive.offset - tarfile.BLOCKSIZE if archive.offset else 0)
    if not any(file.read(tarfile.BLOCKSIZE) == bytes(tarfile.BLOCKSIZE) for _ in range(2)):
        raise EOFError("its end is missing")


def _refusal(path: str, reason: str) -> ArchiveError:
    return ArchiveError(
        f"{path} is no archive of compiled programs, or not a whole one",
        found=reason or "bytes that are no archive",
        expected="a file that `triptych cache export` wrote; what came before the damage has been taken in",
    )
