"""A compiled program as an entry of the store, and an entry as a program that can be called.

What a call needs is the object code and its signature; neither tracing nor MLIR nor LLVM has a part in it. The texts of
the stages are made when someone looks at them, by compiling once more.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import asdict, fields
from typing import Any, TypeAlias, TypeVar

from triptych.artifact_store.entry import Entry
from triptych.fingerprint.cache_key import Key
from triptych.metastage.results import Rebuild, rebuild_from, recipe_of
from triptych.objectstage.target import Target
from triptych.stages import Leaf, Loaded, Lowered, Memory, Traced, Unknown
from triptych.support.kept_text import KeptText
from triptych.support.source import Span

Again: TypeAlias = Callable[[], Loaded]
"""Compiles the program, for those who look at its stages."""

FORMAT = 1
"""Changes whenever the facts below change their meaning."""


def entry_of(loaded: Loaded, rebuild: Rebuild, target: Target, key: Key) -> Entry | None:
    """The entry, or None for a program that only this process can call again."""
    compiled, traced = loaded.compiled, loaded.compiled.lowered.traced
    result = recipe_of(rebuild)
    if target.freeze is None or result is None or traced.assigns or traced.overwritten or traced.unrepeatable:
        return None
    facts: dict[str, Any] = {
        "program format": FORMAT,
        "function": traced.name,
        "signature": traced.signature,
        "target": target.name,
        "key": dict(key.ingredients),
        "entry": compiled.lowered.entry,
        "kernels": list(compiled.lowered.kernels),
        "parameters": [asdict(leaf) for leaf in traced.parameters],
        "results": [asdict(leaf) for leaf in traced.results],
        "prints": traced.prints,
        "loops": traced.loops,
        "span": None if traced.span is None else asdict(traced.span),
        "result": result,
        "options": dict(compiled.options),
    }
    return Entry(facts, target.freeze(compiled))


def program_of(entry: Entry, target: Target, again: Again) -> tuple[Loaded, Rebuild] | None:
    """The program of an entry, loaded; None for an entry of another version of this file, or of a damaged shape."""
    facts: Mapping[str, Any] = entry.facts
    if facts.get("program format") != FORMAT or target.thaw is None:
        return None
    try:
        lowered, rebuild = _lowered(facts, again), rebuild_from(facts["result"])
        compiled = target.thaw(lowered, entry.artifacts, facts["options"], lambda: again().compiled)
    except (KeyError, TypeError, ValueError):  # its digest is right: it was written without what is read here
        return None
    return target.load(compiled), rebuild


def _lowered(facts: Mapping[str, Any], again: Again) -> Lowered:
    traced = Traced(
        facts["function"],
        _Module(again),
        tuple(map(_leaf, facts["parameters"])),
        tuple(map(_leaf, facts["results"])),
        facts["prints"],
        facts["loops"],
        None if facts["span"] is None else _made(Span, facts["span"]),
    )
    return Lowered(
        traced,
        lambda: again().compiled.lowered.mlir,
        _LaterText(lambda: again().compiled.lowered.llvm),
        facts["entry"],
        kernels=tuple(facts["kernels"]),
    )


def _leaf(values: Mapping[str, Any]) -> Leaf:
    memory = values["memory"]
    return _made(Leaf, {**values, "memory": None if memory is None else _memory(memory)})


def _memory(values: Mapping[str, Any]) -> Memory:
    unknowns = tuple(_made(Unknown, unknown) for unknown in values["unknowns"])
    lists = {name: tuple(values[name]) for name in ("shape", "stride", "devices")}
    return _made(Memory, {**values, **lists, "unknowns": unknowns})


T = TypeVar("T", Leaf, Memory, Span, Unknown)


def _made(kind: type[T], values: Mapping[str, Any]) -> T:
    """An object of all its fields: one that is not there must not become its default."""
    if values.keys() != {field.name for field in fields(kind)}:
        raise KeyError(f"fields of {kind.__name__}")
    return kind(**values)


class _Module:
    """In the place of a traced module, which nobody has traced in this process yet."""

    def __init__(self, again: Again) -> None:
        self._again = again

    def read(self) -> Any:
        return self._again().compiled.lowered.traced.module.read()

    def is_like(self, other: Any) -> bool:
        return bool(self._again().compiled.lowered.traced.module.is_like(other))

    def __str__(self) -> str:
        return str(self._again().compiled.lowered.traced.module)


class _LaterText(KeptText):
    """The text of a program that is compiled when someone looks."""

    __slots__ = ("_make",)

    def __init__(self, make: Callable[[], str]) -> None:
        super().__init__("")
        self._make = make

    def __str__(self) -> str:
        return self._make()
