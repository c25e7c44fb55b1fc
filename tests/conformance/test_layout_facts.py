"""Every fact of the layout specification holds, word for word.

Input: a file of facts (operation, operands, result, in the notation). Output: one test per fact.
A fact writes a dynamic integer as `?` and knows nothing about it, so the suite uses integers about which nothing
is known. Symbolic integers know more: they give the same text, or a sharper one that is listed here and proven.
Facts state results, not conditions, so what a dynamic result needs is allowed by `assuming`.
"""

from __future__ import annotations

import itertools
import json
import re
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from tests.support.opaque_integers import opaque
from triptych import layout

tl: Any = layout  # typed for dynamic integers too; the tests know which ones are static

FACTS: list[dict[str, Any]] = json.loads(Path(__file__).with_name("layout_facts.json").read_text())
DYNAMIC = [fact for fact in FACTS if any("?" in operand for operand in fact["inputs"])]

_OPERAND = re.compile(r'(\w+)<"(.*)">')
_HINTS = re.compile(r"\{[^}]*\}")

PLAIN: dict[str, Callable[..., Any]] = {
    "composed_get_inner": lambda composed: composed.inner,
    "composed_get_offset": lambda composed: composed.offset,
    "composed_get_outer": lambda composed: composed.outer,
    "get_shape": tl.shape,
    "get_stride": tl.stride,
    "layout_eval": tl.crd2idx,
    "tuple_product": tl.product,
    "tuple_product_each": tl.product_each,
    "to_int_tuple": lambda value: value,
    "to_shape": lambda value: value,
    "to_coord": lambda value: value,
    "to_stride": lambda value: value,
}
WITH_MODE: dict[str, Callable[..., Any]] = {"get": tl.get, "size": tl.size, "select": tl.select}

SHARPER = {
    "logical_divide": 'layout<"(((?,?),(?,?)),(?,(?,?))):(((?,?),(?,?)),(?,(?,?)))">',
    "zipped_divide": 'layout<"(((?,?),(?,?)),(?,(?,?))):(((?,?),(?,?)),(?,(?,?)))">',
    "tiled_divide": 'layout<"(((?,?),(?,?)),?,(?,?)):(((?,?),(?,?)),?,(?,?))">',
    "flat_divide": 'layout<"((?,?),(?,?),?,(?,?)):((?,?),(?,?),?,(?,?))">',
}
"""(?,?):(?,?) divided by (3,4):(1,3): the first rest, ⌈m/12⌉ steps of 12, never leaves a mode of ⌈m/12⌉ such steps.

A symbolic integer proves that; the fact splits the rest in two, the second of which always has extent 1.
"""


def read(operand: str) -> Any:
    """The value of a typed operand such as `layout<"(4,8):(1,4)">`."""
    kind, text = _OPERAND.fullmatch(operand).groups()  # type: ignore[union-attr]
    return tl.Layout.parse(text) if kind == "layout" else tl.parse(text)


def evaluate(fact: dict[str, Any], operands: list[Any]) -> Any:
    """The result of a fact's operation on its operands."""
    operation, attribute = fact["op"], fact["attr"] or ""
    numbers = [int(number) for number in re.findall(r"\d+", attribute)]
    if operation == "recast_layout":
        return tl.recast_layout(numbers[0], numbers[1], *operands)
    if operation == "group_modes":
        return tl.group_modes(operands[0], *numbers)
    if operation in WITH_MODE:
        return WITH_MODE[operation](*operands, mode=numbers)
    function = PLAIN[operation] if operation in PLAIN else getattr(tl, operation)
    return function(*operands)


def written(value: Any, like: str) -> str:
    """A value in the notation of the expected result."""
    kind, _ = _OPERAND.fullmatch(like).groups()  # type: ignore[union-attr]
    text = tl.tile_text(value) if kind == "tile" else tl.text(value)
    return f'{kind}<"{text}">'


def name(fact: dict[str, Any]) -> str:
    """A test name that shows the fact."""
    return f"{fact['op']}{fact['attr'] or ''} {' '.join(fact['inputs'])}"


def test_the_file_is_whole() -> None:
    assert len(FACTS) == 975


@pytest.mark.parametrize("fact", FACTS, ids=name)
def test_fact(fact: dict[str, Any]) -> None:
    with tl.assuming():
        result = evaluate(fact, [opaque(read(operand)) for operand in fact["inputs"]])
    assert written(result, fact["output"]) == fact["output"]


@pytest.mark.parametrize("fact", DYNAMIC, ids=name)
def test_fact_with_symbolic_integers(fact: dict[str, Any]) -> None:
    """The divisibility a symbolic integer derives beyond the fact is left out of the comparison."""
    with tl.assuming():
        result = evaluate(fact, [read(operand) for operand in fact["inputs"]])
    assert _HINTS.sub("", written(result, fact["output"])) in (fact["output"], SHARPER.get(fact["op"]))


@pytest.mark.parametrize("operation", SHARPER)
def test_the_sharper_results_are_right(operation: str) -> None:
    """For every pair of small extents that meets the stated needs, the result is the static one, as a function."""
    divide = getattr(tl, operation)
    m, n = tl.sym_int(symbol="m"), tl.sym_int(symbol="n")
    tile = tl.Layout.parse("(3,4):(1,3)")
    with tl.assuming() as needs:
        symbolic = divide(tl.Layout((m, n), (1000, 1)), tile)
    agreed = 0
    for rows, columns in itertools.product(range(1, 40), range(1, 40)):
        numbers = {"m": rows, "n": columns}
        if all(tl.substitute(need.residue, numbers) == 0 for need in needs):
            static = divide(tl.Layout((rows, columns), (1000, 1)), tile)
            found = tl.substitute(symbolic, numbers)
            assert [found(i) for i in range(tl.size(found))] == [static(i) for i in range(tl.size(static))]
            agreed += 1
    assert agreed > 100
