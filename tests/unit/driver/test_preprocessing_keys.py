"""A method of the preprocessor that a program replaces is part of what its functions mean: guards and keys have it."""

from __future__ import annotations

import ast
from typing import Any

import triptych as tt
from triptych.prestage.preprocessing import DSLPreprocessor


def chosen(always_taken: tt.Boolean, x: tt.Int32) -> Any:
    y = x
    if always_taken:
        y = x * 10
    return y


def test_compiled_code_follows_what_is_there() -> None:
    """The same function object, by its guards, and a second one, by its key."""
    preprocessor: Any = DSLPreprocessor
    original = preprocessor.visit_If

    def always(self: Any, node: ast.If) -> Any:
        node.test = ast.Constant(True)
        return original(self, node)

    f = tt.jit(chosen)
    assert f(False, 7) == 7
    preprocessor.visit_If = always
    try:
        assert f(False, 7) == 70
        assert tt.jit(chosen)(False, 7) == 70
    finally:
        preprocessor.visit_If = original
    assert f(False, 7) == 7
    assert tt.jit(chosen)(False, 7) == 7
