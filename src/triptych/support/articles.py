"""The indefinite article before the name of a type in a message."""

from __future__ import annotations


def with_article(name: str) -> str:
    """`an Int32`, `a Float32`. A name with `U` is read as `Uint32` is: a `you`."""
    return f"{'an' if name[:1].lower() in 'aeio' else 'a'} {name}"
