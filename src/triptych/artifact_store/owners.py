"""File ownership: who else could have written a folder, a file or a socket, by its owner and its mode.

Compiled code is run as it is, so whoever can write where it is read from can have us run theirs. What belongs to this
user or to root and is writable by nobody else is theirs alone. The file is what decides, since it is judged after it
was opened: names may point elsewhere a moment later, but nobody can give a file away. Windows has other rules, and
there the directories' own access lists are all there is.
"""

from __future__ import annotations

import os
import stat

_OTHERS_WRITE = stat.S_IWGRP | stat.S_IWOTH
_SIGN = "or have records signed (TRIPTYCH_CACHE_KEY_FILE)"


class Refused(OSError):
    """Something that must not be used as it is."""


def check_owner(path: str, status: os.stat_result) -> None:
    """Refuse what another user than root could have written."""
    if not hasattr(os, "geteuid"):
        return
    if status.st_uid not in (0, os.geteuid()):
        raise Refused(
            f"{path} belongs to user {status.st_uid}, and records are not signed: it has to belong to this user "
            f"({os.geteuid()}) or to root, {_SIGN}"
        )
    if status.st_mode & _OTHERS_WRITE:
        raise Refused(f"other users can write to {path}, and records are not signed: `chmod go-w {path}`, {_SIGN}")
