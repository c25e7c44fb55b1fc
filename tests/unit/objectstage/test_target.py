from __future__ import annotations

import pytest

from triptych.objectstage.errors import UnknownOptionError, UnknownTargetError
from triptych.objectstage.target import CompileOptions, find_target


def test_the_cpu_target_is_found_by_name() -> None:
    target = find_target("cpu")
    assert target.name == "cpu"
    assert target is find_target("cpu")
    assert target.info()["llvmlite"]


def test_every_pass_says_why_it_is_there() -> None:
    assert all(spec.why.endswith(".") for spec in find_target("cpu").pipeline())


def test_an_unknown_target_is_refused_with_a_suggestion() -> None:
    with pytest.raises(UnknownTargetError, match="'cpuu'") as caught:
        find_target("cpuu")
    assert "cpu" in caught.value.instead


def test_options_by_name() -> None:
    assert CompileOptions.of({"opt_level": 0}) == CompileOptions(0)
    assert CompileOptions.of({}) == CompileOptions(3)


@pytest.mark.parametrize("level", [-1, 4, 1.0, True, "3"])
def test_levels_outside_the_range_are_refused(level: object) -> None:
    with pytest.raises(UnknownOptionError, match="opt_level"):
        CompileOptions.of({"opt_level": level})


def test_an_unknown_option_is_refused_with_a_suggestion() -> None:
    with pytest.raises(UnknownOptionError, match="opt_levle") as caught:
        CompileOptions.of({"opt_levle": 1})
    assert "opt_level" in caught.value.instead
