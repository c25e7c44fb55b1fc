"""Registrations of a class: `ABC.register` changes what `isinstance` says of others.

A class says so of the classes that are registered with it or with a class derived from it. Those that a release pins
are as their release made them; which of them are there depends on what a process has imported, and says nothing.
"""

from __future__ import annotations

import abc
from collections.abc import Callable, Iterator
from typing import Any

from triptych.fingerprint.releases import import_name, is_framework, release

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
