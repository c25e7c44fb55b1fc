"""The algebra on run-time integers, compiled and run, gives the static answer.

Input: static layouts, some of whose integers become arguments. Output: one compiled function for each structure, called
with many integers and compared everywhere with the static operation on the same numbers. A need that fails at run
time must be one without which the static operation has no result either, or one that could not be decided before.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

import triptych as tt
from tests.support.examples import examples
from tests.support.layouts import compact_layouts, divisor_of, fitting, gaps_filled, layouts, values
from triptych import layout
from triptych.cute import checked_layouts, realize, traced_int
from triptych.diagnostics.runtime_errors import LayoutRequirementError
from triptych.layout import Layout
from triptych.layout.tuples import flat

tl: Any = layout  # typed for dynamic integers too; the tests know which ones are static

MOST_EVALUATIONS = 96
compiled_structures = examples(20)  # 70 ms for each structure, most of it in LLVM


@dataclass(frozen=True)
class Slot:
    """The place of an integer that is an argument; extents are at least 1."""

    position: int
    extent: bool


class Arguments:
    """Integers of static values replaced by slots, and what they were."""

    def __init__(self, data: st.DataObject) -> None:
        self.data = data
        self.numbers: list[int] = []
        self.extents: list[bool] = []

    def hide(self, value: Any, *, extent: bool = False) -> Any:
        if isinstance(value, Layout):
            return self.hide(value.shape, extent=True), self.hide(value.stride)
        if isinstance(value, tuple):
            return tuple(self.hide(item, extent=extent) for item in value)
        if value < 0 or self.data.draw(st.sampled_from([True, False])):
            return value
        self.numbers.append(value)
        self.extents.append(extent)
        return Slot(len(self.numbers) - 1, extent)

    def variants(self) -> Iterator[tuple[int, ...]]:
        """The numbers themselves, then some of them changed."""
        yield tuple(self.numbers)
        for _ in range(4):
            changed = list(self.numbers)
            for position, extent in enumerate(self.extents):
                if self.data.draw(st.sampled_from([True, False, False])):
                    changed[position] = self.data.draw(st.integers(1, 8) if extent else st.integers(0, 24))
            yield tuple(changed)


def filled(template: Any, fill: Callable[[Slot], Any]) -> Any:
    if isinstance(template, Slot):
        return fill(template)
    return tuple(filled(item, fill) for item in template) if isinstance(template, tuple) else template


def operand(template: Any, fill: Callable[[Slot], Any]) -> Any:
    """A template of a layout is a pair of tuples or of integers; any other is an integer."""
    parts = filled(template, fill)
    return Layout(*parts) if isinstance(parts, tuple) else parts


def compiled(operation: Callable[..., Any], templates: list[Any], numbers: tuple[int, ...]) -> Any:
    """(numbers, index) -> the size of the result, and the result at the index."""

    def run(arguments: Any, index: tt.Int32) -> Any:
        def traced(slot: Slot) -> Any:
            return traced_int(arguments[slot.position], lower=1 if slot.extent else None)

        with checked_layouts():
            result = operation(*(operand(template, traced) for template in templates))
        return realize(tl.size(result)), realize(result(traced_int(index)))

    return tt.compile(run, numbers, 0, opt_level=0)


def found_by(function: Any, numbers: tuple[int, ...]) -> list[int] | None:
    """The compiled result everywhere, or None when a need does not hold."""
    try:
        length, _ = function(numbers, 0)
    except LayoutRequirementError:
        return None
    return [function(numbers, index)[1] for index in range(min(length, MOST_EVALUATIONS))]


def expected_of(operation: Callable[..., Any], templates: list[Any], numbers: tuple[int, ...]) -> list[int] | None:
    """The static result everywhere, or None when there is none."""
    try:
        result = operation(*(operand(template, lambda slot: numbers[slot.position]) for template in templates))
    except (tl.LayoutError, ZeroDivisionError):
        return None
    return [result(index) for index in range(min(tl.size(result), MOST_EVALUATIONS))]


def divided_by_mode(data: st.DataObject) -> tuple[Any, ...]:
    static = tl.flatten(data.draw(compact_layouts()))
    tiler = tuple(divisor_of(data, extent) for extent in flat(static.shape))
    return lambda whole: tl.zipped_divide(whole, tiler), static


def divided(data: st.DataObject) -> tuple[Any, ...]:
    static = data.draw(compact_layouts())
    return tl.logical_divide, static, divisor_of(data, tl.size(static))


def multiplied(data: st.DataObject) -> tuple[Any, ...]:
    small = compact_layouts(padding=False).filter(lambda static: tl.size(static) <= 16)
    return tl.logical_product, data.draw(compact_layouts()), data.draw(small)


def composed(data: st.DataObject) -> tuple[Any, ...]:
    left = data.draw(layouts())
    return tl.composition, left, data.draw(fitting(left))


OPERATIONS: dict[str, Callable[[st.DataObject], tuple[Any, ...]]] = {
    "coalesce": lambda data: (tl.coalesce, data.draw(layouts())),
    "composition": composed,
    "logical_divide": divided,
    "zipped_divide by mode": divided_by_mode,
    "logical_product": multiplied,
}


@pytest.mark.parametrize("name", OPERATIONS)
def test_operation(name: str) -> None:
    outcomes = {"compared": 0, "refused": 0}

    @compiled_structures
    @given(st.data())
    def compare(data: st.DataObject) -> None:
        operation, *static = OPERATIONS[name](data)
        arguments = Arguments(data)
        templates = [arguments.hide(value, extent=True) for value in static]
        try:
            function = compiled(operation, templates, tuple(arguments.numbers))
        except tl.LayoutError:
            return  # whatever the run-time integers are, there is no result
        for numbers in arguments.variants():
            found, expected = found_by(function, numbers), expected_of(operation, templates, numbers)
            outcomes["refused" if found is None else "compared"] += 1
            assert found is None or found == expected

    compare()
    assert outcomes["compared"] > outcomes["refused"]


@compiled_structures
@given(st.data())
def test_complement(data: st.DataObject) -> None:
    """An extent that turns out to be 1 leaves a choice, so the promise is checked, not the static result."""
    static = data.draw(compact_layouts())
    arguments = Arguments(data)
    templates = [arguments.hide(static), Slot(len(arguments.numbers), True)]
    try:
        function = compiled(tl.complement, templates, (*arguments.numbers, 1))
    except tl.OverlapError:
        return  # two modes of one stride overlap unless an extent is 1
    image = values(static)
    for target in data.draw(st.lists(st.integers(1, 300), min_size=1, max_size=4)):
        offsets = found_by(function, (*arguments.numbers, target))
        if offsets is not None:
            together = {a + b for a in image for b in offsets}
            assert offsets == sorted(set(offsets))
            assert len(together) == len(offsets) * len(image)
            enough = len(offsets) == MOST_EVALUATIONS or not gaps_filled(static)
            assert enough or max(together) + 1 >= target


@compiled_structures
@given(st.data())
def test_right_inverse(data: st.DataObject) -> None:
    """A dynamic stride may make the inverse shorter, never wrong."""
    arguments = Arguments(data)
    template = arguments.hide(data.draw(compact_layouts()))
    function = compiled(tl.right_inverse, [template], tuple(arguments.numbers))
    for numbers in arguments.variants():
        static = operand(template, lambda slot, numbers=numbers: numbers[slot.position])  # type: ignore[misc]
        inverse = found_by(function, numbers)
        assert inverse is not None
        assert [static(coordinate) for coordinate in inverse] == list(range(len(inverse)))


@compiled_structures
@given(st.data())
def test_coordinates_and_indices(data: st.DataObject) -> None:
    arguments = Arguments(data)
    template = arguments.hide(data.draw(layouts()))

    def run(numbers: Any, index: tt.Int32) -> Any:
        traced = operand(template, lambda slot: traced_int(numbers[slot.position], lower=1 if slot.extent else None))
        coordinate = tl.idx2crd(traced_int(index), traced.shape)
        return (*flat(realize(coordinate)), realize(tl.crd2idx(coordinate, traced)))

    function = tt.compile(run, tuple(arguments.numbers), 0, opt_level=0)
    for numbers in arguments.variants():
        static = operand(template, lambda slot, numbers=numbers: numbers[slot.position])  # type: ignore[misc]
        for index in data.draw(st.lists(st.integers(-4, 2 * tl.size(static)), min_size=1, max_size=8)):
            coordinate = tl.idx2crd(index, static.shape)
            assert function(numbers, index) == (*flat(coordinate), static(index))


@pytest.mark.parametrize("text", ["S<3,4,3> o 0 o (64,64):(64,1)", "S<2,1,-3> o 5 o (8,(4,4)):(1,(8,32))"])
def test_swizzled_layouts(text: str) -> None:
    swizzled = tl.parse(text)

    def run(row: tt.Int32, column: tt.Int32) -> Any:
        return realize(swizzled((traced_int(row), traced_int(column))))

    function = tt.compile(run, 0, 0, opt_level=0)
    for row in range(8):
        assert [function(row, column) for column in range(16)] == [swizzled((row, column)) for column in range(16)]
