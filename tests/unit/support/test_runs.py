"""`support.runs`: stretches of neighbours, each with one step."""

from __future__ import annotations

import pytest

from triptych.support.runs import Run, runs


def found(places: list[int | None], *steps: int) -> list[tuple[int, int, int | None]]:
    def distance(place: int | None, other: int | None) -> int | None:
        return None if place is None or other is None else other - place

    return [(run.first, run.count, run.step) for run in runs(places, distance, steps)]


@pytest.mark.parametrize(
    ("places", "steps", "expected"),
    [
        ([], (1,), []),
        ([7], (1,), [(0, 1, None)]),
        ([0, 1, 2, 3], (1,), [(0, 4, 1)]),
        ([0, 1, 3, 4], (1,), [(0, 2, 1), (2, 2, 1)]),
        ([3, 2, 1], (1,), [(0, 1, None), (1, 1, None), (2, 1, None)]),
        ([0, 4, 8, 8, 8], (0, 4), [(0, 3, 4), (3, 2, 0)]),
        ([8, 8, 12, 16], (0, 4), [(0, 2, 0), (2, 2, 4)]),
        ([0, None, 1, 2], (1,), [(0, 1, None), (1, 1, None), (2, 2, 1)]),
    ],
)
def test_ranges(places: list[int | None], steps: tuple[int, ...], expected: list[tuple[int, int, int | None]]) -> None:
    assert found(places, *steps) == expected


def test_every_place_is_in_one_range() -> None:
    places: list[int | None] = [0, 4, 8, 9, 9, 13, 17, 17, 21]
    stretches = found(places, 0, 4)
    assert [i for first, count, _ in stretches for i in range(first, first + count)] == list(range(len(places)))


def test_a_distance_is_asked_for_once() -> None:
    asked: list[tuple[int, int]] = []

    def distance(place: int, other: int) -> int:
        asked.append((place, other))
        return other - place

    assert list(runs([0, 1, 5, 6], distance, (1,))) == [Run(0, 2, 1), Run(2, 2, 1)]
    assert asked == [(0, 1), (1, 5), (5, 6)]
