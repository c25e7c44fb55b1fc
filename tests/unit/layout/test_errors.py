"""What an error of the algebra says; that every class has a failing and a fixed program is a contract of the house."""

from __future__ import annotations

from pathlib import Path

import pytest

from triptych.layout import DivisibilityError, Layout, composition
from triptych.support.errors import TriptychError


def test_the_message_says_what_where_and_what_instead() -> None:
    with pytest.raises(DivisibilityError) as caught:
        composition(Layout((4, 3), (3, 1)), Layout(3, 3))
    text = str(caught.value)
    assert text.startswith("[TT0803] composition has no exact result\n")
    assert f"{Path(__file__).name}:" in text
    assert "composition(Layout((4, 3), (3, 1)), Layout(3, 3))" in text
    assert "= found: 3:3 in (4,3):(3,1)" in text
    assert "= expected: " in text
    assert "= write: " in text


def test_it_is_an_error_of_triptych_and_of_python() -> None:
    assert issubclass(DivisibilityError, TriptychError)
    assert issubclass(DivisibilityError, ValueError)
