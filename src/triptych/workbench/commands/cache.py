"""`triptych cache`: what the store has, why it does not have more, whether it is whole, and moving parts of it."""

from __future__ import annotations

import dataclasses
import json
import time
from collections.abc import Callable, Mapping, Sequence
from typing import Any

from triptych.artifact_store.configured import default_store
from triptych.artifact_store.store import Store
from triptych.driver.cache_misses import NoStoreError
from triptych.driver.jitting import JitFunction
from triptych.support.config import override
from triptych.support.errors import TriptychError
from triptych.workbench.commands.show import example_arguments, find

UNITS = {"": 1, "K": 1 << 10, "M": 1 << 20, "G": 1 << 30}


class CacheError(TriptychError, ValueError):
    """`triptych cache` was asked for a size or a function that it cannot read, or for files that it cannot use."""

    code = "TT0714"


def cache_command(action: str, given: dict[str, Any], *, as_json: bool) -> str:
    """Do one of the actions and tell what came of it."""
    try:
        return _done(action, given, as_json=as_json)
    except OSError as error:
        what = f" of {error.filename}" if error.filename else ""
        raise CacheError(
            f"`triptych cache {action}` cannot use a file{what}", found=error.strerror or str(error)
        ) from None


def _done(action: str, given: dict[str, Any], *, as_json: bool) -> str:
    store = default_store()
    if store is None:
        raise NoStoreError(
            "there is no store of compiled programs", found="TRIPTYCH_CACHE=0", instead="TRIPTYCH_CACHE=1"
        )
    if action == "ls":
        return _list(store, as_json=as_json)
    if action == "why":
        return _why(store, given["place"], given["args"], given["target"], as_json=as_json)
    actions: dict[str, Callable[[], Any]] = {
        "verify": store.verify,
        "prune": lambda: store.prune(size(given["to"])),
        "export": lambda: {"entries": store.export(str(given["file"])), "file": str(given["file"])},
        "import": lambda: store.import_(str(given["file"])),
    }
    done = actions[action]()
    facts = done if isinstance(done, dict) else dataclasses.asdict(done)
    if as_json:
        return json.dumps(facts, indent=2)
    return ", ".join(f"{name}: {_shown(value)}" for name, value in facts.items())


def _list(store: Store, *, as_json: bool) -> str:
    entries = list(store.entries())
    if as_json:
        return json.dumps([dataclasses.asdict(entry) for entry in entries], indent=2)
    now = time.time()
    rows = [("KEY", "FUNCTION", "TARGET", "SIZE", "USED")]
    for entry in sorted(entries, key=lambda entry: -entry.used):
        shown = entry.facts.get("signature") or entry.facts.get("function")
        target = str(entry.facts.get("target"))
        rows.append((entry.key[:12], str(shown), target, _bytes(entry.bytes), _ago(now - entry.used)))
    widths = [max(len(row[i]) for row in rows) for i in range(5)]
    lines = ["  ".join(cell.ljust(width) for cell, width in zip(row, widths, strict=True)).rstrip() for row in rows]
    total = _bytes(sum(entry.bytes for entry in entries))
    return "\n".join([*lines, f"{len(entries)} programs, {total}, in {store.root}"])


def _why(store: Store, place: str, arguments: str, target: str, *, as_json: bool) -> str:
    function = find(place)
    if not isinstance(function, JitFunction):
        raise CacheError(f"{place} is no `@jit` function", found=type(function).__name__, expected="a `@jit` function")
    positional, named = example_arguments(arguments)
    with override(**({"target": target} if target else {})):
        miss = function.explain_miss(*positional, **named)
        if not miss.is_kept:
            miss = dataclasses.replace(miss, reason=_reason(function, positional, named))
    return json.dumps(dataclasses.asdict(miss), indent=2) if as_json else str(miss)


def _reason(function: JitFunction, positional: Sequence[Any], named: Mapping[str, Any]) -> str:
    """Why the store would not keep the program, which only compiling it tells; what fails says so at its call."""
    try:
        return function.compile(*positional, **named, no_cache=True).unkept
    except TriptychError:
        return ""


def size(text: str) -> int:
    """`200M` in bytes."""
    number, unit = (text[:-1], text[-1].upper()) if text[-1:].isalpha() else (text, "")
    if not number.isdigit() or unit not in UNITS:
        raise CacheError(f"{text!r} is no size", expected="a number of bytes, or of K, M or G: 200M")
    return int(number) * UNITS[unit]


def _bytes(count: float) -> str:
    for unit in ("B", "KiB", "MiB"):
        if count < 1024:
            return f"{count:.0f} {unit}" if unit == "B" else f"{count:.1f} {unit}"
        count /= 1024
    return f"{count:.1f} GiB"


def _ago(seconds: float) -> str:
    for unit, length in (("d", 86400), ("h", 3600), ("min", 60)):
        if seconds >= length:
            return f"{seconds / length:.0f} {unit} ago"
    return "now"


def _shown(value: object) -> str:
    return (", ".join(map(str, value)) or "none") if isinstance(value, tuple) else str(value)
