"""Operators, attributes, `len`, `iter` … on objects of the user's classes: their special methods are traced, and their
iterators have a stage.
"""

from __future__ import annotations

import builtins
import operator
from collections.abc import Callable, Iterator
from functools import cached_property
from types import FunctionType
from typing import Any, Protocol

from triptych.hooks import OPERATORS, UNARY
from triptych.metastage.calls.opaque_calls import check_advance
from triptych.metastage.calls.repeatability import note_walk
from triptych.metastage.trace.trace import Trace
from triptych.metastage.trace.user_code import ABSENT as NO_METHOD
from triptych.metastage.trace.user_code import (
    bound_method,
    class_entry,
    is_own,
    is_user_function,
    special_method,
    user_method,
)

Call = Callable[..., Any]

_BINARY = {
    "+": "add",
    "-": "sub",
    "*": "mul",
    "/": "truediv",
    "//": "floordiv",
    "%": "mod",
    "**": "pow",
    "<<": "lshift",
    ">>": "rshift",
    "&": "and",
    "|": "or",
    "^": "xor",
    "@": "matmul",
}
_REFLECTED = {"<": "gt", "<=": "ge", ">": "lt", ">=": "le", "==": "eq", "!=": "ne"}
_COMPARING = {"<": "lt", "<=": "le", ">": "gt", ">=": "ge", "==": "eq", "!=": "ne"}
_UNARY = {"-": "__neg__", "+": "__pos__", "~": "__invert__"}
_SEQUENCES = (list, tuple, str, bytes, bytearray)
_OF_ONE: dict[Any, str] = {
    builtins.len: "__len__",
    builtins.abs: "__abs__",
    builtins.iter: "__iter__",
    builtins.next: "__next__",
    builtins.reversed: "__reversed__",
    builtins.int: "__int__",
    builtins.float: "__float__",
    builtins.str: "__str__",
    builtins.repr: "__repr__",
    builtins.hash: "__hash__",
    builtins.round: "__round__",
    operator.index: "__index__",
}
_FUNCTIONS: dict[Any, str] = {
    **{getattr(operator, name): op for op, name in _COMPARING.items()},
    **{getattr(operator, name if name not in ("and", "or") else name + "_"): op for op, name in _BINARY.items()},
}
"""`operator.add` and its like, by the operator they stand for."""

ABSENT = object()
"""What an object has no special method of the user's for."""


class SpecialMethods:
    """Python's protocols for one trace; `call` traces a call, `native` lets Python evaluate an operator."""

    def __init__(self, call: Call, native: Call) -> None:
        self._call = call
        self._native = native
        self._plain: dict[type, bool] = {}

    def is_plain(self, cls: type) -> bool:
        """Whether a class has no code of the user's: Python's own operators and look-up are right for it."""
        known = self._plain.get(cls)
        if known is None:
            entries = (entry for base in cls.__mro__ for entry in base.__dict__.values())
            known = self._plain[cls] = cls is not super and not any(map(_has_user_code, entries))
        return known

    # operators --------------------------------------------------------------------------------------------------
    def operate(self, op: str, left: object, right: object) -> Any:
        """`left op right` for operators that the user's classes may define."""
        if self.is_plain(type(left)) and self.is_plain(type(right)):
            return self._native(OPERATORS[op], left, right)
        if op in ("is", "is not") or (op == "%" and isinstance(left, str | bytes)):
            return self._native(OPERATORS[op], left, right)
        own, reflected = _names(op)
        if op == "!=" and not any(user_method(type(x), "__ne__") for x in (left, right)):
            return self._unequal(left, right)
        if not (user_method(type(left), own) or user_method(type(right), reflected)):
            return self._native(OPERATORS[op], left, right)
        for method, other in self._attempts(op, own, reflected, left, right):
            outcome = self._call(method, other)
            if outcome is not NotImplemented:
                return outcome
        if op in ("==", "!="):
            return (left is right) is (op == "==")
        kinds = f"'{type(left).__name__}' and '{type(right).__name__}'"
        if op in _COMPARING:
            raise TypeError(f"'{op}' not supported between instances of {kinds}")
        raise TypeError(f"unsupported operand type(s) for {op}: {kinds}")

    def _attempts(self, op: str, own: str, reflected: str, left: object, right: object) -> Iterator[tuple[Any, Any]]:
        """The methods that may answer and their argument, in Python's order: a subclass on the right comes first."""
        first = special_method(type(left), own), left, right
        second = special_method(type(right), reflected), right, left
        derived = type(right) is not type(left) and issubclass(type(right), type(left))
        overrides = class_entry(type(right), reflected) is not class_entry(type(left), reflected)
        if derived and (op in _COMPARING or overrides):
            order = [second, first]
        elif type(left) is type(right) and op not in _COMPARING:
            order = [first]
        elif isinstance(left, _SEQUENCES) and not user_method(type(left), own):
            order = [second]  # sequences are asked to concatenate or repeat only after numbers have been
        else:
            order = [first, second]
        return ((bound_method(method, owner), other) for method, owner, other in order if method is not NO_METHOD)

    def _unequal(self, left: object, right: object) -> Any:
        """`!=` of a class that defines only `==` is its opposite, unless it inherits another one, as from `tuple`."""
        owners = [type(x) for x in (left, right) if user_method(type(x), "__eq__")]
        if not owners or any(cls.__ne__ is not object.__ne__ for cls in owners):
            return self._native(OPERATORS["!="], left, right)
        equal = self.operate("==", left, right)
        return not equal if isinstance(equal, bool) else equal ^ True

    def unary(self, op: str, operand: object) -> Any:
        method = user_method(type(operand), _UNARY[op])
        return UNARY[op](operand) if method is None else self._call(method, operand)

    def augmented(self, op: str, target: object) -> FunctionType | None:
        """The user's method for `target op= value`, if there is one."""
        return user_method(type(target), f"__i{_BINARY[op]}__")

    # functions --------------------------------------------------------------------------------------------------
    def function(self, function: object, args: tuple[Any, ...]) -> Any:
        """What a builtin function answers by a method of the user's; ABSENT if it does not."""
        if not args or (self.is_plain(type(args[0])) and (len(args) < 2 or self.is_plain(type(args[1])))):
            return ABSENT
        name = _OF_ONE.get(function)
        if name is not None:
            method = user_method(type(args[0]), name)
            return ABSENT if method is None else self._call(method, *args)
        op = _FUNCTIONS.get(function)
        return self.operate(op, *args) if op is not None and len(args) == 2 else ABSENT

    def truth(self, value: object) -> Any:
        """What decides whether an object is true: what its `__bool__` or `__len__` says."""
        for name in ("__bool__", "__len__"):
            method = user_method(type(value), name)
            if method is not None:
                return self._call(method, value)
            if class_entry(type(value), name) is not None:
                return value
        return value

    # attributes -------------------------------------------------------------------------------------------------
    def attribute(self, owner: object, name: str, keep: bool) -> Any:
        """`owner.name` where the class has properties, descriptors or `__getattr__` of the user's.

        `keep` says that a `cached_property` may be kept: not where a run-time condition decides if it is read.
        """
        cls = type(owner)
        if cls is super:
            return self._inherited(owner, name)
        if user_method(cls, "__getattribute__") is not None:
            return self._call(cls.__getattribute__, owner, name)
        entry = class_entry(cls, name)
        stored = getattr(owner, "__dict__", {})
        if isinstance(entry, property) and is_user_function(entry.fget):
            return self._call(entry.fget, owner)
        if isinstance(entry, cached_property) and is_user_function(entry.func):
            return self._cached(entry.func, owner, name, keep)
        get = user_method(type(entry), "__get__")
        if get is not None and (name not in stored or hasattr(type(entry), "__set__")):
            return self._call(get, entry, owner, cls)
        fallback = user_method(cls, "__getattr__")
        if fallback is None or entry is not None:
            return getattr(owner, name)
        try:
            return object.__getattribute__(owner, name)
        except AttributeError:
            return self._call(fallback, owner, name)

    # Any: a `super()`.
    def _inherited(self, owner: Any, name: str) -> Any:
        """`super().name`: a property of a base is traced as the object's own would be."""
        order, instance = owner.__self_class__.__mro__, owner.__self__
        bases = order[order.index(owner.__thisclass__) + 1 :]
        entry = next((vars(base)[name] for base in bases if name in vars(base)), None)
        if instance is owner.__self_class__:  # in a class method
            return getattr(owner, name)
        if isinstance(entry, property) and is_user_function(entry.fget):
            return self._call(entry.fget, instance)
        get = user_method(type(entry), "__get__")
        return getattr(owner, name) if get is None else self._call(get, entry, instance, owner.__self_class__)

    def _cached(self, function: Callable[..., Any], owner: object, name: str, keep: bool) -> Any:
        stored = owner.__dict__
        if name in stored:
            return stored[name]
        value = self._call(function, owner)
        if keep:
            stored[name] = value
        return value

    def setter(self, owner: object, name: str) -> tuple[Any, ...] | None:
        """The user's code that assigns an attribute, with what it takes before the value; None if there is none."""
        cls = type(owner)
        method = user_method(cls, "__setattr__")
        if method is not None:
            return method, owner, name
        entry = class_entry(cls, name)
        if isinstance(entry, property) and is_user_function(entry.fset):
            return entry.fset, owner
        assign = user_method(type(entry), "__set__")
        return None if assign is None else (assign, entry, owner)


def _names(op: str) -> tuple[str, str]:
    if op in _COMPARING:
        return f"__{_COMPARING[op]}__", f"__{_REFLECTED[op]}__"
    return f"__{_BINARY[op]}__", f"__r{_BINARY[op]}__"


def _has_user_code(entry: object) -> bool:
    """Whether a class entry is, or runs, a function of the user's."""
    if isinstance(entry, property):
        return any(map(is_user_function, (entry.fget, entry.fset, entry.fdel)))
    if isinstance(entry, cached_property):
        return is_user_function(entry.func)
    return is_user_function(entry) or user_method(type(entry), "__get__") is not None


_CONTAINERS = frozenset({list, tuple, dict, set, frozenset, str, bytes, range})


class TracesCalls(Protocol):
    """The hooks of a trace, as far as iteration asks."""

    trace: Trace

    def call(self, function: Callable[..., Any], /, *args: object, **kwargs: object) -> Any: ...


def items_of(hooks: TracesCalls, iterable: object) -> Any:
    """`iterable` as Python may iterate over it; advancing an iterator is a change of it."""
    kind = type(iterable)
    note_walk(hooks.trace, iterable)
    if kind in _CONTAINERS or is_own(kind):
        return iterable
    if user_method(kind, "__next__") is not None or user_method(kind, "__iter__") is not None:
        return _traced_items(hooks, iterable)
    if hasattr(kind, "__next__"):
        check_advance(hooks.trace, iterable)
    return iterable


def _traced_items(hooks: TracesCalls, iterable: object) -> Iterator[Any]:
    start = user_method(type(iterable), "__iter__")
    iterator = iterable if start is None else hooks.call(start, iterable)
    step = user_method(type(iterator), "__next__")
    if step is None:
        yield from items_of(hooks, iterator)
        return
    while True:
        try:
            item = hooks.call(step, iterator)
        except StopIteration:
            return
        yield item
