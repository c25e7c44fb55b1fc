"""Operation protocol of copy and MMA atoms: an operation of a program's own that lacks a method says which."""

from __future__ import annotations

from typing import Self

from triptych.cute.tracing.errors import IncompleteOperationError
from triptych.driver.boundary import for_user
from triptych.support.tracebacks import caller


class Operation:
    """Complete, or refused when it is made."""

    __slots__ = ()

    def __new__(cls, *_: object, **__: object) -> Self:
        try:
            _check_complete(cls)
        except IncompleteOperationError as error:
            for_user(error)
            raise
        return super().__new__(cls)


def _check_complete(cls: type[Operation]) -> None:
    missing = sorted(getattr(cls, "__abstractmethods__", ()))
    if not missing:
        return
    first, protocol = missing[0], next(base for base in reversed(cls.__mro__) if _is_protocol(base))
    is_property = isinstance(getattr(protocol, first, None), property)
    raise IncompleteOperationError(
        f"the operation {cls.__name__} is not complete",
        span=caller(),
        found=f"a class without {', '.join(f'`{name}`' for name in missing)}",
        expected=f"all that `{protocol.__name__}` says an operation has",
        instead=f"`{first} = ...`, or a property of that name" if is_property else f"`def {first}(self, ...):`",
    )


def _is_protocol(base: type) -> bool:
    return bool(base.__dict__.get("__abstractmethods__"))
