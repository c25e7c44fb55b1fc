"""What runs when: the staging rules that `examples/stages.py` shows, one by one."""

from __future__ import annotations

import importlib
from collections.abc import Callable
from typing import Any

import pytest

import triptych as tt

META, RUN = "[meta-stage] result = {}\n", "[run time]   result = {}\n"


@pytest.fixture
def function(request: pytest.FixtureRequest) -> Any:
    """A function of the example that nobody has called yet: decorated anew, so that nothing is compiled."""
    return tt.jit(getattr(importlib.import_module("examples.stages"), request.param).function)


def printed(capsys: pytest.CaptureFixture[str], run: Callable[[], object]) -> str:
    run()
    return capsys.readouterr().out


@pytest.mark.parametrize(
    ("function", "at_meta_stage", "at_run_time"),
    [
        ("add_dynamicexpr", META.format("?"), ""),
        ("add_constexpr", META.format("7.0"), ""),
        ("add_hybrid", META.format("?"), RUN.format("7.000000")),
    ],
    indirect=["function"],
)
def test_each_print_runs_at_its_stage(
    function: Any, at_meta_stage: str, at_run_time: str, capsys: pytest.CaptureFixture[str]
) -> None:
    dynamic = () if "constexpr" in function.__name__ or "hybrid" in function.__name__ else (5.0,)
    assert printed(capsys, lambda: function(5.0)) == at_meta_stage + at_run_time, "a direct call does both"
    assert printed(capsys, lambda: function(5.0)) == at_run_time, "a cache hit traces nothing"
    assert printed(capsys, lambda: tt.compile(function, 5.0)) == "", "compiling again finds it as well"
    compiled = tt.compile(function, 5.0)
    assert printed(capsys, lambda: compiled(*dynamic)) == at_run_time, "the compiled function only runs"


@pytest.mark.parametrize("function", ["add_hybrid"], indirect=True)
def test_compiling_runs_only_the_meta_stage(function: Any, capsys: pytest.CaptureFixture[str]) -> None:
    assert printed(capsys, lambda: tt.compile(function, 5.0)) == META.format("?")
    assert printed(capsys, lambda: function(5.0)) == RUN.format("7.000000")


@pytest.mark.parametrize("function", ["add_constexpr"], indirect=True)
def test_another_constant_is_another_specialization(function: Any, capsys: pytest.CaptureFixture[str]) -> None:
    assert printed(capsys, lambda: function(5.0)) == META.format("7.0")
    assert printed(capsys, lambda: function(6.0)) == META.format("8.0")
    assert printed(capsys, lambda: function(5.0)) == ""
