"""A value that its type does not hold is refused wherever a type is declared."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, NamedTuple

import pytest

import triptych as tt
from tests.laws.declared_cells import PLACES, cells

DRAWN = ("Boolean", "Int8", "Int32", "Uint32", "Float16", "Float64")
"""`python -m benchmarks.type_tables` draws all."""


def test_places_that_declare_types() -> None:
    found = cells(DRAWN)
    assert len(found) > 400
    assert {cell.place for cell in found} == set(PLACES)
    assert [cell for cell in found if cell.held != cell.expected] == []


@dataclass
class Point:
    x: tt.Int32


class Pair(NamedTuple):
    x: tt.Uint8


@tt.jit
def default(x: tt.Int32 = 2.75) -> Any:  # type: ignore[assignment]
    return x


@tt.jit
def of_tuple(x: tuple[tt.Int8, ...]) -> Any:
    return x[0]


@tt.jit
def of_field(p: Any) -> Any:
    return p.x


@pytest.mark.parametrize(
    "call",
    [
        default,
        lambda: of_tuple((300,)),
        lambda: of_tuple((2.5,)),
        lambda: of_field(Point(2.75)),  # type: ignore[arg-type]
        lambda: of_field(Point(2**31)),  # type: ignore[arg-type]
        lambda: of_field(Pair(-1)),  # type: ignore[arg-type]
    ],
)
def test_arguments_from_python(call: Callable[[], Any]) -> None:
    with pytest.raises((TypeError, OverflowError)):
        call()
