"""Meta-stage, objects of the language without run-time values: they cross branches, loops and launches unchanged."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, Self


class StaticExpression:
    """Known while tracing as a whole: crosses as the Python object that it is."""

    __slots__ = ()

    def __extract_mlir_values__(self) -> list[Any]:
        return []

    def __new_from_mlir_values__(self, values: Sequence[Any]) -> Self:
        return self

    def __static_part__(self) -> Self:
        return self
