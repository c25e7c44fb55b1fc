"""A program gives and leaves behind the same in every process, whatever a store has of it.

`python -m benchmarks.store_laws` runs thousands of them.
"""

from __future__ import annotations

from pathlib import Path

from tests.differential.choices import RandomChoices
from tests.laws.store.judge import STARTS, judge
from tests.laws.store.pieces import EFFECTS, ORDERS, PROCESS
from tests.laws.store.programs import generate

PROGRAMS = 24


def test_programs_are_the_same_with_and_without_the_store(tmp_path: Path) -> None:
    counts, failures = judge(tmp_path, 1, PROGRAMS)
    assert not failures, "\n\n".join(failures[:3])
    assert sum(counts.values()) == PROGRAMS * len(STARTS)


def test_every_piece_is_drawn() -> None:
    sources = "".join(generate(RandomChoices(seed), 0).source for seed in range(9000))
    for piece in (*EFFECTS, *PROCESS, *ORDERS[:48]):
        start = max(piece.lines.replace("S", "E").split("E"), key=len)
        assert start.split("; ")[0] in sources, piece
