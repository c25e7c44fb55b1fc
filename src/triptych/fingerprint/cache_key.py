"""Cache key of a function and a specialization: equal keys mean equal compiled code, in any process.

The key is a list of named ingredients, each with its own digest, so that a person can ask what it is made of
(`explain`) and why another call did not find the same code (`diff`).
"""

from __future__ import annotations

import hashlib
import marshal
import sys
from collections.abc import Iterator, Mapping
from dataclasses import field
from itertools import chain
from types import FunctionType, MappingProxyType, ModuleType
from typing import Any, TypeAlias

from triptych.fingerprint.definitions import describe, function_parts
from triptych.fingerprint.primitive_tokens import ATOMS, Token, digest, is_plain, spelling
from triptych.fingerprint.tokens import Definition, Walk, definition_token
from triptych.support.dataclass import dataclass

FORMAT = 3
"""Changes whenever the meaning of a token changes."""

SHOWN_DIGITS = 16

Ingredient: TypeAlias = tuple[str, str, Token]
"""Its name, what a person is shown, and its token."""


@dataclass(frozen=True, slots=True)
class Key:
    """`ingredients` maps each name to its short digest and a description; `digest` covers all of them."""

    digest: str
    ingredients: Mapping[str, str] = field(compare=False)
    portable: bool = field(compare=False, default=True)
    """False when the function reads an object that only this process can recognise (a lock, an open file)."""
    environment: Mapping[str, str] = field(compare=False, default_factory=dict)
    """Digests of what does not come from the function or its arguments: options, toolchain, target."""

    def __str__(self) -> str:
        return explain(self)


def key_base(
    function: FunctionType,
    *,
    constexprs: Mapping[str, object],
    signature: object,
    options: Mapping[str, object],
    toolchain: Mapping[str, object],
    target: object,
) -> tuple[KeyBase, Key]:
    """What keys of a function have in common, and the key of one specialization.

    UnstableConstexprError when a given value has no stable content.
    """
    walk = Walk()
    walk.root(function)
    own = [
        *_given(walk, {f"{_CONSTEXPR}{name}": value for name, value in constexprs.items()}),
        *_given(walk, {_SIGNATURE: signature}),
    ]
    others = [
        *_given(walk, {f"option {name}": options[name] for name in sorted(options)}),
        *_given(walk, {f"toolchain {name}": toolchain[name] for name in sorted(toolchain)}),
        *_given(walk, {"target": target, "python": _python(), "key format": FORMAT}),
    ]
    read = [item for label, definition in walk.mentioned() for item in _ingredients(label, definition, function, walk)]
    shared = walk.shared()
    same = [("shared objects", "in several places", shared)] if shared else []
    base = KeyBase([*read, *same], others, walk.portable)
    return base, base.whole({name: (digest(token), shown) for name, shown, token in own})


class KeyBase:
    """What keys of one function have in common as long as nothing that it reads has changed.

    Most specializations differ in numbers and text only (`is_plain`): nothing that they add is read, watched or shared
    with anything else, so their keys are made of the rest as it is, in a hundredth of the time.
    """

    def __init__(self, read: list[Ingredient], others: list[Ingredient], portable: bool) -> None:
        before, after = (
            {name: (digest(token), shown) for name, shown, token in ingredients} for ingredients in (read, others)
        )
        self._common = tuple((name, each) for name, (each, _) in (*before.items(), *after.items()))
        self._environment = MappingProxyType({name: each for name, (each, _) in after.items()})
        self._spelled = spelling(digest(self._common))
        self._before, self._after = _lines(before), _lines(after)
        self._signatures: dict[bytes, tuple[str, str]] = {}
        self._portable = portable

    def key(self, constexprs: Mapping[str, object], signature: object) -> Key | None:
        """The key of a specialization; None for one whose values are not plain."""
        signed = self._signature(signature)
        if signed is None or not all(map(is_plain, constexprs.values())):
            return None
        found = {f"{_CONSTEXPR}{name}": (_plain_digest(value), describe(value)) for name, value in constexprs.items()}
        return self.whole({**found, _SIGNATURE: signed})

    def whole(self, given: Mapping[str, tuple[str, str]]) -> Key:
        """The key of all ingredients: by the digest of what is common, then each name and digest."""
        chunks = [self._spelled]
        for name, (each, _) in given.items():
            chunks += (spelling(name), spelling(each))
        lines = {**self._before, **_lines(given), **self._after}
        whole = hashlib.sha256(b"".join(chunks)).hexdigest()
        return Key(whole, MappingProxyType(lines), self._portable, self._environment)

    # Any: what `marshal` takes, it finds out.
    def _signature(self, signature: Any) -> tuple[str, str] | None:
        """The digest of a plain signature, and how it is shown. Functions have few; `marshal` tells 1 from True."""
        try:
            written = marshal.dumps(signature, _WITHOUT_REFERENCES)
        except ValueError:
            return None
        if written not in self._signatures:
            if not is_plain(signature):
                return None
            if len(self._signatures) >= _MOST_SIGNATURES:
                self._signatures.clear()
            self._signatures[written] = _plain_digest(signature), describe(signature)
        return self._signatures[written]


_CONSTEXPR = "constexpr "
_SIGNATURE = "signature"
_WITHOUT_REFERENCES = 2
"""A version of what `marshal` writes: the same for equal values of equal types."""
_MOST_SIGNATURES = 64


def _plain_digest(value: object) -> str:
    kind = type(value)
    return digest(ATOMS[kind](value) if kind in ATOMS else Walk().strict_value(value, ""))


def _lines(found: Mapping[str, tuple[str, str]]) -> dict[str, str]:
    return {name: _line(*entry) for name, entry in found.items()}


TRACE = "trace"
"""The ingredient that a key of code has in place of a function and its arguments."""


def key_of_trace(key: Key, trace: bytes, shown: str) -> Key:
    """The key of the code that is made of a trace, in the environment of a function's key: Python has no part in it."""
    of_trace = hashlib.sha256(trace).hexdigest()
    whole = hashlib.sha256(b"".join(map(spelling, (TRACE, of_trace, *chain(*key.environment.items())))))
    lines = {TRACE: _line(of_trace, shown), **{name: key.ingredients[name] for name in key.environment}}
    return Key(whole.hexdigest(), lines, environment=key.environment)


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


def _given(walk: Walk, values: Mapping[str, object]) -> Iterator[Ingredient]:
    """Values handed in by the call: each must have a stable key."""
    for name, value in values.items():
        yield name, describe(value), walk.strict_value(value, name)


def _ingredients(label: str, definition: Definition, function: FunctionType, walk: Walk) -> Iterator[Ingredient]:
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
