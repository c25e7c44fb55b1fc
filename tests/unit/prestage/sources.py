"""Modules made of text, kept in `linecache` as a notebook keeps its cells, so that their source can be found."""

from __future__ import annotations

import linecache
from collections.abc import Iterator
from contextlib import contextmanager
from itertools import count
from types import FunctionType
from typing import Any

_numbers = count()


@contextmanager
def module(text: str, **given: object) -> Iterator[dict[str, Any]]:
    """Run `text` as a module of its own that also sees the names `given`; gives its namespace."""
    file = f"<module {next(_numbers)}>"
    linecache.cache[file] = (len(text), None, text.splitlines(keepends=True), file)
    namespace: dict[str, Any] = {"__name__": file, **given}
    try:
        exec(compile(text, file, "exec", dont_inherit=True), namespace)
        yield namespace
    finally:
        del linecache.cache[file]


@contextmanager
def function(text: str, **given: object) -> Iterator[FunctionType]:
    """The function `f` of a module made of `text`."""
    with module(text, **given) as namespace:
        found = namespace["f"]
        assert isinstance(found, FunctionType)
        yield found
