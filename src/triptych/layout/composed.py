"""Composed layouts: inner(offset + outer(coordinate)), for what no single shape and stride can say.

Input: an inner function (layout or swizzle), an offset, an outer layout. Output: a function like a layout.
The outer layout owns the domain, so every operation on modes works on it and leaves the rest alone.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, TypeAlias, TypeVar

from triptych.layout.coordinates import evaluate
from triptych.layout.errors import ProfileError
from triptych.layout.integers import is_static
from triptych.layout.layout import Layout
from triptych.layout.notation import Reader
from triptych.layout.number_operators import answer_in_numbers
from triptych.layout.picture import draw_svg, fits_a_picture, index_grid
from triptych.layout.swizzle import Swizzle
from triptych.layout.tuples import Coord, IntTuple, Modes, tuple_add, tuple_text
from triptych.support.dataclass import dataclass

Inner: TypeAlias = Layout | Swizzle | Callable[[Any], Any]
"""What the indices of the outer layout go through; a function of the user's own can only be evaluated."""


@dataclass(frozen=True, slots=True)
class ComposedLayout:
    """inner o offset o outer."""

    inner: Inner
    offset: IntTuple
    outer: Layout

    @classmethod
    def parse(cls, text: str) -> ComposedLayout:
        """A composed layout from its notation, `S<3,4,3> o 0 o (8,8):(8,1)`."""
        reader = Reader(text)
        composed = read_composed(reader)
        reader.finish()
        if not isinstance(composed, ComposedLayout):
            reader.fail("a composed layout is written inner o offset o outer")
        return composed

    @property
    def known_inner(self) -> Layout | Swizzle:
        """The inner function for who must know more of it than its values."""
        if isinstance(self.inner, Layout | Swizzle):
            return self.inner
        raise ProfileError(
            "a layout with a function of your own inside can only be evaluated",
            found=str(self),
            expected="a layout or a swizzle inside",
        )

    @property
    def value(self) -> ComposedLayout:
        """What builder calls (`cutlass._mlir.dialects`) take for it: itself."""
        return self

    @property
    def shape(self) -> Modes:
        """The shape of the domain."""
        return self.outer.shape

    @property
    def is_static(self) -> bool:
        """Whether every integer inside is known now."""
        known = isinstance(self.inner, Layout | Swizzle) and self.inner.is_static
        return known and is_static(self.offset) and self.outer.is_static

    def __call__(self, coord: Coord) -> IntTuple:
        """The index of a coordinate of the outer layout."""
        index: IntTuple = answer_in_numbers(lambda inside: self.from_outer(self.outer(inside)), coord)
        return index

    def from_outer(self, value: IntTuple) -> IntTuple:
        """What the offset and the inner function make of a value of the outer layout."""
        moved = tuple_add(self.offset, value)
        if isinstance(self.inner, Layout):
            return evaluate(moved, self.inner.shape, self.inner.stride)
        if isinstance(self.inner, Swizzle) and isinstance(moved, tuple):
            raise ProfileError("a swizzle permutes integers, not coordinates", found=str(moved))
        index: IntTuple = self.inner(moved)  # type: ignore[arg-type]  # a tuple only for functions
        return index

    def with_outer(self, outer: Layout) -> ComposedLayout:
        """The same inner function and offset over another outer layout."""
        return ComposedLayout(self.inner, self.offset, outer)

    def __getitem__(self, mode: int) -> ComposedLayout:
        return self.with_outer(self.outer[mode])

    def __len__(self) -> int:
        return len(self.outer)

    def __str__(self) -> str:
        inner = self.inner if isinstance(self.inner, Layout | Swizzle) else getattr(self.inner, "__name__", self.inner)
        return f"{inner} o {tuple_text(self.offset)} o {self.outer}"

    def __repr__(self) -> str:
        return f"ComposedLayout({self})"

    def _repr_svg_(self) -> str | None:
        """A picture for notebooks, when the layout is static and not too large."""
        return draw_svg(index_grid(self)) if fits_a_picture(self) and self.is_static else None


AnyLayout: TypeAlias = Layout | ComposedLayout
L = TypeVar("L", Layout, ComposedLayout, Layout | ComposedLayout)


def make_composed_layout(inner: Inner, offset: IntTuple, outer: Layout) -> ComposedLayout:
    """inner o offset o outer."""
    return ComposedLayout(inner, offset, outer)


def on_outer(layout: L, function: Callable[[Layout], Layout]) -> L:
    """Apply a function of layouts to a layout, or to the outer part of a composed one."""
    if isinstance(layout, ComposedLayout):
        return layout.with_outer(function(layout.outer))
    return function(layout)


def read_composed(reader: Reader) -> Layout | ComposedLayout | Swizzle:
    """A layout, a swizzle, or a composition of three parts, at the cursor."""
    inner: Layout | Swizzle
    inner = Swizzle(*reader.swizzle()) if reader.peek().startswith("S<") else Layout(*reader.layout())
    if not reader.skip("o"):
        return inner
    offset = reader.nested(lower=None)
    reader.take("o")
    return ComposedLayout(inner, offset, Layout(*reader.layout()))
