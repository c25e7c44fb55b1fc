"""Special methods as Python finds them: on the class, along its bases, never on the instance."""

from __future__ import annotations

from types import (
    BuiltinFunctionType,
    ClassMethodDescriptorType,
    MethodDescriptorType,
    MethodWrapperType,
    WrapperDescriptorType,
)
from typing import Any, Final, TypeAlias

from triptych.metastage.trace.user_code import class_entry

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
