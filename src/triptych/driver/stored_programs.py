"""A compiled program as an entry of the store, and an entry as a program that can be called.

What a call needs is the object code and its signature; neither tracing nor MLIR nor LLVM has a part in it. The texts of
the stages are made when someone looks at them, by compiling once more.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import asdict, replace
from typing import Any, TypeAlias

from triptych.fingerprint.cache_key import Key
from triptych.metastage.arguments.results import Rebuild, rebuild_from, recipe_of
from triptych.objectstage.target import Frozen, Target, host_target
from triptych.stages import Compiled, Leaf, Loaded, Lowered, Memory, Traced, Unknown
from triptych.store.entry import Entry
from triptych.support.errors import TriptychError
from triptych.support.exact_fields import exactly
from triptych.support.kept_text import KeptText
from triptych.support.source import Span

Again: TypeAlias = Callable[[], Loaded]
"""Compiles the program, for those who look at its stages."""

FORMAT = 2
"""Changes whenever the facts below change their meaning."""
_HOST = "host "
"""What the names of the host program's artifacts begin with."""


def why_unkept(traced: Traced, rebuild: Rebuild, target: Target) -> str:
    """Why only this process can call a program again, as a clause; empty for one that others can."""
    if target.freeze is None:
        return f"code for {target.name} cannot be written to a file"
    if recipe_of(rebuild) is None:
        return "its result is an object of a class of yours"
    if traced.assigns:
        return f"tracing assigns the attribute `{traced.assigns}`"
    return traced.unrepeatable


def entry_of(loaded: Loaded, rebuild: Rebuild, target: Target, key: Key) -> Entry | str:
    """The entry, or why there is none: only this process can call the program again."""
    compiled, traced = loaded.compiled, loaded.compiled.lowered.traced
    reason = why_unkept(traced, rebuild, target)
    if reason:
        return reason
    try:
        host = None if compiled.host is None else compiled.host()
    except TriptychError as error:  # as code for a GPU it is right; whoever calls it is told
        return f"its host function cannot be compiled: {error.title}"
    assert target.freeze is not None, "it would have been a reason"
    facts, artifacts = _part(compiled, target.freeze(compiled))
    facts |= {
        "program format": FORMAT,
        "function": traced.name,
        "signature": traced.signature,
        "target": target.name,
        "key": dict(key.ingredients),
        "result": recipe_of(rebuild),
        "host": None,
    }
    if host is not None:
        freeze = host_target().freeze
        assert freeze is not None, "code for the CPU is kept"
        facts["host"], own = _part(host, freeze(host))
        artifacts |= {_HOST + name: content for name, content in own.items()}
    return Entry(facts, artifacts)


def _part(compiled: Compiled, frozen: Frozen) -> tuple[dict[str, Any], dict[str, bytes]]:
    """How to call compiled code, what its target says of it, and the code."""
    lowered, traced = compiled.lowered, compiled.lowered.traced
    facts = {
        "name": traced.name,
        "entry": lowered.entry,
        "kernels": list(lowered.kernels),
        "parameters": [asdict(leaf) for leaf in traced.parameters],
        "results": [asdict(leaf) for leaf in traced.results],
        "prints": traced.prints,
        "loops": traced.loops,
        "span": None if traced.span is None else asdict(traced.span),
        "options": dict(compiled.options),
        "code": dict(frozen.facts),
    }
    return facts, dict(frozen.artifacts)


def program_of(entry: Entry, target: Target, again: Again) -> tuple[Loaded, Rebuild] | None:
    """The program of an entry, loaded; None for an entry of another version of this file, or of a damaged shape."""
    facts: Mapping[str, Any] = entry.facts
    if facts.get("program format") != FORMAT or target.thaw is None:
        return None
    try:
        rebuild = rebuild_from(facts["result"])
        host = None if facts["host"] is None else _thawed_host(facts["host"], entry.artifacts, again)
        compiled = _thawed(facts, entry.artifacts, target, again)
    except (KeyError, TypeError, ValueError):  # its digest is right: it was written without what is read here
        return None
    return target.load(compiled if host is None else replace(compiled, host=lambda: host)), rebuild


def _thawed_host(facts: Mapping[str, Any], artifacts: Mapping[str, bytes], again: Again) -> Compiled:
    own = {name.removeprefix(_HOST): content for name, content in artifacts.items() if name.startswith(_HOST)}
    return _thawed(facts, own, host_target(), lambda: replace(again(), compiled=_host_of(again())))


def _host_of(loaded: Loaded) -> Compiled:
    assert loaded.compiled.host is not None, "it had one when it was kept"
    return loaded.compiled.host()


def _thawed(facts: Mapping[str, Any], artifacts: Mapping[str, bytes], target: Target, again: Again) -> Compiled:
    traced = Traced(
        facts["name"],
        _Module(again),
        tuple(map(_leaf, facts["parameters"])),
        tuple(map(_leaf, facts["results"])),
        facts["prints"],
        facts["loops"],
        None if facts["span"] is None else exactly(Span, facts["span"]),
    )
    lowered = Lowered(
        traced,
        lambda: again().compiled.lowered.mlir,
        _LaterText(lambda: again().compiled.lowered.llvm),
        facts["entry"],
        kernels=tuple(facts["kernels"]),
    )
    assert target.thaw is not None, "code of this target is kept"
    return target.thaw(lowered, Frozen(artifacts, facts["code"]), facts["options"], lambda: again().compiled)


def _leaf(values: Mapping[str, Any]) -> Leaf:
    memory = values["memory"]
    return exactly(Leaf, {**values, "memory": None if memory is None else _memory(memory)})


def _memory(values: Mapping[str, Any]) -> Memory:
    unknowns = tuple(exactly(Unknown, unknown) for unknown in values["unknowns"])
    lists = {name: tuple(values[name]) for name in ("shape", "stride", "devices")}
    return exactly(Memory, {**values, **lists, "unknowns": unknowns})


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
