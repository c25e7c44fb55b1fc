"""Instance contents: attributes, slots, the builtin value it extends, or what pickling would write.

Python-made objects show their state. Objects made in C hide it, and their own pickling description is the only complete
account; objects that cannot be pickled (locks, files, generators) have no content to compare.

Whether the order of a set is the same in every process: text, classes and most objects have another hash in each. Sets
of numbers, and of tuples of numbers, are walked in an order that follows from how they were made.
"""

from __future__ import annotations

import copyreg
import struct
import sys
from collections.abc import Callable, Collection
from types import MemberDescriptorType, NoneType
from typing import Any

POINTER = struct.calcsize("P")


class _Plain:
    """The size of an instance that hides nothing, in this version of Python."""


BUILTIN_CONTENT: dict[type, Callable[[Any], object]] = {
    int: int.__int__,
    float: float.__float__,
    complex: complex.__complex__,
    str: str.__str__,
    bytes: lambda value: bytes.__getitem__(value, slice(None)),
    tuple: lambda value: tuple(tuple.__iter__(value)),
    list: lambda value: list(list.__iter__(value)),
    dict: lambda value: dict(dict.items(value)),
    set: lambda value: set(set.__iter__(value)),
    frozenset: lambda value: frozenset(frozenset.__iter__(value)),
}
"""Through the builtin's own methods: a subclass may have replaced them."""


def visible_state(value: object) -> dict[str, object]:
    """Attributes and slots by name, results of a `cached_property` among them: they may have been assigned."""
    state = {name: getattr(value, name) for name in slot_names(type(value)) if hasattr(value, name)}
    state |= getattr(value, "__dict__", {})
    return {name: state[name] for name in sorted(state)}


def slot_names(cls: type) -> list[str]:
    """Names declared in `__slots__`, of the class and its bases."""
    return [name for base in cls.__mro__ for name, entry in vars(base).items() if _is_slot(base, entry)]


def _is_slot(base: type, entry: object) -> bool:
    return isinstance(entry, MemberDescriptorType) and "__slots__" in vars(base)


def builtin_content(value: object) -> object:
    """For a subclass of `int`, `tuple`, `dict` ...: the value as that builtin; None for other objects."""
    for builtin, content in BUILTIN_CONTENT.items():
        if isinstance(value, builtin):
            return content(value)
    return None


def hides_state(cls: type) -> bool:
    """True when instances are larger than their attributes and slots explain: a base written in C keeps data there."""
    explained = _Plain.__basicsize__ + POINTER * len(slot_names(cls))
    return cls.__itemsize__ > 0 or cls.__basicsize__ > explained


def is_frozen_dataclass(cls: type) -> bool:
    """Instances that do not change after they are made."""
    parameters = getattr(cls, "__dataclass_params__", None)
    return parameters is not None and bool(parameters.frozen)


def pickling_description(value: object) -> str | tuple[object, ...]:
    """What `pickle` would write: a global name, or (maker, arguments, state, items, pairs); it may raise anything."""
    reduce = copyreg.dispatch_table.get(type(value))
    # Protocol 4: the last one that never hands out raw buffers.
    described = reduce(value) if reduce is not None else value.__reduce_ex__(4)
    if isinstance(described, str):
        return described
    maker, arguments, state, items, pairs = (*described, None, None, None)[:5]
    return maker, arguments, _fixed(state), tuple(items or ()), tuple(pairs or ())


def _fixed(state: object) -> object:
    """Attributes come in a dictionary, alone or with the slots in a pair, made for pickling: nothing to watch."""
    if type(state) is dict:
        return tuple(state.items())
    return tuple(map(_fixed, state)) if type(state) is tuple else state


_NUMBERS = frozenset({bool, int, complex})


def has_own_order(elements: Collection[object]) -> bool:
    """Whether walking a set shows an order that only this process has."""
    return len(elements) > 1 and not all(map(_is_hashed_alike, elements))


def _is_hashed_alike(value: object) -> bool:
    kind = type(value)
    if kind in _NUMBERS:
        return True
    if kind is float:
        return value == value  # a NaN is hashed by its address
    if kind is NoneType:
        return sys.version_info >= (3, 12)  # before, by its address
    return kind in (tuple, frozenset) and all(map(_is_hashed_alike, value))  # type: ignore[call-overload]
