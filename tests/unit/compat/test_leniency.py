"""What the public CuTe DSL takes without a look: an error here, and a warning where its programs run."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import pytest

import triptych as tt
from triptych.compat import leniency
from triptych.metastage.trace.errors import StaticRequiredError
from triptych.support.errors import TriptychWarning


@pytest.fixture
def lenient() -> Iterator[None]:
    undo = leniency.install()
    yield
    undo()


def chosen(x: Any, n: tt.Int32) -> Any:
    y = x if n > 0 else n
    return -y if isinstance(y, int) else y + 1


def test_a_question_for_an_int_is_an_error() -> None:
    with pytest.raises(StaticRequiredError, match="with Python's `int`"):
        tt.jit(chosen)(tt.Int32(5), 1)


def test_programs_of_the_public_language_are_answered(lenient: None) -> None:
    with pytest.warns(TriptychWarning, match="`isinstance` of a run-time number with Python's `int`: False"):
        assert tt.jit(chosen)(tt.Int32(5), 1) == 6
