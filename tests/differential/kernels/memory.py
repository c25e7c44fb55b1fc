"""Memory of the reference machine: tensors of numbers that notice races.

A cell remembers who touched it when. Two threads that touch a cell, one of them writing, must be ordered by a barrier:
a generated kernel that breaks this has no single right answer and is a mistake of the generator.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from math import prod
from typing import Any

import numpy as np
from numpy.typing import NDArray

from tests.differential.kernels.program import NUMPY_TYPES
from tests.differential.kernels.typed import Number, NumberType, converted


class RaceError(Exception):
    """Two threads touched a cell with no barrier between them, or none has written what one reads."""


@dataclass(frozen=True, slots=True)
class Moment:
    """Who touches memory, and how many barriers came before."""

    block: int
    barriers: int
    warp: int
    warp_barriers: int
    thread: int

    def is_ordered_with(self, other: Moment) -> bool:
        """Whether nothing about the schedule can exchange the two."""
        if self.block != other.block:
            return False
        if self.thread == other.thread or self.barriers != other.barriers:
            return True
        return self.warp == other.warp and self.warp_barriers != other.warp_barriers


class Cells:
    """Numbers by position, shared by threads."""

    def __init__(self, dtype: NumberType, values: list[Any], now: Callable[[], Moment], is_checked: bool) -> None:
        self.dtype = dtype
        self.values = values
        self._now = now
        self._is_checked = is_checked
        self._written: dict[int, Moment] = {}
        self._read: dict[int, list[Moment]] = {}

    def load(self, at: int) -> Number:
        value = self.values[at]
        if value is None:
            raise RaceError(f"cell {at} is read before it is written")
        if self._is_checked:
            now = self._now()
            written = self._written.get(at)
            if written is not None and not now.is_ordered_with(written):
                raise RaceError(f"cell {at}: {now} reads what {written} wrote")
            self._read.setdefault(at, []).append(now)
        return converted(self.dtype.info, value)

    def store(self, at: int, value: Any) -> None:
        if self._is_checked:
            now = self._now()
            written = self._written.get(at)
            for other in (*self._read.pop(at, ()), *([written] if written is not None else ())):
                if not now.is_ordered_with(other):
                    raise RaceError(f"cell {at}: {now} writes what {other} touched")
            self._written[at] = now
        assert not isinstance(value, Number) or value.info is self.dtype.info, f"{value} into {self.dtype.info.name}"
        self.values[at] = self.dtype(value).value


@dataclass(frozen=True, slots=True)
class Pointer:
    """The place of one cell."""

    cells: Cells
    at: int

    def __add__(self, offset: Any) -> Pointer:
        return Pointer(self.cells, self.at + offset.__index__())

    def update(self, combine: Callable[[Any, Any], Any], value: Any) -> None:
        """An atomic whose order does not matter: what others do at the same time is no race."""
        before = converted(self.cells.dtype.info, self.cells.values[self.at])
        self.cells.values[self.at] = self.cells.dtype(combine(before, value)).value


class Tensor:
    """Cells with a shape; the last mode is contiguous, as in the arrays they come from."""

    def __init__(self, cells: Cells, shape: tuple[int, ...]) -> None:
        self.cells = cells
        self.shape = shape
        self.iterator = Pointer(cells, 0)

    def __getitem__(self, coordinate: Any) -> Number:
        return self.cells.load(self._position(coordinate))

    def __setitem__(self, coordinate: Any, value: Any) -> None:
        self.cells.store(self._position(coordinate), value)

    def fill(self, value: Any) -> None:
        for at in range(prod(self.shape)):
            self.cells.store(at, value)

    def _position(self, coordinate: Any) -> int:
        parts = coordinate if isinstance(coordinate, tuple) else (coordinate,)
        position = 0
        for part, extent in zip(parts, self.shape, strict=True):
            index = part.__index__()
            assert 0 <= index < extent, f"{coordinate} is outside {self.shape}"
            position = position * extent + index
        return position


def tensor_of(dtype: NumberType, array: NDArray[np.generic], now: Callable[[], Moment]) -> Tensor:
    """A tensor in global memory."""
    return Tensor(Cells(dtype, array.reshape(-1).tolist(), now, is_checked=True), array.shape)


def array_of(tensor: Tensor) -> NDArray[np.generic]:
    """What a tensor holds."""
    return np.array(tensor.cells.values, NUMPY_TYPES[tensor.cells.dtype.info.name]).reshape(tensor.shape)
