"""User code: the framework's, a library's, or the user's, which is rewritten when traced code calls it; and the special
methods of a user's class, found as Python finds them.
"""

from __future__ import annotations

import sys
from types import (
    BuiltinFunctionType,
    ClassMethodDescriptorType,
    FunctionType,
    MethodDescriptorType,
    MethodWrapperType,
    ModuleType,
    WrapperDescriptorType,
)
from typing import Any, Final, TypeAlias

from triptych.support.libraries import is_library_function

_OWN = ("triptych", "torch_mlir")

HEAP_TYPE = 1 << 9
"""`type.__flags__` bit of classes made at run time, as the user's are; the others are compiled into an extension."""


def is_user_function(function: object) -> bool:
    """Whether something is a Python function that somebody wrote for programs like this one, installed or not."""
    return type(function) is FunctionType and not (is_own(function) or is_library_function(function))


def is_own(thing: object) -> bool:
    """Whether a function or class is the framework's; a function by its globals, as `functools.wraps` gives the name of
    its module away: the framework wraps methods of the user's, and users wrap functions of the framework."""
    module = thing.__globals__.get("__name__") if type(thing) is FunctionType else getattr(thing, "__module__", None)
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


ABSENT: Final = object()
"""No method at all; a class that sets one to None says that it has none although its bases do."""
C_METHODS = (WrapperDescriptorType, MethodDescriptorType, BuiltinFunctionType, ClassMethodDescriptorType)
"""What the methods of classes written in C are: they know nothing of run-time values."""

BuiltinCallable: TypeAlias = (
    WrapperDescriptorType | MethodDescriptorType | BuiltinFunctionType | ClassMethodDescriptorType | MethodWrapperType
)

C_CALLABLES = frozenset({WrapperDescriptorType, MethodDescriptorType, BuiltinFunctionType, MethodWrapperType})
"""What such a method is when a program calls it by its name, bound or not."""


def special_method(kind: type, name: str) -> Any:
    """What a class or the first of its bases that has it defines as a special method; ABSENT when none does."""
    return class_entry(kind, name, ABSENT)


def bound_method(method: object, instance: object) -> Any:
    """What is called for an instance: a function, static method or callable object of the class, as Python binds it."""
    getter = getattr(type(method), "__get__", None)
    return method if getter is None else getter(method, instance, type(instance))


def inherited_method(function: BuiltinCallable, args: tuple[Any, ...]) -> tuple[Any, tuple[Any, ...]]:
    """`super().__getitem__(n)` as the method of the builtin class and its two operands; None for any other call."""
    owner = getattr(function, "__self__", None)
    unbound = type(function) in (WrapperDescriptorType, MethodDescriptorType)
    operands = args if unbound else (owner, *args)
    if function.__name__ not in ("__contains__", "__getitem__") or len(operands) != 2:
        return None, ()
    methods = (cls.__dict__.get(function.__name__) for cls in type(operands[0]).__mro__)
    method = next((method for method in methods if isinstance(method, C_METHODS)), None)
    return (method, operands) if not unbound or method is function else (None, ())
