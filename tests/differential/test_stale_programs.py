"""Generated programs that read through every kind of object: after one change, the next call sees it.

`python -m benchmarks.stale_fuzz` runs thousands of them.
"""

from __future__ import annotations

import pytest

from tests.differential.choices import RandomChoices
from tests.differential.stale.generator import ELSEWHERE, StaleProgram, generate
from tests.differential.stale.judge import judge
from tests.differential.stale.kinds import LIBRARY, NESTED, NUMBERS
from tests.differential.stale.routes import ROUTES
from tests.unit.fingerprint.programs import modules

PROGRAMS = 60


@pytest.mark.parametrize("seed", range(PROGRAMS))
def test_a_change_is_seen_by_the_next_call(seed: int) -> None:
    failure = judge(generate(RandomChoices(seed)))
    assert failure is None, failure.report


def test_nearly_all_programs_see_their_change_in_python() -> None:
    """Otherwise they would show nothing."""
    seen = [_sees_its_change(generate(RandomChoices(seed))) for seed in range(400)]
    assert sum(seen) >= 0.98 * len(seen)


def test_programs_come_from_all_routes_and_kinds() -> None:
    sources = [generate(RandomChoices(seed)).source for seed in range(3000)]
    for kind in (*NESTED, *NUMBERS):
        made = kind.made.partition("#")[0]
        assert any(made in source for source in sources), kind
    for route in ROUTES:
        start = route.strip().partition("{")[0]
        assert any(start in source for source in sources), route


def _sees_its_change(program: StaleProgram) -> bool:
    with modules(kinds=LIBRARY, elsewhere=ELSEWHERE, stale=program.source) as made:
        stale = vars(made["stale"])
        try:
            before = stale["plain"]()
            stale["change"]()
            return bool(stale["plain"]() != before)
        except (TypeError, AttributeError):
            return False


def test_a_stale_result_is_found() -> None:
    """The judge itself: a function that keeps its first answer."""
    source = """
answers = []
VALUE = 1
def plain(): return VALUE
def compiled():
    answers.append(VALUE)
    return answers[0]
def change():
    global VALUE
    VALUE = 2
"""
    failure = judge(StaleProgram(source))
    assert failure is not None
    assert failure.kind == "after the change: another result"
