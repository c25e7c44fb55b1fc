"""Nothing is evaluated once by accident: each call of the table is right or refused, or is said to be meant once."""

from __future__ import annotations

import importlib.util
from pathlib import Path

import pytest

import triptych as tt
from tests.support.side_effect_calls import CALLS, TORCH_CALLS
from tests.support.side_effects import judge

RIGHT_AT_LEAST = 30


@pytest.mark.filterwarnings("ignore")
def test_no_call_happens_once_silently(tmp_path: Path) -> None:
    outcomes = list(judge(tmp_path, CALLS))
    assert [outcome for outcome in outcomes if outcome.verdict not in ("right", "refused")] == []
    assert sum(outcome.verdict == "right" for outcome in outcomes) >= RIGHT_AT_LEAST
    assert len(outcomes) >= 300


@pytest.mark.skipif(importlib.util.find_spec("torch") is None, reason="torch is not installed")
@pytest.mark.filterwarnings("ignore")
def test_no_call_of_torch_happens_once_silently(tmp_path: Path) -> None:
    outcomes = list(judge(tmp_path, TORCH_CALLS, "import torch\n\n\n"))
    assert [outcome for outcome in outcomes if outcome.verdict not in ("right", "refused")] == []


def test_calls_can_be_said_to_be_meant_once() -> None:
    seen: list[str] = []

    @tt.jit
    def traced(n: tt.Int32):  # type: ignore[no-untyped-def]  # noqa: ANN202
        if n > 0:
            tt.at_trace_time(seen.append, "branch")
        for _ in range(n):
            tt.at_trace_time(seen.append, "loop")
        return n

    assert traced(0) == 0
    assert seen == ["branch", "loop"]


def test_functions_of_a_library_can_be_marked() -> None:
    seen: list[str] = []

    @tt.trace_time
    def note(what: str) -> None:
        seen.append(what)

    @tt.jit
    def traced(n: tt.Int32):  # type: ignore[no-untyped-def]  # noqa: ANN202
        if n > 0:
            note("branch")
        return n

    assert traced(0) == 0
    assert seen == ["branch"]
