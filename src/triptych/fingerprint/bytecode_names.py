"""Bytecode names: what a code object looks up outside itself.

The bytecode is the authority because Python has already decided in it which names are local; nested functions, lambdas,
comprehensions and class bodies are code objects among the constants.
"""

from __future__ import annotations

import dis
from collections.abc import Iterator
from dataclasses import dataclass
from functools import lru_cache
from types import CodeType
from typing import Any, TypeAlias

Chain: TypeAlias = tuple[str, ...]
"""A name and the attributes taken from it: `settings.tiles.WIDTH`."""

GLOBAL_LOADS = frozenset({"LOAD_GLOBAL", "LOAD_NAME", "LOAD_FROM_DICT_OR_GLOBALS"})
CELL_LOADS = frozenset({"LOAD_DEREF", "LOAD_CLASSDEREF", "LOAD_FROM_DICT_OR_DEREF", "LOAD_CLOSURE"})
ATTRIBUTE_LOADS = frozenset({"LOAD_ATTR", "LOAD_METHOD"})


@dataclass(frozen=True, slots=True)
class Import:
    """An `import` statement inside a function."""

    module: str
    level: int
    names: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class Lookups:
    """What a code object and all code nested in it look up; `cells` also holds cells of its own nested functions."""

    globals: frozenset[Chain]
    cells: frozenset[Chain]
    imports: frozenset[Import]
    local_names: frozenset[str]


@lru_cache(maxsize=1024)
def lookups(code: CodeType) -> Lookups:
    """Equal code objects look up equal names, so remembering by code is safe."""
    global_chains: set[Chain] = set()
    cell_chains: set[Chain] = set()
    imports: set[Import] = set()
    local_names: set[str] = set()
    for inner in _with_nested(code):
        local_names |= {*inner.co_varnames, *inner.co_cellvars}
        for opcode, chain in _chains(inner):
            (cell_chains if opcode in CELL_LOADS else global_chains).add(chain)
        imports |= set(_imports(inner))
    return Lookups(frozenset(global_chains), frozenset(cell_chains), frozenset(imports), frozenset(local_names))


def _with_nested(code: CodeType) -> Iterator[CodeType]:
    yield code
    for constant in code.co_consts:
        if isinstance(constant, CodeType):
            yield from _with_nested(constant)


def _chains(code: CodeType) -> Iterator[tuple[str, Chain]]:
    opcode: str = ""
    chain: list[str] = []
    for instruction in dis.get_instructions(code):
        if instruction.opname == "EXTENDED_ARG":
            continue
        if chain and instruction.opname in ATTRIBUTE_LOADS:
            chain.append(instruction.argval)
            continue
        if chain:
            yield opcode, tuple(chain)
        opcode, chain = instruction.opname, []
        if opcode in GLOBAL_LOADS or opcode in CELL_LOADS:
            chain = [instruction.argval]


def _imports(code: CodeType) -> Iterator[Import]:
    """An import loads its level and its list of names as the two constants before it."""
    operands: list[Any] = []
    for instruction in dis.get_instructions(code):
        if instruction.opname == "EXTENDED_ARG":
            continue
        if instruction.opname == "IMPORT_NAME":
            level, names = operands[-2:]
            yield Import(instruction.argval, level or 0, names or ())
        operands.append(instruction.argval)
