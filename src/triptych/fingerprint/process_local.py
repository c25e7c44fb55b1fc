"""Process-local tokens, for locks, files and other things without readable content.

A function may read such an object (a module's logger lock, say) and still be compiled and found again here; the key
says that it means nothing elsewhere.
"""

from __future__ import annotations

import itertools
import os
import weakref

from triptych.fingerprint.primitive_tokens import Token

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
