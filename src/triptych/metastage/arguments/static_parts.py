"""Static parts of an argument in its key: attributes that do not cross to run time.

An object that crosses by a protocol says which values are its parts, not where it has them from. Being the same object
is no proof: every 5 is one 5. So a copy of the object is asked again with marks in the places of its parts, and an
attribute is dynamic where its mark comes back.
"""

from __future__ import annotations

import dataclasses
from collections.abc import Callable, Sequence
from typing import Any
from weakref import WeakKeyDictionary

from triptych.support.instances import slot_names

_BY_VALUE = frozenset({type(None), bool, int, str, bytes})
_MOST_ITEMS = 64
"""Containers with more items are not searched for parts."""
_DEEPEST = 4

DYNAMIC = "dynamic"


def identity(value: object) -> Any:
    """What tells static values apart: equal for the same constants of the same types, else the address.

    The one who uses an address keeps the object, and a guard watches its content.
    """
    found = _constant(value)
    return id(value) if found is None else found


# Any: told apart by its exact class; so in all of this file.
def _constant(value: Any) -> tuple[Any, ...] | None:
    """A constant by its value; exact types, because a subclass may carry more than the value it inherits."""
    kind = type(value)
    if kind in _BY_VALUE:
        return kind, value
    if kind is float:
        return kind, repr(value)  # 0.0 == -0.0
    if kind is tuple:
        items = value
    elif _is_frozen(kind) and (not hasattr(value, "__dict__") or len(vars(value)) == len(dataclasses.fields(value))):
        items = [getattr(value, field.name) for field in dataclasses.fields(value)]
    else:
        return None
    found = [_constant(item) for item in items]
    return None if None in found else (kind, *found)


def _is_frozen(kind: type) -> bool:
    parameters = vars(kind).get("__dataclass_params__")
    return parameters is not None and parameters.frozen and kind.__bases__ == (object,)


class StaticKey:
    """A static object in a key: told apart by `identity`, and known by its content where keys outlive the process."""

    __slots__ = ("_identity", "value")

    def __init__(self, value: object) -> None:
        self.value = value
        self._identity = identity(value)

    def __cache_key__(self) -> Any:
        return self.value

    def __eq__(self, other: object) -> bool:
        return isinstance(other, StaticKey) and self._identity == other._identity

    def __hash__(self) -> int:
        return hash(self._identity)


class _Mark:
    """Stands for a part. A part may itself be asked for its parts by the protocol of public programs."""

    __slots__ = ()

    def __c_pointers__(self) -> list[Any]:
        return [self]


_SLOTS: WeakKeyDictionary[type, tuple[str, ...]] = WeakKeyDictionary()


def attributes(value: object) -> dict[str, Any]:
    """All that an object holds by name, in its dictionary and in slots."""
    held = getattr(value, "__dict__", {})
    slots = _slots(type(value))
    return {**{name: getattr(value, name) for name in slots if hasattr(value, name)}, **held} if slots else held


def _slots(cls: type) -> tuple[str, ...]:
    """Remembered: a class keeps the slots that it was made with."""
    found = _SLOTS.get(cls)
    if found is None:
        found = _SLOTS[cls] = tuple(slot_names(cls))
    return found


def static_part(value: Any, parts_of: Callable[[Any], Sequence[Any]], parts: Sequence[Any]) -> tuple[Any, ...]:
    """What distinguishes two objects that have equal parts; a class may say it by `__cache_key__`."""
    if hasattr(type(value), "__cache_key__"):
        return (StaticKey(value.__cache_key__()),)
    state = attributes(value)
    marked = {name: _marked(held, parts) for name, held in state.items()}
    returned = _ask_again(value, marked, parts_of)
    return tuple((name, _pattern(held, marked[name], returned)) for name, held in state.items())


def _ask_again(value: object, marked: dict[str, Any], parts_of: Callable[[Any], Sequence[Any]]) -> Sequence[Any]:
    """The parts of a copy with marks. Whoever computes with those fails, and then nothing is known to be a part."""
    try:
        copied = object.__new__(type(value))
        for name, held in marked.items():
            object.__setattr__(copied, name, held)
        return parts_of(copied)
    except Exception:  # the class's own code, on values that it was not made for
        return ()


def _marked(held: Any, parts: Sequence[Any], depth: int = 0) -> Any:
    if any(held is part for part in parts):
        return _Mark()
    kind = type(held)
    if kind not in (tuple, list, dict) or len(held) > _MOST_ITEMS or depth == _DEEPEST:
        return held
    items = list(held.values()) if kind is dict else list(held)
    found = [_marked(item, parts, depth + 1) for item in items]
    if all(now is before for now, before in zip(found, items, strict=True)):
        return held
    return dict(zip(held, found, strict=True)) if kind is dict else kind(found)


def _pattern(held: Any, marked: Any, returned: Sequence[Any]) -> Any:
    """The object without what is dynamic in it."""
    if marked is held:
        return StaticKey(held)
    if type(marked) is _Mark:
        return DYNAMIC if any(marked is part for part in returned) else StaticKey(held)
    if type(held) is dict:
        return (dict, *((StaticKey(name), _pattern(held[name], marked[name], returned)) for name in held))
    return (type(held), *(_pattern(*pair, returned) for pair in zip(held, marked, strict=True)))
