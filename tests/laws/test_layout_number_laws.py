"""Integers of run-time layouts beside every kind of number, in both orders, under every operator: as Python's integers.

What an operator gives is compared with the exact result, wrapped into the type of the number that it is.
"""

from __future__ import annotations

import operator
from collections.abc import Callable
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

import triptych as tt
from tests.support.examples import examples
from tests.unit.metastage.compiled import integers, outcome, wrap
from triptych import cute
from triptych.metastage.values.scalars import NUMERIC_CLASSES, as_number
from triptych.support.errors import TriptychError

EXAMPLES = 15
NUMBERS = ("Boolean", "Int8", "Int16", "Int32", "Int64", "Uint8", "Uint16", "Uint32", "Uint64")
CONSTANTS = (0, 1, -1, 7, -7, 64, 1000003, -(2**31))
PLACES: dict[str, Callable[[Any, Any], Any]] = {
    "shape": lambda m, k: cute.make_layout((m, k)).shape[0],
    "stride": lambda m, k: cute.make_layout((m, k)).stride[1],
}
"""Where an integer comes from: each is an unknown, or a product of one."""
TOTAL: tuple[Callable[[Any, Any], Any], ...] = (
    operator.add,
    operator.sub,
    operator.mul,
    operator.and_,
    operator.or_,
    operator.xor,
    operator.lt,
    operator.le,
    operator.gt,
    operator.ge,
    operator.eq,
    operator.ne,
)
DIVIDING: tuple[Callable[[Any, Any], Any], ...] = (operator.floordiv, operator.mod, lambda a, b: divmod(a, b)[1])
SHIFTING: tuple[Callable[[Any, Any], Any], ...] = (operator.lshift, operator.rshift)
UNARY: tuple[Callable[[Any], Any], ...] = (
    operator.neg,
    operator.pos,
    operator.invert,
    abs,
    lambda a: a**3,
    lambda a: a << 2,
    lambda a: a >> 3,
    lambda a: a // 8,
    lambda a: a % 8,
    lambda a: a | 5,
    lambda a: 5 | a,
    lambda a: 6 & a,
)
in_both_orders = pytest.mark.parametrize("swapped", [False, True])
beside_each_number = pytest.mark.parametrize("kind", NUMBERS)
everywhere = pytest.mark.parametrize("place", list(PLACES))


class Program:
    """Operators compiled for an integer of a layout and a number; it knows the types of the results."""

    def __init__(self, operators: tuple[Callable[..., Any], ...], place: str, kind: str, swapped: bool) -> None:
        self.operators = operators
        self.swapped = swapped
        self.types: list[str] = []

        def compute(m: tt.Int32, k: tt.Int32, other: Any) -> Any:
            extent = PLACES[place](m, k)
            pair = (other, extent) if swapped else (extent, other)
            results = [as_number(op(*pair)) for op in operators]
            self.types = [type(result).__name__ for result in results]
            return tuple(_returned(result) for result in results)

        self._native = tt.compile(compute, 1, 1, NUMERIC_CLASSES[kind].constant(1), opt_level=0)

    def check(self, m: int, value: int, other: Any) -> None:
        pair = (other, value) if self.swapped else (value, other)
        exact = outcome(lambda: [op(*pair) for op in self.operators])
        found = outcome(self._native, m, 3, other)
        if isinstance(exact, type):
            assert found is exact
            return
        for result, expected, name in zip(found, exact, self.types, strict=True):
            if name in ("Boolean", "bool", "int"):
                assert result == expected
            else:
                assert result == wrap(expected, name if NUMERIC_CLASSES[name].width <= 64 else "Int64")


def _returned(result: Any) -> Any:
    """128-bit results cannot be returned; their low half can. What is known while tracing stays what it is."""
    return result.to(tt.Int64) if getattr(result, "width", 0) > 64 else result


def drawn(kind: str) -> st.SearchStrategy[Any]:
    return st.booleans() if kind == "Boolean" else integers(kind)


def extents() -> st.SearchStrategy[int]:
    """Also negative ones: an integer of a layout is any number until it is declared otherwise."""
    return st.one_of(st.integers(-9, 300), integers("Int32"))


@everywhere
@beside_each_number
@in_both_orders
def test_operators_that_always_have_a_result(place: str, kind: str, swapped: bool) -> None:
    program = Program(TOTAL, place, kind, swapped)

    @examples(EXAMPLES)
    @given(extents(), drawn(kind))
    def law(m: int, other: Any) -> None:
        program.check(m, m, other)

    law()


@beside_each_number
@in_both_orders
def test_divisions(kind: str, swapped: bool) -> None:
    program = Program(DIVIDING, "shape", kind, swapped)

    @examples(EXAMPLES)
    @given(extents(), drawn(kind))
    def law(m: int, other: Any) -> None:
        program.check(m, m, other)

    law()


@beside_each_number
@in_both_orders
def test_shifts(kind: str, swapped: bool) -> None:
    program = Program(SHIFTING, "shape", kind, swapped)

    @examples(EXAMPLES)
    @given(st.integers(-2, 70), drawn(kind) if swapped else drawn(kind).filter(lambda n: -2 <= n <= 70))
    def law(m: int, other: Any) -> None:
        program.check(m, m, other)

    law()


@everywhere
def test_one_operand(place: str) -> None:
    program = Program(tuple(lambda a, b, op=op: op(a) for op in UNARY), place, "Int32", swapped=False)

    @examples(EXAMPLES)
    @given(extents())
    def law(m: int) -> None:
        program.check(m, m, 1)

    law()


@pytest.mark.parametrize("constant", CONSTANTS)
@in_both_orders
def test_beside_a_constant(constant: int, swapped: bool) -> None:
    operators = (*TOTAL, *(DIVIDING if constant and not swapped else ()))
    program = Program(
        tuple(lambda a, b, op=op: op(*_around(a, b, swapped, constant)) for op in operators), "shape", "Int32", swapped
    )

    @examples(EXAMPLES)
    @given(extents())
    def law(m: int) -> None:
        program.check(m, m, 1)

    law()


def _around(a: Any, b: Any, swapped: bool, constant: int) -> tuple[Any, Any]:
    return (constant, b) if swapped else (a, constant)


@examples(EXAMPLES)
@given(extents(), extents())
def test_two_integers_of_layouts(m: int, k: int) -> None:
    found = _two(m, k)
    for result, op in zip(found, TOTAL, strict=True):
        exact = op(m, k)
        assert result == (exact if isinstance(exact, bool) else wrap(exact, "Int64"))


@tt.jit
def _two(m: tt.Int32, k: tt.Int32) -> Any:
    shape = cute.make_layout((m, k)).shape
    return tuple([tt.Int64(op(*shape)) if index < 6 else as_number(op(*shape)) for index, op in enumerate(TOTAL)])


@examples(EXAMPLES)
@given(integers("Int64"), integers("Int64"))
def test_comparisons_do_not_wrap(m: int, k: int) -> None:
    assert _compared(m, k) == (m < k, m <= k, m > k, m >= k, m == k, m != k)


@tt.jit
def _compared(m: tt.Int64, k: tt.Int64) -> Any:
    a, b = cute.make_layout((m, k)).shape
    return a < b, a <= b, a > b, a >= b, a == b, a != b


def test_builtin_functions_take_integers_of_layouts() -> None:
    @tt.jit
    def functions(m: tt.Int32, k: tt.Int32) -> Any:
        a, b = cute.make_layout((m, k)).shape
        total = 0
        for i in range(a):
            total += i
        truth = 1 if a else 0
        tested = 2 if not b else 3
        return int(a), float(a), bool(a), abs(a), min(a, b), max(a, 3), max((a, b)), sum((a, b)), total, truth, tested

    for m, k in ((5, 7), (0, 1), (9, 0)):
        truth, tested = (1 if m else 0), (2 if not k else 3)
        expected = (m, float(m), bool(m), m, min(m, k), max(m, 3), max(m, k), m + k, sum(range(m)), truth, tested)
        assert functions(m, k) == expected


def test_an_integer_of_a_layout_selects_and_is_found() -> None:
    @tt.jit
    def select(m: tt.Int32, n: tt.Int32) -> Any:
        extent = cute.make_layout((m, 4)).shape[0]
        return (10, 20, 30)[extent], extent in (1, n), n in range(extent), n in (extent, 7)

    for m, n in ((0, 0), (1, 2), (2, 1), (2, 2)):
        assert select(m, n) == ((10, 20, 30)[m], m in (1, n), n in range(m), n in (m, 7))


@pytest.mark.parametrize(
    "use",
    [
        lambda s: (1, 2, 3)[:s],
        lambda s: 2**s,
        lambda s: s**s,
        lambda s: s**-1,
        lambda s: "a" * s,
        lambda s: list(range(s)),
        lambda s: {s: 1}[as_number(s)],
    ],
)
def test_what_has_no_meaning_is_refused(use: Callable[[Any], Any]) -> None:
    def program(m: tt.Int32) -> Any:
        use(cute.make_layout((m, 4)).shape[0])
        return m

    with pytest.raises(TriptychError):
        tt.jit(program)(3)


def test_floats_beside_integers_of_layouts() -> None:
    @tt.jit
    def compute(m: tt.Int32, x: tt.Float64) -> Any:
        s = cute.make_layout((m, 4)).shape[0]
        return s + x, x - s, s * 0.5, s / 4, 3 / s, s < x, s == x, s // 0.5, s + 0.25

    assert compute(6, 6.0) == (12.0, 0.0, 3.0, 1.5, 0.5, False, True, 12.0, 6.25)


LAYOUTS: tuple[Callable[[Any, Any], Any], ...] = (
    lambda m, k: cute.make_layout((m, k, 2)),
    lambda m, k: cute.make_layout((m, k, 2), stride=(k, 1, m * k)),
    lambda m, k: cute.make_layout(((m, 2), k), stride=((k, m * k), 1)),
    lambda m, k: cute.make_layout((4, 8, 2), stride=(8, 1, 32)),
)


@pytest.mark.parametrize("make", LAYOUTS)
def test_coordinates_of_run_time_layouts(make: Callable[[Any, Any], Any]) -> None:
    """Methods of layouts take numbers of the program, and answer as for the same layout of known integers."""

    @tt.jit
    def answers(n: tt.Int32, m: tt.Int32, k: tt.Int32) -> Any:
        layout = make(m, k)
        coord = layout.get_hier_coord(n)
        return layout(n), coord, layout.get_flat_coord(n), layout(coord)

    for m, k in ((4, 8), (3, 5), (16, 1)):
        layout = make(m, k)
        for n in range(0, layout.shape[0] if isinstance(layout.shape[0], int) else m, 2):
            coord = layout.get_hier_coord(n)
            assert answers(n, m, k) == (layout(n), coord, layout.get_flat_coord(n), layout(coord))


def test_an_index_does_not_wrap_where_the_type_of_the_coordinate_ends() -> None:
    @tt.jit
    def index(n: tt.Int32) -> Any:
        return cute.make_layout((4, 8), stride=(2**30, 1))(n)

    assert index(3) == 3 * 2**30
