"""Object-stage, function -> names: what the annotations mention that Python has not evaluated.

Annotations that are still text, and annotations of local variables and nested functions, decide binding times
(`n: Constexpr`), so rebinding a name in one of them changes what is compiled.
"""

from __future__ import annotations

import ast
from collections.abc import Iterator
from functools import lru_cache
from types import FunctionType

from triptych.fingerprint.bytecode_names import Chain
from triptych.fingerprint.function_source import definition, text_of
from triptych.support.parsing import parse_expression

_REMEMBERED = 256
"""Functions whose annotations are not looked for again."""


def annotation_names(function: FunctionType) -> frozenset[Chain]:
    """Dotted names in the annotations of `function` and of everything written in its body."""
    own = frozenset(chain for text in _unevaluated(function) for chain in _dotted_names_of_text(text))
    return own | _names_inside(text_of(function), function.__code__.co_name)


@lru_cache(maxsize=_REMEMBERED)
def _names_inside(text: str, name: str) -> frozenset[Chain]:
    tree = definition(text, name)
    if tree is None:
        return frozenset()
    return frozenset(chain for annotation in _inside(tree) for chain in _dotted_names(annotation))


def _unevaluated(function: FunctionType) -> list[str]:
    try:
        return [value for value in function.__annotations__.values() if isinstance(value, str)]
    except NameError:
        # Python 3.14 evaluates on demand, and a name may be missing.
        return []


def _inside(tree: ast.FunctionDef | ast.AsyncFunctionDef) -> Iterator[ast.expr]:
    """Not the function's own signature: that one is in `__annotations__`, evaluated or as text."""
    for statement in tree.body:
        for node in ast.walk(statement):
            match node:
                case ast.AnnAssign(annotation=annotation) | ast.arg(annotation=ast.expr() as annotation):
                    yield annotation
                case ast.FunctionDef(returns=ast.expr() as annotation):
                    yield annotation


def _dotted_names(expression: ast.expr) -> Iterator[Chain]:
    """`a.b[c]` gives (a, b) and (c,)."""
    attributes: list[str] = []
    node = expression
    while isinstance(node, ast.Attribute):
        attributes.append(node.attr)
        node = node.value
    if isinstance(node, ast.Name):
        yield (node.id, *reversed(attributes))
    elif isinstance(node, ast.Constant):
        yield from _dotted_names_of_text(node.value)
    else:
        for child in ast.iter_child_nodes(node):
            if isinstance(child, ast.expr):
                yield from _dotted_names(child)


def _dotted_names_of_text(text: object) -> Iterator[Chain]:
    if not isinstance(text, str):
        return
    try:
        parsed = parse_expression(text)
    except SyntaxError:
        return
    yield from _dotted_names(parsed)
