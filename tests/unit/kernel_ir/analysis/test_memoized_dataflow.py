"""`simt.bottom_up`: facts of values that follow from facts of their sources, however long the chain."""

from __future__ import annotations

from triptych.kernel_ir.analysis.addresses import fact


def depth(value: int, known: dict[int, int], made: list[int]) -> int:
    def conclude(found: int) -> int:
        made.append(found)
        return 1 + max((known[source] for source in sources(found)), default=0)

    def sources(found: int) -> list[int]:
        return [found // 2, found // 3] if found else []

    return fact(value, known, sources, conclude)


def test_sources_come_first_and_each_is_concluded_once() -> None:
    known: dict[int, int] = {}
    made: list[int] = []
    assert depth(12, known, made) == 5
    assert made[-1] == 12
    assert sorted(made) == sorted(set(made)) == [0, 1, 2, 3, 4, 6, 12]


def test_what_is_known_is_not_asked_again() -> None:
    known = {6: 100, 4: 7}
    made: list[int] = []
    assert depth(12, known, made) == 101
    assert made == [12]
    assert depth(12, known, made) == 101
    assert made == [12]


def test_chains_are_longer_than_any_stack() -> None:
    known: dict[int, int] = {}
    assert fact(50_000, known, lambda n: [n - 1] if n else [], lambda n: n) == 50_000
    assert len(known) == 50_001
