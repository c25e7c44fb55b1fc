"""Primitive tokens of values: the base of every cache key.

A token is nested tuples of text, integers and bytes: it has one spelling per value, no addresses and no hash order, so
its digest is the same in every process.

Process-local tokens, for locks, files and other things without readable content. A function may read such an object (a
module's logger lock, say) and still be compiled and found again here; the key says that it means nothing elsewhere.
"""

from __future__ import annotations

import hashlib
import itertools
import os
import struct
import weakref
from collections import Counter
from collections.abc import Callable, Mapping
from types import EllipsisType, ModuleType, NoneType, NotImplementedType
from typing import Any, TypeAlias

from triptych.support.errors import TriptychError

Token: TypeAlias = "str | int | bytes | tuple[Token, ...]"


def digest(token: Token) -> str:
    """SHA-256 of a token, in hexadecimal."""
    return hashlib.sha256(spelling(token)).hexdigest()


def spelling(token: Token) -> bytes:
    """A token as bytes, of which no other token's are the beginning."""
    if type(token) is str:
        raw = token.encode("utf-8", "surrogatepass")
        return b"s%d:%s" % (len(raw), raw)
    chunks: list[bytes] = []
    _spell(token, chunks)
    return b"".join(chunks)


def _spell(token: Token, chunks: list[bytes]) -> None:
    """Every piece says its type and its length, so two tokens never share a spelling."""
    if isinstance(token, tuple):
        chunks.append(b"(%d:" % len(token))
        for part in token:
            _spell(part, chunks)
        return
    if isinstance(token, str):
        raw, kind = token.encode("utf-8", "surrogatepass"), b"s"
    elif isinstance(token, bytes):
        raw, kind = token, b"b"
    else:
        raw, kind = b"%x" % token, b"i"
    chunks.append(b"%s%d:%s" % (kind, len(raw), raw))


def _bits(number: float) -> bytes:
    """All 64 bits: -0.0 is not 0.0, and one nan is itself."""
    return struct.pack(">d", number)


ATOMS: dict[type, Callable[[Any], Token]] = {
    NoneType: lambda _: ("none",),
    EllipsisType: lambda _: ("ellipsis",),
    NotImplementedType: lambda _: ("not implemented",),
    bool: lambda value: ("bool", int(value)),
    int: lambda value: ("int", value),
    float: lambda value: ("float", _bits(value)),
    complex: lambda value: ("complex", _bits(value.real), _bits(value.imag)),
    str: lambda value: ("str", value),
    bytes: lambda value: ("bytes", value),
    range: lambda value: ("range", value.start, value.stop, value.step),
}
"""Exact types only: a subclass may carry more than the value it inherits."""


def is_plain(value: object) -> bool:
    """True for values that nothing can change: rebinding the name is the only way to see another value there."""
    kind = type(value)
    if kind in ATOMS:
        return True
    return (kind is tuple or kind is frozenset) and all(map(is_plain, value))  # type: ignore[call-overload]


_PROCESS = os.urandom(16)
_SERIALS = itertools.count()
_KNOWN: dict[int, tuple[object, Token]] = {}
"""By address, while the object lives: the first item keeps it alive or forgets the entry when it dies."""


def process_local_token(value: object) -> Token:
    """One token per object. The process id is in it because a fork copies the random part."""
    address = id(value)
    if address not in _KNOWN:
        _KNOWN[address] = (_keeper(value, address), ("process", _PROCESS, os.getpid(), next(_SERIALS)))
    return _KNOWN[address][1]


def _keeper(value: object, address: int) -> object:
    try:
        return weakref.ref(value, lambda _: _KNOWN.pop(address, None))
    except TypeError:
        return value


class LargeArrayError(TriptychError, ValueError):
    """A program reads an array that is too large to be compared at each call, and that someone may write."""

    code = "TT0307"


class TooMuchReadError(TriptychError, ValueError):
    """A program reaches so many functions and classes that reading all of them would take longer than compiling.

    A whole library is in reach of a function that hands on one of its modules, because any name of it may be used.
    """

    code = "TT0316"


MOST_DEFINITIONS = 4000
"""Functions, classes and modules that one key may name: reading each and watching it takes about a millisecond."""


def too_much_read(read: Mapping[str, object], reader: str) -> TooMuchReadError:
    """Names the package that most of it is of, and what has brought it into reach."""
    (package, most), *_ = Counter(label.partition(".")[0] for label in read).most_common(1)
    whole = [label for label, definition in read.items() if isinstance(definition, ModuleType)]
    modules = f"; used as a whole: {', '.join(whole[:3])}" if whole else ""
    return TooMuchReadError(
        f"a program reaches more than {MOST_DEFINITIONS} functions and classes, most of them of `{package}`",
        found=f"{most} of {len(read)} are of `{package}`{modules}; the last was reached from {reader}",
        expected="functions that read the names that they use",
        instead=f"`from {whole[0] if whole else package} import NAME` instead of handing on the module; "
        "or let the object that has it say what counts of it by a method `__cache_key__(self)`",
    )


class UnstableConstexprError(TriptychError, TypeError):
    """A `Constexpr` value whose content cannot be read, so no key can say when it changed."""

    code = "TT0306"
