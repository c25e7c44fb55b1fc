"""Classes of objects in a program's source, where they are beyond doubt, and the attributes that these classes lack.

An object's class is known by the annotation of a parameter, or because a variable is only ever assigned what calls of
one class return, as our own functions declare it. Annotations are promises that nobody checks: whatever a program tests
with `isinstance` or `hasattr` may be more than its annotation says, and so may an object that is asked for what
another public class has.
"""

from __future__ import annotations

import ast
import importlib
import inspect
import sys
import typing
from collections import Counter
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from functools import cache
from operator import attrgetter
from types import ModuleType
from typing import Any, TypeAlias

from triptych.compat import activated
from triptych.compat.public_names import HOMES, ROOT, WITH_LIBRARIES
from triptych.metastage.values.binding_time import Constexpr
from triptych.metastage.values.operators import ForeignOperand

Known: TypeAlias = tuple[str, type]
"""A class and the public name that it is told by."""
_FIRST = ("cutlass.cute", "cutlass.pipeline", "cutlass.utils", "cutlass")
"""The public modules that classes are told by; others have some of them, too."""
_QUESTIONS = frozenset({"isinstance", "hasattr", "getattr"})


class Classes:
    """What is known of the variables of the function that is being read."""

    def __init__(self, meaning: Callable[[ast.expr], str | None]) -> None:
        self._meaning = meaning
        self._known: Mapping[str, Known | None] = {}

    @contextmanager
    def inside(self, function: ast.FunctionDef | ast.AsyncFunctionDef) -> Iterator[None]:
        """Within a function, its variables hide those around it."""
        before, nodes = self._known, list(ast.walk(function))
        own = _arguments(function.args)
        bound = Counter([argument.arg for argument in own] + [name for node in nodes for name in _bound(node)])
        self._known = {**before, **dict.fromkeys(bound)}
        classes: dict[str, list[Known | None]] = {}
        for argument in own:
            classes.setdefault(argument.arg, []).append(self._annotated(argument.annotation))
        for node in nodes:
            if isinstance(node, ast.Assign) and len(node.targets) == 1 and isinstance(node.targets[0], ast.Name):
                classes.setdefault(node.targets[0].id, []).append(self._class_of(node.value))
        asked = {name for node in nodes for name in _asked(node)}
        self._known |= {
            name: found[0]
            for name, found in classes.items()
            if len(set(found)) == 1 and len(found) == bound[name] and name not in asked
        }
        try:
            yield
        finally:
            self._known = before

    def lacks(self, node: ast.Attribute) -> str | None:
        """The name of an attribute that the class of its object does not have."""
        if not isinstance(node.ctx, ast.Load):
            return None
        known = self._class_of(node.value)
        if known is None or _has(known[1], node.attr) or node.attr in _attributes_of_any():
            return None
        return f"{_public_name(known)}.{node.attr}"

    def lacking(self, dotted: str, name: str) -> str | None:
        """The same of a dotted path through a class, where `name` is the class."""
        found, attribute = _object(name), dotted.split(".")[_words_used(dotted, name) :][:1]
        if not isinstance(found, type) or not attribute or _has(found, attribute[0]):
            return None
        return f"{name}.{attribute[0]}"

    def _annotated(self, annotation: ast.expr | None) -> Known | None:
        return self._named(self._meaning(annotation)) if annotation is not None else None

    def _named(self, dotted: str | None) -> Known | None:
        found = _object(dotted) if dotted is not None else None
        is_class = isinstance(found, type) and found is not Constexpr and not inspect.isabstract(found)
        return (str(dotted), found) if isinstance(found, type) and is_class else None

    def _class_of(self, node: ast.expr) -> Known | None:
        match node:
            case ast.Name(id=name):
                return self._known.get(name)
            case ast.Call(func=function):
                return self._called(function)
            case ast.Attribute(value=value, attr=attribute) if self._meaning(node) is None:
                owner = self._class_of(value)
                found = inspect.getattr_static(owner[1], attribute, None) if owner is not None else None
                return _returned(found.fget, owner) if isinstance(found, property) else None
        return None

    def _called(self, function: ast.expr) -> Known | None:
        dotted = self._meaning(function)
        if dotted is not None:
            found = _object(dotted)
            if isinstance(found, type):
                return dotted, found
            return _returned(found, self._named(dotted.rpartition(".")[0]))
        if not isinstance(function, ast.Attribute):
            return None
        owner = self._class_of(function.value)
        return _returned(getattr(owner[1], function.attr, None), owner) if owner is not None else None


def _arguments(arguments: ast.arguments) -> list[ast.arg]:
    return [*arguments.posonlyargs, *arguments.args, *arguments.kwonlyargs]


def _bound(node: ast.AST) -> Iterator[str]:
    match node:
        case ast.Name(id=name, ctx=ast.Store() | ast.Del()):
            yield name
        case ast.Lambda(args=arguments):
            yield from (argument.arg for argument in _arguments(arguments))
        case ast.ExceptHandler(name=str(name)) | ast.MatchAs(name=str(name)):
            yield name
        case ast.FunctionDef(name=name) | ast.ClassDef(name=name):
            yield name
        case ast.Global(names=names) | ast.Nonlocal(names=names):
            yield from names
        case ast.Import(names=aliases) | ast.ImportFrom(names=aliases):
            yield from (alias.asname or alias.name.partition(".")[0] for alias in aliases)


def _asked(node: ast.AST) -> Iterator[str]:
    match node:
        case ast.Call(func=ast.Name(id=question), args=[ast.Name(id=name), *_]) if question in _QUESTIONS:
            yield name


@cache
def _object(dotted: str) -> object:
    """What a public name is here; None where it is not."""
    try:
        with activated():
            return attrgetter(dotted.removeprefix(f"{ROOT}."))(importlib.import_module(ROOT))
    except (AttributeError, ImportError):
        return None


def _words_used(dotted: str, name: str) -> int:
    """How many words of a path are the name, which may be another spelling of its beginning."""
    words = dotted.split(".")
    return next((at + 1 for at in reversed(range(len(words))) if words[at] == name.rpartition(".")[2]), len(words))


def _returned(function: object, owner: Known | None) -> Known | None:
    """The class that a function of ours declares to return, told beside what it was asked of."""
    try:
        declared: Any = inspect.get_annotations(function).get("return") if callable(function) else None
        if isinstance(declared, str):  # alone: other annotations may name what only type checkers see
            declared = eval(declared, vars(sys.modules[str(function.__module__)]))
    except (NameError, TypeError, AttributeError, SyntaxError):
        return None
    if declared is typing.Self:
        return owner
    if not isinstance(declared, type) or not declared.__module__.startswith("triptych"):
        return None
    return declared.__name__, declared


def _public_name(known: Known) -> str:
    """By the first public module that has the class; as the program calls it, where that is said."""
    name = known[0]
    having = (module for module in (*_FIRST, *HOMES) if _object(f"{module}.{name}") is known[1])
    return name if "." in name else f"{next(having, ROOT)}.{name}"


@cache
def _attributes_of_any() -> frozenset[str]:
    """What objects of the public classes have, all together."""
    with activated():
        modules = [importlib.import_module(name) for public, name in HOMES.items() if public not in WITH_LIBRARIES]
    values = (_value(module, name) for module in modules for name in dir(module))
    classes = {value for value in values if isinstance(value, type)}
    return frozenset(name for cls in classes for name in dir(cls))


def _value(module: ModuleType, name: str) -> object:
    """What a name of a module stands for; None for what needs a library that is not installed."""
    try:
        return getattr(module, name, None)
    except ImportError:
        return None


@cache
def _has(cls: type, attribute: str) -> bool:
    """Whether objects of a class may have an attribute, of its own or a derived class; or answer for any."""
    return any(_may_have(each, attribute) for each in (cls, *_derived(cls)))


def _may_have(cls: type, attribute: str) -> bool:
    if attribute in dir(cls) or _answers(cls) or not cls.__module__.startswith("triptych"):
        return True
    return any(
        attribute in vars(each).get("__annotations__", {}) or f"self.{attribute}" in _text(each) for each in cls.__mro__
    )


def _answers(cls: type) -> bool:
    """Whether a class makes attributes on demand; what traced values share only says that there is none."""
    asked = getattr(cls, "__getattr__", None)
    return asked is not None and asked is not getattr(ForeignOperand, "__getattr__")  # noqa: B009 - hidden from types


@cache
def _text(cls: type) -> str:
    try:
        return inspect.getsource(cls)
    except (OSError, TypeError):
        return ""


def _derived(cls: type) -> Iterator[type]:
    derived: list[type] = type.__subclasses__(cls)
    for each in derived:
        yield each
        yield from _derived(each)
