"""Cache miss report: what differs between the key of a program and the nearest one in the store."""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from triptych.artifact_store.store import Store
from triptych.fingerprint.cache_key import Key
from triptych.support.errors import TriptychError


class NoStoreError(TriptychError, RuntimeError):
    """The store of compiled programs was asked for something, and the settings switch it off."""

    code = "TT0713"


@dataclass(frozen=True, slots=True)
class Difference:
    """An ingredient of two keys; empty where a key has none of that name."""

    ingredient: str
    here: str
    there: str


@dataclass(frozen=True, slots=True)
class CacheMiss:
    """What the store has for a key: the entry itself, the nearest of the same function, or nothing."""

    key: str
    is_kept: bool
    nearest: str = ""
    differences: tuple[Difference, ...] = ()
    reason: str = ""
    """Why the program is never kept, where that is known."""

    def __str__(self) -> str:
        if self.is_kept:
            return f"kept: {self.key}"
        if self.reason:
            return f"not kept: {self.key}\nevery process compiles it: {self.reason}"
        if not self.nearest:
            return f"not kept: {self.key}\nthe store has no program of this function for this target"
        width = max(len(each.ingredient) for each in self.differences)
        rows = [
            f"  {each.ingredient:<{width}}  {each.there or '(nothing)'} -> {each.here or '(nothing)'}"
            for each in self.differences
        ]
        return "\n".join([f"not kept: {self.key}", f"since {self.nearest}:", *rows])


def explain(store: Store, key: Key, function: str, target: str) -> CacheMiss:
    """Compare a key with those of the same function and target that the store has."""
    own = _ingredients(key.ingredients)
    found: list[tuple[str, tuple[Difference, ...]]] = []
    for listed in store.entries():
        facts: Mapping[str, Any] = listed.facts
        if listed.key == key.digest:
            return CacheMiss(key.digest, is_kept=True)
        if facts.get("function") == function and facts.get("target") == target and "key" in facts:
            found.append((listed.key, _differences(own, _ingredients(facts["key"]))))
    if not found:
        return CacheMiss(key.digest, is_kept=False)
    nearest, differences = min(found, key=lambda each: (len(each[1]), each[0]))
    return CacheMiss(key.digest, False, nearest, differences)


def _ingredients(lines: Mapping[str, str]) -> dict[str, str]:
    """Without the names of modules: a file has another one as a script than when it is imported."""
    return {re.sub(r"^[\w.]+\.(?=\w+: )", "", name): line for name, line in lines.items()}


def _differences(here: Mapping[str, str], there: Mapping[str, str]) -> tuple[Difference, ...]:
    names = [name for name in {**here, **there} if here.get(name) != there.get(name)]
    return tuple(Difference(name, here.get(name, ""), there.get(name, "")) for name in names)
