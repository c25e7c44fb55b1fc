"""Small programs made from text, each a module of its own that tests may change."""

from __future__ import annotations

import linecache
import sys
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from types import FunctionType, ModuleType
from typing import Any

from triptych.fingerprint.cache_key import Key, key_base


@contextmanager
def modules(**texts: str) -> Iterator[dict[str, ModuleType]]:
    """Modules importable by name while the block runs, made in the order given."""
    made: dict[str, ModuleType] = {}
    try:
        for name, text in texts.items():
            made[name] = sys.modules[name] = _module(name, text)
        yield made
    finally:
        for name in made:
            del sys.modules[name]
            linecache.cache.pop(f"<{name}>", None)


def _module(name: str, text: str) -> ModuleType:
    module = ModuleType(name)
    file = f"<{name}>"
    linecache.cache[file] = (len(text), None, text.splitlines(keepends=True), file)
    exec(compile(text, file, "exec", dont_inherit=True), vars(module))
    return module


def run_in(module: ModuleType, text: str) -> None:
    """A statement as if written at the end of the module."""
    exec(text, vars(module))


def function_of(module: ModuleType, name: str = "f") -> FunctionType:
    function = getattr(module, name)
    assert isinstance(function, FunctionType)
    return function


def key_of(function: Callable[..., Any], **changes: Any) -> Key:
    assert isinstance(function, FunctionType)
    given: dict[str, Mapping[str, object] | object] = {
        "constexprs": {"n": 4},
        "signature": ("Int32", "Float32"),
        "options": {"opt_level": 3},
        "toolchain": {"llvm": "22.1"},
        "target": "cpu",
    }
    return key_base(function, **(given | changes))[1]  # type: ignore[arg-type]
