"""The fast walk visits what `ast.walk` visits, apart from contexts and operators."""

from __future__ import annotations

import ast
import inspect
from types import ModuleType

import pytest

from triptych.prestage import build, flow, function, statements
from triptych.prestage.build import children, descendants

LEAVES = (ast.expr_context, ast.boolop, ast.operator, ast.unaryop, ast.cmpop)


@pytest.mark.parametrize("module", [flow, function, statements, build, ast])
def test_every_node_with_content_is_visited_once(module: ModuleType) -> None:
    tree = ast.parse(inspect.getsource(module))
    assert set(descendants([tree])) == {node for node in ast.walk(tree) if not isinstance(node, LEAVES)}


def test_children_come_in_source_order() -> None:
    call = ast.parse("f(a, *b, k=c, **d)", mode="eval").body
    assert [ast.unparse(child) for child in children(call)] == ["f", "a", "*b", "k=c", "**d"]


def test_what_is_not_a_node_is_left_out() -> None:
    display = ast.parse("{**a, 1: 2}", mode="eval").body
    assert [ast.unparse(child) for child in children(display)] == ["1", "a", "2"]
    declaration = ast.parse("global x").body[0]
    assert children(declaration) == []


def test_one_may_say_what_lies_below() -> None:
    tree = ast.parse("f(g(x))", mode="eval").body
    assert descendants([tree], lambda node: []) == [tree]
