"""Tracebacks: an exception of the user's own code keeps the user's frames; a setting shows the framework's too."""

from __future__ import annotations

import traceback
from pathlib import Path
from typing import Any

import pytest

import triptych as tt
from triptych.support.config import override


def table(key: str) -> int:
    return {"a": 1}[key]


def indirect(key: str) -> int:
    return table(key)


@tt.jit
def uses_a_table(n: tt.Int32) -> Any:
    return n + indirect("b")


def frames(error: BaseException) -> list[tuple[str, str]]:
    return [(Path(frame.filename).name, frame.name) for frame in traceback.extract_tb(error.__traceback__)]


def call(function: Any, *args: Any) -> BaseException:
    with pytest.raises(Exception) as raised:  # noqa: PT011
        function(*args)
    return raised.value


def test_exception_of_a_helper_keeps_its_type_and_its_frames() -> None:
    error = call(uses_a_table, 1)
    assert type(error) is KeyError
    here = Path(__file__).name
    assert frames(error) == [(here, name) for name in ("call", "uses_a_table", "indirect", "table")]


def test_compile_and_explain_key_are_not_in_the_traceback() -> None:
    compiled = frames(call(tt.compile, uses_a_table, 1))
    assert [name for _, name in compiled] == ["call", "uses_a_table", "indirect", "table"]
    jitted: Any = uses_a_table
    assert frames(call(jitted.explain_key, "text")) == [(Path(__file__).name, "call")]


def test_setting_shows_every_frame() -> None:
    with override(full_traceback=True):
        names = {file for file, _ in frames(call(uses_a_table, 1))}
    assert "jitting.py" in names


def test_error_survives_being_raised_again_and_again() -> None:
    shown = [frames(call(uses_a_table, 1)) for _ in range(3)]
    assert shown[0] == shown[1] == shown[2]
