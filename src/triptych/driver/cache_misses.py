"""Cache misses: what differs between a key and the nearest one stored; and sealed processes, which compile nothing."""

from __future__ import annotations

import inspect
import re
from collections.abc import Mapping
from types import FunctionType
from typing import Any

from triptych.artifact_store.store import Store
from triptych.driver.compile_jobs import Job
from triptych.fingerprint.cache_key import TRACE, Key
from triptych.metastage.arguments.specs import ArgumentSpec
from triptych.metastage.values.promotion import PYTHON_NUMBERS
from triptych.support.config import config
from triptych.support.dataclass import dataclass
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
            return f"not kept: {self.key}\nevery process traces it: {self.reason}"
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
        is_of_it = facts.get("function") == function and facts.get("target") == target
        if is_of_it and TRACE not in facts.get("key", {TRACE: ""}):
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


UNWRITTEN = "..."
"""An argument that only the program can make."""
_NUMBERS = {PYTHON_NUMBERS[kind]: repr(kind()) for kind in PYTHON_NUMBERS}
"""What is written for a number of these types: its value does not matter."""


class SealedError(TriptychError, RuntimeError):
    """A process that must not compile (`TRIPTYCH_SEALED=1`) needs a program that nobody has built for it."""

    code = "TT0718"


def check_unsealed(job: Job, key: Key, store: Store | None) -> None:
    """Refuse to compile where nothing may be compiled; without a store, for a program that it would not have."""
    if not config().sealed:
        return
    name = job.function.__qualname__
    listing = f"`{name}.explain_key(...)` with these arguments lists what the key is made of"
    if store is None:
        reason = "`no_cache=True`, TRIPTYCH_PRINT_IR and TRIPTYCH_KEEP ask for programs that are compiled here"
        raise SealedError(
            f"{name} would be compiled here, and TRIPTYCH_SEALED=1 forbids it",
            span=job.called_from,
            found="a program that the store does not keep" if config().cache else "TRIPTYCH_CACHE=0",
            expected="a program that was built before",
            instead=f"`triptych cache why FILE:{name}`" if config().cache else "TRIPTYCH_CACHE=1",
            notes=[reason, listing],
        )
    miss = explain(store, key, job.name, job.target.name)
    raise SealedError(
        f"{name} was not built for these arguments, and TRIPTYCH_SEALED=1 forbids to compile it here",
        span=job.called_from,
        found=f"no program {key.digest} for {job.target.name} in {store.root}",
        expected="a program that `triptych build` has made",
        instead=f"this line among the `JOBS` of the manifest: `{manifest_line(job)},`",
        notes=[*([str(miss)] if miss.nearest else []), listing],
    )


def manifest_line(job: Job) -> str:
    """The job as a manifest has it."""
    words = ["tt.compile", job.function.__qualname__]
    for name, parameter in inspect.signature(job.function, follow_wrapped=False).parameters.items():
        static, shape = job.specialization.static, job.specialization.shapes.get(name)
        text = _constant(static[name]) if shape is None else _argument(shape)
        words.append(f"{name}={text}" if parameter.kind is parameter.KEYWORD_ONLY else text)
    return f"partial({', '.join(words)})"


# Any: a value that is part of the program.
def _constant(value: Any) -> str:
    if isinstance(value, FunctionType | type) or isinstance(getattr(value, "function", None), FunctionType):
        return str(getattr(value, "function", value).__qualname__)
    if type(value) is tuple:
        return f"({''.join(f'{_constant(part)}, ' for part in value)})"
    return repr(value) if value is None or type(value) in (bool, int, float, str, bytes) else UNWRITTEN


def _argument(shape: ArgumentSpec) -> str:
    if shape.dtype:
        return _NUMBERS.get(shape.dtype, f"tt.{shape.dtype}(0)")
    if shape.kind is not None:
        example = getattr(shape.kind, "example", "")
        return f"tt.example({example!r})" if example else UNWRITTEN
    if shape.parts is None:
        return repr(shape.static)
    if shape.parts.key[0] in (tuple, list):
        parts = "".join(f"{_argument(part)}, " for part in shape.shapes)
        return f"({parts})" if shape.parts.key[0] is tuple else f"[{parts}]"
    return UNWRITTEN
