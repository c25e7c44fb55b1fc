"""Debugger views of tensors: memory of a stopped thread read through the layout, when it is asked for.

Input: tensors, pointers and layouts while a build for a debugger is traced. Output: what shows them at run time, as
objects that can be printed and indexed, and never assigned: rows of a matrix one below the other, further modes one
matrix after the other.
"""

from __future__ import annotations

import itertools
from collections.abc import Callable, Iterator, Sequence
from typing import Any, NoReturn

from triptych.cute.dynamic.layout_values import unknowns
from triptych.cute.dynamic.traced_integers import realize
from triptych.cute.memory.element_storage import Storage, storage_of
from triptych.cute.memory.pointers import Pointer
from triptych.layout import (
    AnyLayout,
    ComposedLayout,
    Coord,
    Layout,
    Shape,
    Swizzle,
    crd2idx,
    make_layout,
    rank,
    size,
    substitute,
    text,
    tuple_add,
)
from triptych.metastage.debugger.debug_variables import DebugVariables
from triptych.metastage.debugger.frame_values import Kept, Lane, Lanes, Missing, Number, Shown, decoded
from triptych.metastage.values.scalars import Numeric
from triptych.support.dataclass import dataclass

_MOST_KEPT = 4096
_MOST_ROWS, _MOST_COLUMNS, _MOST_MATRICES = 32, 32, 8


class _Unreadable:
    def __repr__(self) -> str:
        return "?"


UNREADABLE = _Unreadable()
"""An element of memory that is not there."""


class MemoryView:
    """Elements after an address of the process."""

    def __init__(
        self,
        read: Callable[[int, int], bytes | None],
        address: int,
        form: int,
        distance: int,
        swizzle: Swizzle | None,
        absolute: bool,
        storage: Storage,
        title: str,
    ) -> None:
        self._read = read
        self._address = address
        self._unit, self._row = form >> 32, form & (1 << 32) - 1
        self._distance = distance
        self._swizzle = swizzle
        self._absolute = absolute
        self._storage = storage
        self._title = title

    def __repr__(self) -> str:
        return f"{self._title} at {self._address + self._distance:#x}"

    @property
    def title(self) -> str:
        """What it is, without the address."""
        return self._title

    def element(self, offset: int) -> Any:
        """The element `offset` elements further."""
        info = self._storage.dtype.info
        if self._storage.is_packed:
            first, bit = divmod(offset * info.width, 8)
            count = -(-(bit + info.width) // 8)
        else:
            first, bit, count = offset * self._storage.group_bytes, 0, self._storage.group_bytes
        found = [self._byte(first + i) for i in range(count)] if self._unit else [self._bytes(first, count)]
        if any(part is None for part in found):
            return UNREADABLE
        bits = int.from_bytes(b"".join(part for part in found if part is not None), "little")
        return decoded(bits >> bit, info)

    def _bytes(self, first: int, count: int) -> bytes | None:
        return self._read(self._place(first), count)

    def _byte(self, offset: int) -> bytes | None:
        """Of an array of the thread that lies unit by unit between those of the other lanes."""
        unit, rest = divmod(offset, self._unit)
        return self._read(self._address + unit * self._row + rest, 1)

    def _place(self, offset: int) -> int:
        """The address behind a swizzle."""
        if self._swizzle is None:
            return self._address + offset
        if self._absolute:
            return int(self._swizzle(self._address + offset))
        return self._address + int(self._swizzle(self._distance + offset))


class _Elements:
    """What can be printed as matrices and asked for `lanes`."""

    layout: AnyLayout

    def __init__(self, of_lanes: Callable[[], Lanes]) -> None:
        self._of_lanes = of_lanes

    def of_lanes(self) -> Lanes:
        """The same name in the active threads of the warp."""
        return self._of_lanes()

    def title(self) -> str:
        raise NotImplementedError

    def at(self, coord: Coord) -> Any:
        """An element by its coordinate, or by its number."""
        raise NotImplementedError

    def __getitem__(self, coord: Coord) -> Any:
        return self.at(coord)

    def __setitem__(self, coord: object, value: object) -> NoReturn:
        raise TypeError("values of a kernel can be looked at in a debugger, not changed")

    def __len__(self) -> int:
        return int(size(self.layout))  # type: ignore[arg-type]

    def __iter__(self) -> Iterator[Any]:
        return map(self.at, range(len(self)))

    def __repr__(self) -> str:
        return "\n".join([f"{self.title()} =", *self._lines()])

    def kept(self) -> _Elements:
        """The same elements, which stay when their memory is gone; of a large tensor the first."""
        elements = [self.at(i) for i in range(min(len(self), _MOST_KEPT))]
        elements += [UNREADABLE] * (len(self) - len(elements))
        return KeptElements(elements, self.layout, self.title())

    def _lines(self) -> Iterator[str]:
        extents = [int(size(mode)) for mode in _modes(self.layout)]  # type: ignore[arg-type]
        if len(extents) == 1:
            yield _row(self.at, extents[0])
            return
        rows, columns, *others = extents
        matrices = list(itertools.islice(itertools.product(*map(range, reversed(others))), _MOST_MATRICES + 1))
        for place in matrices[:_MOST_MATRICES]:
            rest = tuple(reversed(place))
            if rest:
                yield f"(_,_,{','.join(map(str, rest))}):"
            for i in range(min(rows, _MOST_ROWS)):
                yield _row(lambda j, i=i, rest=rest: self.at((i, j, *rest)), columns)  # type: ignore[misc]
            if rows > _MOST_ROWS:
                yield f"  … {rows - _MOST_ROWS} rows more"
        if len(matrices) > _MOST_MATRICES:
            yield "…"


def _modes(layout: AnyLayout) -> Sequence[Any]:
    outer = layout.outer if isinstance(layout, ComposedLayout) else layout
    assert isinstance(outer, Layout), "the outer layout of a composition is plain"
    return [outer[i] for i in range(rank(outer))] if isinstance(outer.shape, tuple) else [outer]


def _row(element: Callable[[int], Any], count: int) -> str:
    shown = [_text(element(i)) for i in range(min(count, _MOST_COLUMNS))]
    more = ["…"] if count > _MOST_COLUMNS else []
    return f"  ( {' '.join(shown + more)} )"


def _text(value: object) -> str:
    return f"{value:g}" if isinstance(value, float) else text(value) if isinstance(value, tuple) else repr(value)


class TensorView(_Elements):
    """A tensor in memory, or of coordinates."""

    def __init__(self, iterator: Any, layout: AnyLayout, of_lanes: Callable[[], Lanes]) -> None:
        super().__init__(of_lanes)
        self.iterator = iterator
        self.layout = layout

    @property
    def shape(self) -> Any:
        """Its extents."""
        return self.layout.shape

    def title(self) -> str:
        iterator = self.iterator.title if isinstance(self.iterator, MemoryView) else text(self.iterator)
        return f"tensor<{iterator} o {self.layout}>"

    def at(self, coord: Coord) -> Any:
        layout = self.layout
        if not isinstance(self.iterator, MemoryView):
            return tuple_add(self.iterator, crd2idx(coord, layout))
        if isinstance(layout, ComposedLayout) and isinstance(layout.inner, Swizzle):
            inside: Any = tuple_add(layout.offset, crd2idx(coord, layout.outer))
            return self.iterator.element(int(layout.inner(inside)))
        return self.iterator.element(int(crd2idx(coord, layout)))  # type: ignore[arg-type]


class VectorView(_Elements):
    """A tensor that is a value, in registers."""

    def __init__(self, numbers: Sequence[Any], shape: Shape, title: str, of_lanes: Callable[[], Lanes]) -> None:
        super().__init__(of_lanes)
        self._numbers = numbers
        self._title = title
        self.shape = shape
        self.layout = make_layout(shape)

    def title(self) -> str:
        return self._title

    def at(self, coord: Coord) -> Any:
        return self._numbers[int(crd2idx(coord, self.layout))]  # type: ignore[arg-type]


class KeptElements(_Elements):
    """Elements of memory that is gone."""

    def __init__(self, elements: Sequence[Any], layout: AnyLayout, title: str) -> None:
        super().__init__(Lanes)
        self._elements = elements
        self.layout = layout
        self.shape = layout.shape
        self._title = title

    def title(self) -> str:
        return self._title

    def at(self, coord: Coord) -> Any:
        where: Any = crd2idx(coord, make_layout(self.shape))
        return self._elements[where]


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


def shown_pointer(pointer: Pointer, snapshot: DebugVariables) -> Shown:
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
    if isinstance(tensor.iterator, Pointer):
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
