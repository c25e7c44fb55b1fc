"""Private names are spelled as CPython spells them, class by class."""

from __future__ import annotations

import ast

import pytest

from triptych.prestage.scopes import mangle, mangled

QUALIFIED = [
    ("f", "__x"),
    ("C.f", "_C__x"),
    ("_C.f", "_C__x"),
    ("__.f", "__x"),
    ("outer.<locals>.f", "__x"),
    ("outer.<locals>.C.f", "_C__x"),
    ("C.f.<locals>.g", "_C__x"),
    ("C.D.f", "_D__x"),
    ("C.f.<locals>.D.g", "_D__x"),
    ("C.<lambda>", "_C__x"),
]


@pytest.mark.parametrize(("qualname", "spelled"), QUALIFIED)
def test_the_innermost_class_owns_the_name(qualname: str, spelled: str) -> None:
    assert mangled(["__x", "__x__", "_x", "x"], qualname) == [spelled, "__x__", "_x", "x"]


TEXT = """
def f(self, __a, *__b):
    __c = self.__d(__k=__a)
    import os as __e
    match __a:
        case [__f, *__g]:
            pass
        case {"k": 1, **__h}:
            pass
        case str() as __i:
            pass
    def __j(__l=__c):
        return __b
    class __M(__c):
        __n = 1
    return lambda __o: __o.__p, __q__, self.__r__
"""


def test_names_are_those_of_the_code_that_cpython_compiles() -> None:
    """Compiled outside its class, the mangled function has the names that CPython gave it inside."""
    inside = ast.parse("class C:\n" + "".join(f"    {line}\n" for line in TEXT.strip().splitlines()))
    outside = ast.parse(TEXT)
    function = outside.body[0]
    assert isinstance(function, ast.FunctionDef)
    mangle(function, "C.f")
    namespace: dict[str, object] = {}
    exec(compile(inside, "inside", "exec"), namespace)
    exec(compile(ast.fix_missing_locations(outside), "outside", "exec"), namespace)
    right = vars(namespace["C"])["f"].__code__
    found = namespace["f"].__code__  # type: ignore[attr-defined]
    for attribute in ("co_varnames", "co_cellvars", "co_names"):
        assert getattr(found, attribute) == getattr(right, attribute)
