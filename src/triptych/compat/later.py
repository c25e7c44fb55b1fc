"""Names that programs import and that are not here: they say so when they are used.

A program may import such a name, put members of it into tables, annotate with it, derive from it and decorate with it,
all of which it does before it knows which of its kernels will run.
"""

from __future__ import annotations

from collections.abc import Callable
from types import FunctionType
from typing import Any

from triptych.compat.errors import NotHereYetError
from triptych.support.tracebacks import caller


class Later:
    """Such a name, or a member of one; whoever calls it is told."""

    def __init__(self, name: str, refusal: Callable[[], NotHereYetError]) -> None:
        self._name = name
        self._refusal = refusal

    def __repr__(self) -> str:
        return f"<{self._name}, which is not here>"

    # Any: a member, as of an enumeration or a module.
    def __getattr__(self, name: str) -> Any:
        if name.startswith("__"):
            raise AttributeError(name)
        return Later(f"{self._name}.{name}", self._refusal)

    def __call__(self, *given: object, **named: object) -> Later:
        """As a decorator it gives what refuses when it is called."""
        if not named and len(given) == 1 and isinstance(given[0], FunctionType | type):
            return Later(given[0].__qualname__, self._refusal)
        raise self._refusal()

    def __getitem__(self, key: object) -> Later:
        return self

    def __or__(self, other: object) -> Later:
        return self

    __ror__ = __or__

    def __mro_entries__(self, bases: tuple[object, ...]) -> tuple[type, ...]:
        return ()


def builder_call(name: str, instead: str) -> Later:
    """A builder call of MLIR that programs make themselves, or an enumeration of such."""

    def refusal() -> NotHereYetError:
        return NotHereYetError(
            f"`{name}` is not here: a builder call that programs make themselves",
            span=caller(),
            found=name,
            expected="an operation of the language",
            instead=instead,
        )

    return Later(name, refusal)
