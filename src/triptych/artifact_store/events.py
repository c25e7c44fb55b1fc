"""Event log of the store: lines of `triptych.cache`, hooks, and one warning per cause."""

from __future__ import annotations

import logging
import sys
import warnings
from collections.abc import Callable
from typing import Literal

from triptych.support.dataclass import dataclass
from triptych.support.errors import TriptychWarning

Kind = Literal["hit", "miss", "publish", "unkept", "evict", "discard", "wait", "trouble"]

LOGGER = logging.getLogger("triptych.cache")
LOGGER.addHandler(logging.NullHandler())  # else Python prints warnings of loggers that nobody listens to
_LEVELS = {"hit": logging.INFO, "miss": logging.INFO, "publish": logging.INFO, "wait": logging.INFO}
_LEVELS |= {"unkept": logging.INFO, "evict": logging.DEBUG, "discard": logging.WARNING, "trouble": logging.WARNING}


@dataclass(frozen=True, slots=True)
class StoreEvent:
    """One thing that happened."""

    kind: Kind
    key: str
    """Of the entry, or the name of the file; empty where it is about none in particular."""
    tier: str
    """`local`, `shared`, or the URL of the remote without its password."""
    detail: str = ""


Hook = Callable[[StoreEvent], object]
_OWN = __name__.partition(".")[0]
_HOOKS: list[Hook] = []
_WARNED: set[str] = set()


class StoreWarning(TriptychWarning):
    """The store cannot do its work, so something is compiled that would not have to be. Results are the same."""


def add_hook(hook: Hook) -> Callable[[], None]:
    """Have a callable told of every event, in the thread where it happens. What is returned takes it away again."""
    _HOOKS.append(hook)
    return lambda: _HOOKS.remove(hook)


def report(kind: Kind, key: str = "", tier: str = "local", detail: str = "") -> None:
    """Tell the log and the hooks. A hook that raises is logged: watching must not change what is compiled."""
    event = StoreEvent(kind, key, tier, detail)
    LOGGER.log(_LEVELS[kind], "%s %s (%s)%s", kind, key[:16] or "-", tier, f": {detail}" if detail else "")
    for hook in tuple(_HOOKS):
        try:
            hook(event)
        except Exception:
            LOGGER.exception("a hook of the store failed")


def warn_once(cause: str, text: str, tier: str = "local") -> None:
    """One warning per cause and process; the log has every case."""
    report("trouble", tier=tier, detail=text)
    _warn_first(cause, text)


def discard(key: str, tier: str, reason: str) -> None:
    """An entry that is none: a miss, and one warning for the tier, since a disk or somebody may have changed it."""
    report("discard", key, tier, reason)
    where = f"{tier} store" if tier in ("local", "shared") else f"remote store {tier}"
    _warn_first(f"discard {tier}", f"the {where} has something that is no entry ({reason}): it is not used")


def _warn_first(cause: str, text: str) -> None:
    if cause not in _WARNED:
        _WARNED.add(cause)
        warnings.warn(text, StoreWarning, stacklevel=_distance_to_program())


def _distance_to_program() -> int:
    """How many frames above `_warn_first` the program's own is; at the end of the process there may be none."""
    frame, distance = sys._getframe(1), 1
    while frame.f_globals.get("__name__", "").partition(".")[0] == _OWN:
        if frame.f_back is None:
            return 1
        frame, distance = frame.f_back, distance + 1
    return distance
