"""`n in range(...)` is what Python says, for every integer type and every start, stop and step."""

from __future__ import annotations

from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

import triptych as tt
from tests.support.examples import examples
from tests.unit.metastage.compiled import bounds, compiled, integers, outcome

NARROW = ("Int8", "Uint8")
WIDE = ("Int16", "Uint16", "Int32", "Uint32", "Int64", "Uint64")
NUMBERS = (-(2**70), -(2**31), -301, -200, -129, -128, -100, -3, -1, 0, 1, 2, 5, 120, 127, 128, 200, 255, 256, 2**63)
STEPS = (-(2**40), -300, -128, -7, -3, -2, -1, 1, 2, 3, 7, 127, 128, 255, 2**65)
RANGES = [range(start, stop, step) for start in NUMBERS for stop in NUMBERS[::3] for step in STEPS]


@pytest.mark.parametrize("name", NARROW)
def test_every_number_of_eight_bits(name: str) -> None:
    low, high = bounds(name)
    for first in range(0, len(RANGES), 200):
        ranges = RANGES[first : first + 200 : 3]

        def inside(n: Any) -> Any:
            return tuple([n in items for items in ranges])  # noqa: B023 - compiled at once

        native = compiled.__wrapped__(inside, name)
        for n in range(low, high + 1):
            assert native(n) == inside(n), (n, [r for r, a in zip(ranges, native(n), strict=True) if a is not (n in r)])


@pytest.mark.parametrize("name", WIDE)
def test_known_bounds(name: str) -> None:
    low, high = bounds(name)
    near = st.one_of(integers(name), st.integers(low - 2**9, high + 2**9), st.integers(-300, 300))
    steps = st.one_of(st.integers(-9, 9), st.integers(-high, high)).filter(bool)

    @examples(12)
    @given(st.lists(st.builds(range, near, near, steps), min_size=8, max_size=8), st.data())
    def law(ranges: list[range], data: st.DataObject) -> None:
        def inside(n: Any) -> Any:
            return tuple([n in items for items in ranges]), tuple([n not in items for items in ranges])

        native = compiled.__wrapped__(inside, name)
        for items in ranges:
            for n in (*items[:2], *items[-2:], data.draw(integers(name))):
                if low <= n <= high:
                    assert native(n) == inside(n)

    law()


def with_run_time_bounds(n: Any, start: Any, stop: Any) -> Any:
    return (
        n in range(stop),
        n in range(start, stop),
        n in range(start, stop, 7),
        n in range(start, stop, -1),
        n in range(start, stop, -(2**20)),
        n in range(start, 100, 3),
        n in range(2**40, stop, -5),
    )


@pytest.mark.parametrize("name", [*NARROW, *WIDE])
@pytest.mark.parametrize("other", ["Int8", "Uint16", "Int64"])
def test_run_time_bounds(name: str, other: str) -> None:
    native = compiled(with_run_time_bounds, name, other, name)

    @examples(60)
    @given(integers(name), integers(other), integers(name))
    def law(n: int, start: int, stop: int) -> None:
        assert native(n, start, stop) == with_run_time_bounds(n, start, stop)

    law()


def with_run_time_step(n: Any, start: Any, step: Any) -> Any:
    return (n in range(start, 100, step), n in range(100, start, step), 7 in range(start, 2**33, step))


@pytest.mark.parametrize("name", [*NARROW, *WIDE])
def test_run_time_steps(name: str) -> None:
    native = compiled(with_run_time_step, name, "Int32", name)

    @examples(60)
    @given(integers(name), integers("Int32"), integers(name))
    def law(n: int, start: int, step: int) -> None:
        assert outcome(native, n, start, step) == outcome(with_run_time_step, n, start, step)

    law()


RANGES_FOR_FLOATS = (range(0, 10, 2), range(-5, 2**70, 3), range(2**53, 2**54), range(10, -(2**64), -(2**60)), range(0))


def of_floats(x: Any) -> Any:
    return tuple([x in items for items in RANGES_FOR_FLOATS])


@pytest.mark.parametrize("name", ["Float32", "Float64"])
def test_floats(name: str) -> None:
    native = compiled(of_floats, name)
    numbers = (0.0, -0.0, 2.0, 2.5, 8.0, 10.0, -5.0, 2.0**53, 2.0**63, 2.0**69 + 2.0**50, -(2.0**63), 1e300)
    for x in (*numbers, float("inf"), -float("inf"), float("nan")):
        if name == "Float64" or abs(x) < 1e38 or x != x or abs(x) == float("inf"):
            shown = tt.compile(lambda x: x, tt.Float32.constant(1.0))(x) if name == "Float32" else x
            assert native(x) == _python(shown), x


def _python(x: float) -> tuple[bool, ...]:
    """Python compares a float with the items one by one, which takes too long for these ranges."""
    return tuple([x == x and abs(x) < 1e38 and int(x) == x and int(x) in items for items in RANGES_FOR_FLOATS])
