"""Every operation knows where it was written, down to the column, and through which inlined calls it came."""

from __future__ import annotations

import re
from pathlib import Path
from typing import Any

import triptych as tt
from triptych.ir import bindings
from triptych.ir.location import spans_of

HERE = str(Path(__file__))
LINES = Path(__file__).read_text(encoding="utf-8").splitlines()


def inner(x: Any) -> Any:
    return x * 3  # inner


def outer(x: Any) -> Any:
    return inner(x + 1) - 2  # outer


@tt.jit
def caller(n: tt.Int32) -> Any:
    total = 0
    for i in range(n):
        if i > 4:
            total += outer(i)  # caller
    return total


def line_of(marker: str) -> int:
    (found,) = [number for number, line in enumerate(LINES, start=1) if line.endswith(f"  # {marker}")]
    return found


def operations(module: Any) -> list[Any]:
    found: list[Any] = []

    def visit(operation: Any) -> Any:
        found.append(operation)
        return bindings.mlir().WalkResult.ADVANCE

    module.operation.walk(visit)
    return found


KEPT: list[Any] = []
"""Operations live as long as their module."""


def traced_module(function: Any, *arguments: Any) -> Any:
    module = tt.compile(function, *arguments)._loaded.compiled.lowered.traced.module.read()
    KEPT.append(module)
    return module


def chain(operation: Any) -> list[tuple[str, int]]:
    return [(span.function, span.line) for span in spans_of(operation.location)]


def test_every_operation_has_file_line_and_column() -> None:
    for operation in operations(traced_module(caller, 10)):
        spans = spans_of(operation.location)
        assert spans, f"{operation.name} has no place"
        assert all(span.file == HERE for span in spans)
        assert all(0 <= span.column <= len(LINES[span.line - 1]) for span in spans)


def test_an_inlined_operation_carries_the_chain_of_calls() -> None:
    (product,) = [op for op in operations(traced_module(caller, 10)) if op.name == "arith.muli"]
    assert chain(product) == [
        ("inner", line_of("inner")),
        ("outer", line_of("outer")),
        ("caller", line_of("caller")),
    ]


def test_the_column_is_that_of_the_expression() -> None:
    (product,) = [op for op in operations(traced_module(caller, 10)) if op.name == "arith.muli"]
    (span, *_) = spans_of(product.location)
    assert span.end_column is not None
    assert LINES[span.line - 1][span.column : span.end_column] == "x * 3"


def test_the_printed_module_shows_the_chain() -> None:
    text = traced_module(caller, 10).operation.get_asm(enable_debug_info=True)
    aliases = dict(re.findall(r"^(#loc\d*) = loc\((.*)\)$", text, re.MULTILINE))
    (alias,) = re.findall(r"arith\.muli .* loc\((#loc\d+)\)", text)
    called, calling = re.fullmatch(r"callsite\((#loc\d+) at (#loc\d+)\)", aliases[alias]).groups()  # type: ignore[union-attr]
    assert aliases[called].startswith('"inner"(')
    assert aliases[calling].startswith("callsite(")
