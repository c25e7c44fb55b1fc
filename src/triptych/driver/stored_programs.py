"""A compiled program as an entry of the store, and an entry as a program that can be called.

What a call needs is the object code and its signature; neither tracing nor MLIR nor LLVM has a part in it. The texts of
the stages are made when someone looks at them, by compiling once more.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import asdict, replace
from typing import Any, TypeAlias

from triptych.artifact_store.record import Entry, NotAnEntry
from triptych.fingerprint.cache_key import Key, key_of_trace
from triptych.metastage.arguments.results import Rebuild, rebuild_from, recipe_of
from triptych.metastage.values.scalars import dtype_named
from triptych.objectstage.target import Serialized, Target, host_target
from triptych.stages import Compiled, Leaf, Loaded, Lowered, Memory, SymbolicExtent, Traced
from triptych.support.dataclass import dataclass
from triptych.support.errors import TriptychError
from triptych.support.serialization import CompressedText, from_dict_strict
from triptych.support.source import Span

Again: TypeAlias = Callable[[], Loaded]
"""Compiles the program, for those who look at its stages."""

FORMAT = 3
"""Changes whenever the facts below change their meaning."""
_HOST = "host "
"""What the names of the host program's artifacts begin with."""


def why_traced(traced: Traced, rebuild: Rebuild) -> str:
    """Why every process has to trace a program for itself, as a clause; empty for one that is called without."""
    if recipe_of(rebuild) is None:
        return "its result is an object of a class of yours"
    if traced.assigns:
        return f"tracing assigns the attribute `{traced.assigns}`"
    return traced.unrepeatable


def trace_key(key: Key, traced: Traced) -> Key:
    """The key of the code that is made of a trace."""
    convention = (traced.name, traced.parameters, traced.results, traced.prints, traced.loops, traced.span)
    return key_of_trace(key, traced.module.written() + repr(convention).encode(), traced.signature)


def entry_of(loaded: Loaded, target: Target, key: Key, rebuild: Rebuild | None = None) -> Entry | str:
    """The entry of a program, or of the code of a trace, which has no results of its own; or why there is none."""
    if target.serialize is None:
        return f"code for {target.name} cannot be written to a file"
    try:
        host = None if loaded.compiled.host is None else loaded.compiled.host()
    except TriptychError as error:  # as code for a GPU it is right; whoever calls it is told
        return f"its host function cannot be compiled: {error.title}"
    return _entry(loaded.compiled, host, target, dict(key.ingredients), None if rebuild is None else recipe_of(rebuild))


def _entry(
    compiled: Compiled,
    host: Compiled | None,
    target: Target,
    ingredients: Mapping[str, str],
    result: list[object] | None,
) -> Entry:
    part, artifacts = _frozen(compiled, target)
    facts: dict[str, Any] = {
        "program format": FORMAT,
        "function": part.name,
        "signature": compiled.lowered.traced.signature,
        "target": target.name,
        "key": ingredients,
        "result": result,
        "program": asdict(part),
        "host": None,
    }
    if host is not None:
        own, own_artifacts = _frozen(host, host_target())
        facts["host"] = asdict(own)
        artifacts |= {_HOST + name: content for name, content in own_artifacts.items()}
    return Entry(facts, artifacts)


@dataclass(frozen=True, slots=True)
class Part:
    """How to call compiled code, and what its target says of it."""

    name: str
    kernels: tuple[str, ...]
    parameters: tuple[Leaf, ...]
    results: tuple[Leaf, ...]
    prints: bool
    loops: bool
    span: Span | None
    options: dict[str, Any]
    code: dict[str, Any]


def _frozen(compiled: Compiled, target: Target) -> tuple[Part, dict[str, bytes]]:
    """The facts of compiled code, and the code."""
    lowered, traced = compiled.lowered, compiled.lowered.traced
    assert target.serialize is not None, "else it would not be kept"
    frozen = target.serialize(compiled)
    part = Part(
        traced.name,
        lowered.kernels,
        traced.parameters,
        traced.results,
        traced.prints,
        traced.loops,
        traced.span,
        dict(compiled.options),
        dict(frozen.facts),
    )
    return part, dict(frozen.artifacts)


def program_of(entry: Entry, target: Target, again: Again) -> tuple[Loaded, Rebuild]:
    """The program of an entry, loaded. Raises `NotAnEntry` for facts that no program has, whatever they are."""
    with _reading():
        facts: Mapping[str, Any] = entry.facts
        rebuild, part = rebuild_from(facts["result"]), _part(facts["program"])
        _check_results(rebuild, part.results)
        return _loaded(entry, recipe_of(rebuild), _unseen(part, again), target, again), rebuild


def code_of(entry: Entry, traced: Traced, target: Target, again: Again) -> Loaded:
    """The code of an entry for the trace that it was made of, loaded. Raises `NotAnEntry` as `program_of` does."""
    with _reading():
        return _loaded(entry, None, traced, target, again)


@contextmanager
def _reading() -> Iterator[None]:
    try:
        yield
    except Exception as error:  # of any kind; what is wrong with the program itself, compiling it tells again
        raise NotAnEntry(f"no program: {type(error).__name__}: {error}") from error


def _loaded(entry: Entry, result: list[object] | None, traced: Traced, target: Target, again: Again) -> Loaded:
    """The code of an entry.

    The digest of a record fits whatever somebody wrote into it. So the code that was read is made an entry again,
    which has to be this one: nothing was left unread, and nothing was taken for something else.
    """
    facts: Mapping[str, Any] = entry.facts
    host = None if facts["host"] is None else _deserialized_host(facts["host"], entry.artifacts, again)
    compiled = _deserialized(_part(facts["program"]), traced, entry.artifacts, target, again)
    _check(entry, _entry(compiled, host, target, facts["key"], result))
    return target.load(compiled if host is None else replace(compiled, host=lambda: host))


def _check(read: Entry, made: Entry) -> None:
    """Raise ValueError where the program that was made of an entry is another one than the entry says."""
    ingredients: Any = read.facts["key"]
    known = all(isinstance(line, str) for line in ingredients.values())
    texts = [json.dumps(each.facts, sort_keys=True) for each in (read, made)]
    if texts[0] != texts[1] or read.artifacts != made.artifacts or not known:
        raise ValueError("facts that do not fit together")


def _check_results(rebuild: Rebuild, results: tuple[Leaf, ...]) -> None:
    """Raise where what Python makes of the results is not made of all of them."""
    values = iter(results or (None,))  # which is what a call without results gives
    rebuild(values)
    if next(values, None) is not None:
        raise ValueError("a result that nothing is made of")


def _deserialized_host(facts: Mapping[str, Any], artifacts: Mapping[str, bytes], again: Again) -> Compiled:
    own = {name.removeprefix(_HOST): content for name, content in artifacts.items() if name.startswith(_HOST)}
    part, of_host = _part(facts), lambda: replace(again(), compiled=_host_of(again()))
    return _deserialized(part, _unseen(part, of_host), own, host_target(), of_host)


def _unseen(part: Part, again: Again) -> Traced:
    """A trace that nobody has made in this process yet."""
    return Traced(part.name, _Module(again), part.parameters, part.results, part.prints, part.loops, part.span)


def _host_of(loaded: Loaded) -> Compiled:
    assert loaded.compiled.host is not None, "it had one when it was kept"
    return loaded.compiled.host()


def _deserialized(part: Part, traced: Traced, artifacts: Mapping[str, bytes], target: Target, again: Again) -> Compiled:
    lowered = Lowered(
        traced,
        lambda: again().compiled.lowered.mlir,
        _LaterText(lambda: again().compiled.lowered.llvm),
        target.entry_symbol(part.name),
        kernels=part.kernels,
    )
    assert target.deserialize is not None, "code of this target is kept"
    return target.deserialize(lowered, Serialized(artifacts, part.code), part.options, lambda: again().compiled)


def _part(values: Mapping[str, Any]) -> Part:
    leaves = {name: tuple(map(_leaf, values[name])) for name in ("parameters", "results")}
    span = None if values["span"] is None else from_dict_strict(Span, values["span"])
    return from_dict_strict(Part, {**values, **leaves, "kernels": tuple(values["kernels"]), "span": span})


def _leaf(values: Mapping[str, Any]) -> Leaf:
    memory = values["memory"]
    dtype_named(values["dtype"])  # which raises where there is none
    return from_dict_strict(Leaf, {**values, "memory": None if memory is None else _memory(memory)})


def _memory(values: Mapping[str, Any]) -> Memory:
    unknowns = tuple(from_dict_strict(SymbolicExtent, unknown) for unknown in values["unknowns"])
    lists = {name: tuple(values[name]) for name in ("shape", "stride", "devices")}
    return from_dict_strict(Memory, {**values, **lists, "unknowns": unknowns})


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


class _LaterText(CompressedText):
    """The text of a program that is compiled when someone looks."""

    __slots__ = ("_make",)

    def __init__(self, make: Callable[[], str]) -> None:
        super().__init__("")
        self._make = make

    def __str__(self) -> str:
        return self._make()
