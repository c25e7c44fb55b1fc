"""Symbol names of the object code, made of Python names."""

from __future__ import annotations

import math

_ALLOCATION = {"aligned_alloc", "calloc", "free", "malloc", "memcpy", "memmove", "memset", "realloc"}
_OF_C = {*vars(math), *_ALLOCATION, "clock_gettime", "printf"}
"""Functions that compiled code may call: a function of the program with such a name would take their place."""


def symbol(name: str) -> str:
    """A Python name as a symbol that every assembler takes: ASCII, no digit first, not `_` alone, not one of C's."""
    mapped = "".join(c if c == "_" or (c.isascii() and c.isalnum()) else _letter(c) for c in name)
    if {mapped, mapped.removesuffix("f")} & _OF_C:
        return f"{mapped}_"
    return f"_{mapped}" if not mapped.strip("_") or mapped[0].isdigit() else mapped


def _letter(character: str) -> str:
    """Letters of other alphabets by their numbers, so that two names stay two; marks (`<lambda>`) as underscores."""
    return "_" if character.isascii() else f"u{ord(character):x}_"
