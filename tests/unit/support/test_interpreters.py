"""What a sub-interpreter is told; tests/integration/test_subinterpreters.py starts real ones."""

from __future__ import annotations

import pytest

from triptych.support.forking import SubinterpreterError, check_interpreter


def test_only_the_main_interpreter_goes_on() -> None:
    check_interpreter(0)
    with pytest.raises(SubinterpreterError, match="main interpreter") as raised:
        check_interpreter(3)
    assert "sub-interpreter 3" in str(raised.value)
    assert "multiprocessing" in str(raised.value)
