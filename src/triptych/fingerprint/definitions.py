"""Definitions (function, class, module) as parts: one named part per ingredient.

`value` turns what a definition refers to into tokens; it names other definitions instead of repeating them, so
recursion and helpers shared by many functions cost nothing.

Registrations of a class: `ABC.register` changes what `isinstance` says of others. A class says so of the classes that
are registered with it or with a class derived from it. Those that a release pins are as their release made them; which
of them are there depends on what a process has imported, and says nothing.
"""

from __future__ import annotations

import abc
import inspect
from collections import namedtuple
from collections.abc import Callable, Iterator, Mapping
from enum import Enum
from types import FunctionType, ModuleType
from typing import Any, TypeAlias

from triptych.fingerprint.free_variables import MISSING, reads
from triptych.fingerprint.function_source import code_token, position_token, source_token
from triptych.fingerprint.primitive_tokens import Token, is_plain
from triptych.fingerprint.releases import has_pinned_code, import_name, is_framework, release

Tokenize: TypeAlias = Callable[[object, str], Token]
"""A value and how a person finds it from the definition: `global TABLE`."""

SHOWN_TEXT = 48

POSITION = "position"
"""The part that says where, not what: alone in changing when a comment is added above a function."""

BOOKKEEPING = frozenset(
    {
        "__dict__",
        "__weakref__",
        "__doc__",
        "__module__",
        "__qualname__",
        "__firstlineno__",
        "__static_attributes__",
        "__annotations_cache__",
        "__annotate_func__",
        "_abc_impl",
        "__slotnames__",  # `copyreg` remembers it when an instance is pickled or copied
        # Flag enums add unnamed members here when they are first computed.
        "_value2member_map_",
        "_unhashable_values_",
        "_hashable_values_",
        "_unhashable_values_map_",
    }
)
"""Class entries that Python keeps for itself and that say nothing about the class."""


IMPORT_ENTRIES = frozenset(
    {
        "__builtins__",
        "__cached__",
        "__doc__",
        "__file__",
        "__loader__",
        "__name__",
        "__package__",
        "__path__",
        "__spec__",
    }
) | {"__warningregistry__"}
"""Entries of a module that the import system makes."""

_AnyNamedTuple = namedtuple("_AnyNamedTuple", "field")
NAMED_TUPLE_FIELD = type(vars(_AnyNamedTuple)["field"])
NAMED_TUPLE_ENTRIES = {"__new__", "_make", "_replace", "_asdict", "__repr__", "__getnewargs__", "__replace__"}


def function_parts(function: FunctionType, value: Tokenize) -> Iterator[tuple[str, str, Token]]:
    """(part, a few words for a person, token); empty parts are left out."""
    code = function.__code__
    if has_pinned_code(function):
        yield "code", function.__qualname__, code_token(code, value)
    else:
        yield "source", function.__qualname__, source_token(function, value)
        yield POSITION, f"{code.co_filename}:{code.co_firstlineno}", position_token(code)
    if function.__name__ != code.co_name and not has_pinned_code(function):
        yield "name", function.__name__, ("name", function.__name__)
    for part, content in (
        ("defaults", function.__defaults__ or ()),
        ("keyword defaults", _sorted_items(function.__kwdefaults__ or {})),
        ("annotations", _sorted_items(annotations_of(function))),
        ("attributes", _sorted_items(vars(function))),
    ):
        if content:
            yield part, describe(content), value(content, part)
    for read in reads(function):
        name = f"{read.kind} {read.path}"
        if read.value is MISSING:
            yield name, "no such name", ("missing",)
        else:
            yield name, describe(read.value), value(read.value, name)


def _sorted_items(entries: dict[str, object]) -> tuple[object, ...]:
    return tuple(sorted(entries.items()))


def annotations_of(function: FunctionType) -> dict[str, object]:
    """As they are stored: names in textual ones are reads."""
    try:
        return function.__annotations__
    except NameError:
        # Python 3.14 evaluates on demand, and a name may be missing.
        return {}


def class_members(cls: type) -> dict[str, object]:
    """What a class holds, by name, without what Python derives from its fields."""
    entries = vars(cls)
    kept = sorted(entries.keys() - BOOKKEEPING - _derived_entries(entries))
    return {name: entries[name] for name in kept}


def derived_methods(cls: type) -> dict[str, FunctionType]:
    """The methods that Python has made from the fields of a class: their defaults can be assigned all the same."""
    entries = vars(cls)
    found = {name: entries[name] for name in sorted(_derived_entries(entries)) if name in entries}
    bare = {name: entry.__func__ if isinstance(entry, staticmethod) else entry for name, entry in found.items()}
    return {name: entry for name, entry in bare.items() if isinstance(entry, FunctionType)}


def _derived_entries(entries: Mapping[str, object]) -> set[str]:
    """Methods made by `dataclass` and by named tuples; a method that the user wrote instead is kept."""
    functions = {name: entry for name, entry in entries.items() if isinstance(entry, FunctionType)}
    derived = {name for name, entry in functions.items() if _is_dataclass_method(entry)}
    if "_field_defaults" in entries:
        written = {name for name, entry in functions.items() if not has_pinned_code(entry)}
        derived |= NAMED_TUPLE_ENTRIES - written
        derived |= {name for name, entry in entries.items() if type(entry) is NAMED_TUPLE_FIELD}
    return derived


def _is_dataclass_method(function: FunctionType) -> bool:
    maker = inspect.unwrap(function)
    return isinstance(maker, FunctionType) and maker.__code__.co_qualname.startswith("__create_fn__.<locals>.")


def class_token(cls: type, value: Tokenize) -> Token:
    """Bases, metaclass and members. Enum members are told by their values, in order."""
    members = tuple((name, value(member, name)) for name, member in class_members(cls).items())
    bases = tuple(value(base, "base") for base in cls.__bases__)
    given = tuple(
        (name, value((method.__defaults__, method.__kwdefaults__), f"defaults of {name}"))
        for name, method in derived_methods(cls).items()
        if method.__defaults__ or method.__kwdefaults__
    )
    name = cls.__name__ if cls.__name__ != cls.__qualname__.rpartition(".")[2] else ""
    return ("class", value(type(cls), "metaclass"), bases, members, _cases(cls, value), given, name, registered(cls))


def _cases(cls: type, value: Tokenize) -> Token:
    if not issubclass(cls, Enum):
        return ()
    return tuple((name, value(member, name)) for name, member in cls.__members__.items())


def describe(value: object) -> str:
    """A few words without addresses."""
    if isinstance(value, FunctionType | type):
        return f"{value.__module__}.{value.__qualname__}"
    if isinstance(value, ModuleType):
        return f"module {value.__name__}"
    text = repr(value) if is_plain(value) else type(value).__qualname__
    return text if len(text) <= SHOWN_TEXT else f"{text[:SHOWN_TEXT]}..."


def module_members(module: ModuleType) -> dict[str, object]:
    """What a module holds, by name, without what the import system keeps in it."""
    return {name: vars(module)[name] for name in sorted(vars(module).keys() - IMPORT_ENTRIES)}


def module_token(module: ModuleType, value: Tokenize) -> Token:
    """A module used as a whole: all that it holds, because any of it may be what is used."""
    entries = tuple((name, value(entry, name)) for name, entry in module_members(module).items())
    return ("module", entries) if type(module) is ModuleType else ("module", entries, value(type(module), "class"))


_get_dump: Callable[[type], tuple[Any, ...]] = vars(abc)["_get_dump"]
"""What Python keeps of a class: references to the registered ones, and its caches. Private, and the only way to ask."""


def can_be_registered_with(cls: type) -> bool:
    """Whether `cls.register(...)` is a question of this process."""
    return isinstance(cls, abc.ABCMeta) and not is_framework(cls.__module__)


def registered(cls: type) -> tuple[str, ...]:
    """The names of the user's classes that have been registered with a class, or with one derived from it."""
    if not can_be_registered_with(cls):
        return ()
    every = {each for known in _with_derived(cls) for each in _directly(known)}
    own = [each for each in every if release(each.__module__) is None]
    return tuple(sorted(f"{import_name(each.__module__)}.{each.__qualname__}" for each in own))


def _with_derived(cls: type) -> Iterator[type]:
    pending, seen = [cls], {cls}
    for current in pending:
        yield current
        derived: list[type] = type.__subclasses__(current)
        pending += [each for each in derived if each not in seen]
        seen.update(derived)


def _directly(cls: type) -> Iterator[type]:
    if isinstance(cls, abc.ABCMeta):
        references, *_ = _get_dump(cls)
        for reference in references:
            found: type | None = reference()
            if found is not None:
                yield found
