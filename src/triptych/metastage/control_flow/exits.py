"""Exit flags that together are certain: each is known only at run time, but one of them is always raised."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from triptych.hooks import Get
from triptych.metastage.values.scalars import Boolean
from triptych.metastage.values.truth import is_dynamic


class ExitFlag(Boolean):
    """A run-time flag of a group of which one is always raised."""

    __slots__ = ("group",)

    group: list[ExitFlag]
    """All flags of the group."""


def exhaustive(flags: tuple[Any, ...]) -> tuple[Any, ...]:
    """The flags, marked as covering every path together."""
    if any(flag is True for flag in flags):
        return flags
    group: list[ExitFlag] = []
    marked = tuple(_marked(flag, group) if isinstance(flag, Boolean) and flag.is_dynamic else flag for flag in flags)
    return marked if len(group) > 1 else tuple(True if is_dynamic(flag) else flag for flag in flags)


def _marked(flag: Boolean, group: list[ExitFlag]) -> ExitFlag:
    assert flag._region is not None
    marked = ExitFlag.of(flag.ir_value(), flag._region)
    marked.group = group
    group.append(marked)
    return marked


def is_left(flags: Sequence[Any]) -> bool:
    """Whether one of the flags is certainly raised, or they include a whole group."""
    return any(flag is True for flag in flags) or any(
        all(any(member is flag for flag in flags) for member in flag.group)
        for flag in flags
        if isinstance(flag, ExitFlag)
    )


def is_raised(flags: Sequence[int], get: Get) -> bool:
    """Whether one of the flags at these positions among the variables is up, known while tracing."""
    values = get()
    return any(values[flag] is True for flag in flags)
