"""A generated program: module text, the function to call, the arguments to call it with, and how to load it."""

from __future__ import annotations

import linecache
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from hashlib import sha256
from typing import Any

Scalar = int | float | bool


@dataclass(frozen=True, slots=True)
class Program:
    """A complete module text; `name` is its main function, called once with each tuple of `arguments`."""

    source: str
    name: str
    arguments: tuple[tuple[Scalar, ...], ...]

    def __str__(self) -> str:
        return f"arguments {self.arguments}\n{self.source}"


PYTHON_TYPES: Mapping[str, type] = {"Int32": int, "Float64": float, "Boolean": bool}
"""What the annotations mean when the program runs as ordinary Python."""


@contextmanager
def loaded(program: Program, types: Mapping[str, type]) -> Iterator[Callable[..., Any]]:
    """Execute the module text with its annotation names bound to `types`, and give its main function.

    The text stays in `linecache` meanwhile, because the pre-stage starts from a function's source.
    """
    digest = sha256(program.source.encode()).hexdigest()[:12]
    file = f"<fuzz {digest}>"
    namespace: dict[str, Any] = {"__name__": f"fuzz_{digest}", **types}
    linecache.cache[file] = (len(program.source), None, program.source.splitlines(keepends=True), file)
    try:
        exec(compile(program.source, file, "exec", dont_inherit=True), namespace)
        yield namespace[program.name]
    finally:
        linecache.cache.pop(file, None)
