"""Object-stage, function and specialization -> key: equal keys mean equal compiled code, in any process.

The key is a list of named ingredients, each with its own digest, so that a person can ask what it is made of
(`explain`) and why another call did not find the same code (`diff`).
"""

from __future__ import annotations

import sys
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from types import FunctionType, MappingProxyType, ModuleType

from triptych.fingerprint.definitions import describe, function_parts
from triptych.fingerprint.primitive_tokens import Token, digest
from triptych.fingerprint.tokens import Definition, Walk, definition_token

FORMAT = 1
"""Changes whenever the meaning of a token changes."""

SHOWN_DIGITS = 16


@dataclass(frozen=True, slots=True)
class Key:
    """`ingredients` maps each name to its short digest and a description; `digest` covers all of them."""

    digest: str
    ingredients: Mapping[str, str] = field(compare=False)
    portable: bool = field(compare=False, default=True)
    """False when the function reads an object that only this process can recognise (a lock, an open file)."""

    def __str__(self) -> str:
        return explain(self)


def cache_key(
    function: FunctionType,
    *,
    constexprs: Mapping[str, object],
    signature: object,
    options: Mapping[str, object],
    toolchain: Mapping[str, object],
    target: object,
) -> Key:
    """The key of one specialization; UnstableConstexprError when a given value has no stable content."""
    walk = Walk()
    walk.root(function)
    given = [
        *_given(walk, {f"constexpr {name}": value for name, value in constexprs.items()}),
        *_given(walk, {"signature": signature}),
        *_given(walk, {f"option {name}": options[name] for name in sorted(options)}),
        *_given(walk, {f"toolchain {name}": toolchain[name] for name in sorted(toolchain)}),
        *_given(walk, {"target": target, "python": _python(), "key format": FORMAT}),
    ]
    read = [item for label, definition in walk.mentioned() for item in _ingredients(label, definition, function, walk)]
    shared = walk.shared()
    same = [("shared objects", "in several places", shared)] if shared else []
    found = {name: (digest(token), shown) for name, shown, token in (*read, *same, *given)}
    whole = digest(tuple((name, each) for name, (each, _) in found.items()))
    return Key(whole, MappingProxyType({name: _line(*entry) for name, entry in found.items()}), walk.portable)


def explain(key: Key) -> str:
    """The ingredients as a table."""
    width = max(map(len, key.ingredients))
    rows = [f"{name:<{width}}  {line}" for name, line in key.ingredients.items()]
    note = [] if key.portable else ["valid in this process only"]
    return "\n".join([f"{'key':<{width}}  {key.digest}", *rows, *note])


def diff(one: Key, other: Key) -> list[str]:
    """Names of the ingredients that differ, or that only one of the keys has."""
    names = {**one.ingredients, **other.ingredients}
    return [name for name in names if one.ingredients.get(name) != other.ingredients.get(name)]


def _given(walk: Walk, values: Mapping[str, object]) -> Iterator[tuple[str, str, Token]]:
    """Values handed in by the call: each must have a stable key."""
    for name, value in values.items():
        yield name, describe(value), walk.strict_value(value, name)


def _ingredients(
    label: str, definition: Definition, function: FunctionType, walk: Walk
) -> Iterator[tuple[str, str, Token]]:
    """The function's own parts by their plain names, those of what it uses under the name of the definition."""
    if not isinstance(definition, FunctionType):
        kind = "module" if isinstance(definition, ModuleType) else "class"
        yield f"{kind} {label}", describe(definition), definition_token(definition, walk)
        return
    prefix = "" if definition is function else f"{label}: "
    for part, shown, token in function_parts(definition, walk.value):
        yield f"{prefix}{part}", shown, token


def _line(full: str, shown: str) -> str:
    return f"{full[:SHOWN_DIGITS]}  {shown}"


def _python() -> str:
    return f"{sys.implementation.name} {sys.hexversion:x} optimize={sys.flags.optimize}"
