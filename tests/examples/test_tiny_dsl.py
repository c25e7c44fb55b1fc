"""The second language: its programs mean what the same functions mean in Python, and its rules hold."""

from __future__ import annotations

import ast
import importlib
import re
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

import triptych as tt
from triptych import dsl
from triptych.metastage.trace.errors import StaticRequiredError

SOURCE = Path(__file__).resolve().parents[2] / "examples" / "tiny_dsl.py"
tiny: Any = importlib.import_module("examples.tiny_dsl")
fixed, Fix = tiny.fixed, tiny.Fix
fix: Callable[[Callable[..., Any]], Any] = tiny.fix

RAW = st.integers(tiny.LOWEST, tiny.HIGHEST)


@fix
def mixed(a: Any, b: Any) -> Any:
    """Every operation and every kind of control flow of the language."""
    for i in range(3):
        if a < b:
            a = a * 1.5 + i
            continue
        if a.raw == b.raw:
            break
        b = b - a if not b < 1 else b + 0.25
        if b < -100:
            return a - b
    return a + b


@given(RAW, RAW)
def test_compiled_agrees_with_python(a: int, b: int) -> None:
    assert mixed(Fix(a), Fix(b)) == mixed.function(Fix(a), Fix(b))


@given(st.integers(0, 30000 * tiny.ONE))
def test_square_root(raw: int) -> None:
    root = tiny.square_root(Fix(raw), 24)
    assert root == tiny.square_root.function(Fix(raw), 24)
    assert abs(float(root) ** 2 - raw / tiny.ONE) < 0.01


@pytest.mark.parametrize("name", ["mixed", "square_root"])
def test_the_machine_never_jumps(name: str) -> None:
    function, arguments = {
        "mixed": (mixed, (fixed(1), fixed(2))),
        "square_root": (tiny.square_root, (fixed(2), 5)),
    }[name]
    compiled = tt.compile(function, *arguments)
    assert "scf." not in compiled.mlir
    assert "cf." not in compiled.mlir
    assert "fix.select" in compiled.mlir
    assert "fix." not in compiled.lowered
    (body,) = re.findall(rf"^define internal [^\n]*@{name}\.body\(.*?^}}", compiled.llvm, re.MULTILINE | re.DOTALL)
    assert " br " not in body


def test_effects_in_a_branch_are_refused_at_their_line() -> None:
    @fix
    def prints(x: Any) -> Any:
        if x < 1:
            tt.printf("small\n")
        return x

    with pytest.raises(tiny.JumpError, match="an effect inside an `if`") as failure:
        prints(fixed(0))
    assert failure.value.span.line == prints.function.__code__.co_firstlineno + 3


def test_while_is_refused_at_its_line() -> None:
    @fix
    def loops(x: Any) -> Any:
        while x < 1:
            x = x + x
        return x

    with pytest.raises(tiny.JumpError, match="needs a jump") as failure:
        loops(fixed(0.5))
    assert failure.value.span.line == loops.function.__code__.co_firstlineno + 2


def test_a_run_time_number_of_iterations_is_refused() -> None:
    @fix
    def loops(x: Any, n: tt.Int32) -> Any:
        for _ in range(n):
            x = x + x
        return x

    with pytest.raises(StaticRequiredError):
        loops(fixed(0.5), 3)


def test_mutation_in_a_branch_is_refused_as_in_the_base() -> None:
    @fix
    def mutates(x: Any) -> Any:
        found: list[Any] = []
        if x < 1:
            found.append(x)
        return x

    with pytest.raises(tt.TriptychError, match="append"):
        mutates(fixed(0.5))


def test_it_is_small_and_uses_only_public_names() -> None:
    text = SOURCE.read_text(encoding="utf-8")
    assert text.count("\n") <= 150
    tree = ast.parse(text)
    imports = [node for node in ast.walk(tree) if isinstance(node, ast.Import | ast.ImportFrom)]
    modules = {alias.name for node in imports for alias in node.names if isinstance(node, ast.Import)}
    modules |= {str(node.module) for node in imports if isinstance(node, ast.ImportFrom)}
    assert {name for name in modules if name.startswith("triptych")} == {"triptych"}
    for owner, public in (("dsl", dsl.__all__), ("tt", tt.__all__)):
        used = set(re.findall(rf"\b{owner}\.(\w+)", text))
        assert used <= set(public)
