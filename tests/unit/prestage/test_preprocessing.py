"""What programs change in the trees of their functions before these are rewritten."""

from __future__ import annotations

import ast
from collections.abc import Iterator
from types import FunctionType
from typing import Any

import pytest

from triptych.hooks import REPLACED_VISITORS, PythonHooks
from triptych.prestage.preprocessing import DSLPreprocessor
from triptych.prestage.refuse import UnsupportedSyntaxError
from triptych.prestage.rewrite import rewrite

PREPROCESSOR: Any = DSLPreprocessor
ORIGINAL_IF = PREPROCESSOR.visit_If


@pytest.fixture(autouse=True)
def put_back() -> Iterator[None]:
    yield
    PREPROCESSOR.visit_If = ORIGINAL_IF
    if "visit_Constant" in vars(PREPROCESSOR):
        del PREPROCESSOR.visit_Constant
    assert not REPLACED_VISITORS


def run(function: Any, *args: object) -> Any:
    assert isinstance(function, FunctionType)
    return rewrite(function).bind(PythonHooks())(*args)


def always(self: Any, node: ast.If) -> Any:
    """`if` of a name that begins with `always_` has no condition."""
    if isinstance(node.test, ast.Name) and node.test.id.startswith("always_"):
        node.test = ast.Constant(True)
    return ORIGINAL_IF(self, node)


def chosen(always_taken: bool, x: int) -> int:
    y = x
    if always_taken:
        y = x * 10
        if x > 5:
            y = y + 1
    return y


def test_a_method_that_a_program_replaces_is_called() -> None:
    assert run(chosen, False, 7) == 7
    PREPROCESSOR.visit_If = always
    assert run(chosen, False, 7) == 71
    assert run(chosen, False, 3) == 30
    PREPROCESSOR.visit_If = ORIGINAL_IF
    assert run(chosen, False, 7) == 7


def test_inner_statements_and_nested_functions_are_visited() -> None:
    seen = []

    def noted(self: Any, node: ast.If) -> Any:
        seen.append(ast.unparse(node.test))
        return ORIGINAL_IF(self, node)

    def f(x: int) -> int:
        def inner(y: int) -> int:
            if y > 1:
                y = y - 1
            elif y < -1:
                y = y + 1
            return y

        for i in range(3):
            if i < x:
                x = inner(x)
        return x

    PREPROCESSOR.visit_If = noted
    assert run(f, 9) == 6
    assert sorted(seen) == ["i < x", "y < -1", "y > 1"]


def test_new_nodes_have_places() -> None:
    def doubled(self: Any, node: ast.Constant) -> Any:
        return ast.BinOp(node, ast.Mult(), ast.Constant(2)) if node.value == 21 else node

    PREPROCESSOR.visit_Constant = doubled
    assert run(lambda x: x + 21, 1) == 43


def test_what_a_program_puts_in_is_refused_as_what_it_writes() -> None:
    def yielding(self: Any, node: ast.If) -> Any:
        return ast.Expr(ast.Yield())

    PREPROCESSOR.visit_If = yielding
    with pytest.raises(UnsupportedSyntaxError):
        run(chosen, False, 7)
