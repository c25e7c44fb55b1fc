"""Elements as a debugger prints them: rows of a matrix one below the other, further modes one matrix after the other.

Input: numbers, or memory of a stopped program with a layout of plain integers. Output: objects that can be printed and
indexed, and never assigned.
"""

from __future__ import annotations

import itertools
from collections.abc import Callable, Iterator, Sequence
from typing import Any, NoReturn

from triptych.cute.memory.element_storage import Storage
from triptych.layout import (
    AnyLayout,
    ComposedLayout,
    Layout,
    Swizzle,
    crd2idx,
    make_layout,
    rank,
    size,
    text,
    tuple_add,
)
from triptych.metastage.debugger.frame_values import Lanes, decoded

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

    def at(self, coord: Any) -> Any:
        """An element by its coordinate, or by its number."""
        raise NotImplementedError

    def __getitem__(self, coord: Any) -> Any:
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
    assert isinstance(outer, Layout)
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

    def at(self, coord: Any) -> Any:
        layout = self.layout
        if not isinstance(self.iterator, MemoryView):
            return tuple_add(self.iterator, crd2idx(coord, layout))
        if isinstance(layout, ComposedLayout) and isinstance(layout.inner, Swizzle):
            inside: Any = tuple_add(layout.offset, crd2idx(coord, layout.outer))
            return self.iterator.element(int(layout.inner(inside)))
        return self.iterator.element(int(crd2idx(coord, layout)))  # type: ignore[arg-type]


class VectorView(_Elements):
    """A tensor that is a value, in registers."""

    def __init__(self, numbers: Sequence[Any], shape: Any, title: str, of_lanes: Callable[[], Lanes]) -> None:
        super().__init__(of_lanes)
        self._numbers = numbers
        self._title = title
        self.shape = shape
        self.layout = make_layout(shape)

    def title(self) -> str:
        return self._title

    def at(self, coord: Any) -> Any:
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

    def at(self, coord: Any) -> Any:
        where: Any = crd2idx(coord, make_layout(self.shape))
        return self._elements[where]
