"""User code: the framework's, a library's, or the user's, which is rewritten when traced code calls it."""

from __future__ import annotations

import sys
from types import FunctionType, ModuleType
from typing import Any

from triptych.support.libraries import is_library_function

_OWN = ("triptych", "torch_mlir")

HEAP_TYPE = 1 << 9
"""`type.__flags__` bit of classes made at run time, as the user's are; the others are compiled into an extension."""


def is_user_function(function: object) -> bool:
    """Whether something is a Python function that somebody wrote for programs like this one, installed or not."""
    return type(function) is FunctionType and not (is_own(function) or is_library_function(function))


def is_own(thing: object) -> bool:
    """Whether a function or class is the framework's."""
    module = getattr(thing, "__module__", None)
    return isinstance(module, str) and module.partition(".")[0] in _OWN


def is_own_module(module: ModuleType) -> bool:
    """Whether a module is the framework's."""
    return module.__name__.partition(".")[0] in _OWN


def is_user_class(cls: type) -> bool:
    """Whether a class is written in Python, and is neither the framework's nor the standard library's."""
    module = cls.__module__.partition(".")[0]
    return bool(cls.__flags__ & HEAP_TYPE) and module not in sys.stdlib_module_names and not is_own(cls)


def user_method(cls: type, name: str) -> FunctionType | None:
    """The method that instances of a class have by this name, if the user wrote it."""
    found = class_entry(cls, name)
    return found if is_user_function(found) else None


def class_entry(cls: type, name: str, otherwise: object = None) -> Any:
    """What a class or the first of its bases that has it holds by a name, as it is stored there."""
    for base in cls.__mro__:
        if name in base.__dict__:
            return base.__dict__[name]
    return otherwise
