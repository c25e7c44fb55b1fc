"""Tensors of a stopped thread, as a debugger shows them: memory read through the layout, when it is asked for.

Input: tensors, pointers and layouts while a build for a debugger is traced. Output: what shows them at run time.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from triptych.cute.dynamic.layout_values import unknowns
from triptych.cute.dynamic.traced_integers import realize
from triptych.cute.memory.element_storage import Storage, storage_of
from triptych.cute.tensors.shown_elements import MemoryView, TensorView, VectorView
from triptych.layout import Swizzle, substitute
from triptych.metastage.debugger.debug_variables import DebugVariables
from triptych.metastage.debugger.frame_values import Kept, Lane, Lanes, Missing, Number, Shown
from triptych.metastage.values.scalars import Numeric

_MOST_ELEMENTS = 1024
"""Of a value in registers: each takes a word of every thread."""


@dataclass(frozen=True, slots=True)
class _Integers:
    """A layout, or integers, over run-time numbers."""

    value: Any
    numbers: dict[str, Number]

    def show(self, lane: Lane) -> Any:
        return substitute(self.value, {name: int(number.of(lane)) for name, number in self.numbers.items()})


def shown_integers(value: Any, snapshot: DebugVariables) -> Shown:
    """A layout, or an integer of one."""
    found = {unknown.name: snapshot.number(unknown.number) for unknown in unknowns(value)}
    return _Integers(value, found) if found else Kept(value)


@dataclass(frozen=True, slots=True)
class _Memory:
    """A pointer: words of its address, and for swizzled memory how many bytes it lies after that."""

    slot: int
    distance: Shown
    swizzle: Swizzle | None
    absolute: bool
    """Whether the swizzle permutes addresses themselves."""
    storage: Storage
    title: str

    def show(self, lane: Lane) -> MemoryView:
        distance = int(self.distance.show(lane))
        words = lane.word(self.slot), lane.word(self.slot + 1)
        return MemoryView(lane.read, *words, distance, self.swizzle, self.absolute, self.storage, self.title)


def shown_pointer(pointer: Any, snapshot: DebugVariables) -> Shown:
    """A pointer."""
    storage, title = storage_of(pointer.dtype), str(pointer)
    if pointer.swizzle is not None and pointer.origin is not None:
        pointer._checked()  # of a region that has ended: an error
        distance = realize(pointer.origin.distance)
        kept: Shown = snapshot.number(distance) if isinstance(distance, Numeric) else Kept(distance)
        return _Memory(snapshot.address(pointer.origin.address), kept, pointer.swizzle, False, storage, title)
    return _Memory(snapshot.address(pointer.ir_value()), Kept(0), pointer.swizzle, True, storage, title)


@dataclass(frozen=True, slots=True)
class _Tensor:
    memory: Shown
    layout: Shown

    def show(self, lane: Lane) -> TensorView:
        return TensorView(self.memory.show(lane), self.layout.show(lane), lambda: self._lanes(lane))

    def _lanes(self, lane: Lane) -> Lanes:
        return Lanes({each.thread: self.show(each) for each in lane.warp() if each.active})


def shown_tensor(tensor: Any, snapshot: DebugVariables) -> Shown:
    """A tensor: its elements stay where they are. One of coordinates is its first coordinate and its layout."""
    layout = shown_integers(tensor.layout, snapshot)
    if hasattr(tensor.iterator, "dtype"):
        return _Tensor(shown_pointer(tensor.iterator, snapshot), layout)
    return _Tensor(shown_integers(tensor.iterator, snapshot), layout)


@dataclass(frozen=True, slots=True)
class _Vector:
    numbers: list[Number]
    shape: Any
    title: str

    def show(self, lane: Lane) -> VectorView:
        return VectorView(
            [number.of(lane) for number in self.numbers], self.shape, self.title, lambda: self._lanes(lane)
        )

    def _lanes(self, lane: Lane) -> Lanes:
        return Lanes({each.thread: self.show(each) for each in lane.warp() if each.active})


def shown_vector(value: Any, snapshot: DebugVariables) -> Shown:
    """A tensor that is a value: its elements are kept."""
    title = f"tensor value of {value.dtype.__name__}, shape {value.shape}"
    if value.size > _MOST_ELEMENTS:
        return Kept(Missing(f"{title}: more than {_MOST_ELEMENTS} elements are not kept"))
    return _Vector(snapshot.numbers(value.ir_value(), value.size, value.dtype.info), value.shape, title)
