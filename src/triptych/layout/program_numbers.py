"""Numbers of a program as coordinates of a layout: they become integers of the algebra, and its answers numbers again.

A language registers the class of its numbers. Without it a layout would compute with them as the program does, and
what is exact in the algebra would wrap where the type of the number ends.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from triptych.layout.integers import Int

_KINDS: dict[type, tuple[Callable[[Any], Int], Callable[[Any], Any]]] = {}


def register_numbers(kind: type, integer: Callable[[Any], Int], number: Callable[[Any], Any]) -> None:
    """Let layouts take numbers of a class: `integer` makes an integer of the algebra of one, `number` a number."""
    _KINDS[kind] = (integer, number)


def answer_in_numbers(function: Callable[[Any], Any], coord: object) -> Any:
    """`function(coord)`, computed by the algebra whether or not there are numbers of a program in the coordinate."""
    for kind, (integer, number) in _KINDS.items():
        if _has(coord, kind):
            return number(function(_changed(coord, kind, integer)))
    return function(coord)


def _has(coord: object, kind: type) -> bool:
    return any(_has(item, kind) for item in coord) if isinstance(coord, tuple) else isinstance(coord, kind)


def _changed(coord: object, kind: type, integer: Callable[[Any], Int]) -> Any:
    if isinstance(coord, tuple):
        return tuple(_changed(item, kind, integer) for item in coord)
    return integer(coord) if isinstance(coord, kind) else coord
