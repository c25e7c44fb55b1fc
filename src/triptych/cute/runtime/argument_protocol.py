"""The argument protocol of public programs, for the tensors and pointers that their classes are made of.

A class that crosses by this protocol asks what it holds for pointers and types, and gives the values on when it is
rebuilt. Here an argument is one such pointer: itself.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from triptych.metastage.arguments.argument_kinds import ArgumentKind


class PublicArgument:
    """Something with a kind of its own, as a part of another object."""

    __slots__ = ()

    __argument_kind__: Any

    def __c_pointers__(self) -> list[Any]:
        return [self]

    def __get_mlir_types__(self) -> list[ArgumentKind]:
        return [self.__argument_kind__]

    def __new_from_mlir_values__(self, values: Sequence[Any]) -> Any:
        """What stands for this argument in traced code."""
        (value,) = values
        return value
