"""A symbolic answer, with numbers put in, is the static answer.

Input: static layouts, some of whose integers are hidden behind symbols. Output: both answers compared everywhere.
What an operation says it needs is part of its answer: where every need holds, the answers must agree, and where
the static operation is refused, some need must fail.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.support.layouts import compact_layouts, divisor_of, fitting, gaps_filled, layouts, values
from triptych import layout
from triptych.layout import Layout, SymInt
from triptych.layout.mixed_radix import digits
from triptych.layout.ranges import Ranges
from triptych.layout.symbolic import Operation, Terms

tl: Any = layout  # typed for dynamic integers too; the tests know which ones are static


class Hidden:
    """Integers replaced by symbols, and what they stand for."""

    def __init__(self, data: st.DataObject) -> None:
        self.data = data
        self.bindings: dict[str, int] = {}

    def integer(self, value: int, lower: int | None) -> tl.Int:
        if value < 0 or not self.data.draw(st.sampled_from([True, False, False])):
            return value
        name = f"x{len(self.bindings)}"
        self.bindings[name] = value
        known = divisor_of(self.data, value) if value else 1
        return tl.sym_int(divisibility=known, symbol=name, lower=lower)

    def layout(self, layout: Layout) -> Layout:
        return Layout(
            tl.transform_leaf(lambda leaf: self.integer(leaf, 1), layout.shape),
            tl.transform_leaf(lambda leaf: self.integer(leaf, None), layout.stride),
        )

    def agree(self, operation: Callable[..., Any], static: list[Any], hidden: list[Any]) -> None:
        """Compare one operation on the static operands and on the hidden ones."""
        try:
            expected = operation(*static)
        except tl.LayoutError:
            expected = None
        try:
            with tl.assuming() as needs:
                found = operation(*hidden)
        except tl.LayoutError:
            return
        held = all(tl.substitute(need.residue, self.bindings) == 0 for need in needs)
        if expected is None:
            assert not held
        elif held:
            assert values(tl.substitute(found, self.bindings)) == values(expected)


def hide(data: st.DataObject, operation: Callable[..., Any], *static: Any) -> None:
    hidden = Hidden(data)
    operands = [hidden.layout(value) if isinstance(value, Layout) else hidden.integer(value, 1) for value in static]
    hidden.agree(operation, list(static), operands)


@given(st.data())
def test_coalesce(data: st.DataObject) -> None:
    hide(data, tl.coalesce, data.draw(layouts()))


@given(st.data())
def test_composition(data: st.DataObject) -> None:
    left = data.draw(layouts())
    hide(data, tl.composition, left, data.draw(fitting(left)))


@given(st.data())
def test_complement(data: st.DataObject) -> None:
    """An extent that turns out to be 1 leaves a choice, so the promise is checked, not the static result."""
    static, target = data.draw(compact_layouts()), data.draw(st.integers(1, 300))
    hidden = Hidden(data)
    try:
        with tl.assuming() as needs:
            found = tl.complement(hidden.layout(static), hidden.integer(target, 1))
    except tl.OverlapError:
        return  # two modes of one stride overlap unless a hidden extent is 1
    if any(tl.substitute(need.residue, hidden.bindings) for need in needs):
        return
    offsets = values(tl.substitute(found, hidden.bindings))
    together = {a + b for a in values(static) for b in offsets}
    assert offsets == sorted(set(offsets))
    assert len(together) == len(offsets) * tl.size(static)
    assert max(together) + 1 >= target or not gaps_filled(static)


@given(st.data())
def test_logical_divide(data: st.DataObject) -> None:
    layout = data.draw(compact_layouts())
    hide(data, tl.logical_divide, layout, divisor_of(data, tl.size(layout)))


@given(st.data())
def test_logical_product(data: st.DataObject) -> None:
    block, tiler = data.draw(compact_layouts()), data.draw(compact_layouts(padding=False))
    if tl.size(block) * tl.size(tiler) <= 1024:
        hide(data, tl.logical_product, block, tiler)


@given(st.data())
def test_recast(data: st.DataObject) -> None:
    new, old = data.draw(st.sampled_from([(8, 16), (16, 8), (32, 8), (4, 6)]))
    hide(data, lambda layout: tl.recast_layout(new, old, layout), data.draw(compact_layouts()))


@given(st.data())
def test_evaluation(data: st.DataObject) -> None:
    static = data.draw(layouts())
    hidden = Hidden(data)
    symbolic = hidden.layout(static)
    index = data.draw(st.integers(0, tl.size(static) - 1))
    assert tl.substitute(symbolic(index), hidden.bindings) == static(index)
    assert tl.substitute(tl.size(symbolic), hidden.bindings) == tl.size(static)
    assert tl.substitute(tl.cosize(symbolic), hidden.bindings) == tl.cosize(static)


@given(st.data())
def test_inverses_of_dynamic_layouts_still_invert(data: st.DataObject) -> None:
    static = data.draw(compact_layouts())
    hidden = Hidden(data)
    symbolic = hidden.layout(static)
    inverse = tl.substitute(tl.right_inverse(symbolic), hidden.bindings)
    assert [static(inverse(i)) for i in range(tl.size(inverse))] == list(range(tl.size(inverse)))
    try:
        with tl.assuming() as needs:
            back = tl.left_inverse(symbolic)
    except (tl.UndecidableError, tl.OverlapError):
        return
    if all(tl.substitute(need.residue, hidden.bindings) == 0 for need in needs):
        inverse = tl.substitute(back, hidden.bindings)
        assert [inverse(static(i)) for i in range(tl.size(static))] == list(range(tl.size(static)))


numbers = st.integers(-40, 40)
OPERATIONS: dict[str, Callable[[Any, Any], Any]] = {
    "+": lambda a, b: a + b,
    "-": lambda a, b: a - b,
    "*": lambda a, b: a * b,
    "//": lambda a, b: a // b if b != 0 else a,
    "%": lambda a, b: a % b if b != 0 else a,
    "^": lambda a, b: a ^ b,
    "&": lambda a, b: a & b,
}


@given(st.data())
def test_symbolic_arithmetic_is_arithmetic(data: st.DataObject) -> None:
    """Random expressions, evaluated on numbers and on symbols; the divisibility that is claimed is true."""
    hidden = Hidden(data)
    static: list[int] = [data.draw(st.integers(1, 40)) for _ in range(3)] + [data.draw(numbers)]
    symbolic: list[Any] = [hidden.integer(value, 1) for value in static[:3]] + static[3:]
    for _ in range(data.draw(st.integers(1, 6))):
        i, j = (data.draw(st.integers(0, len(static) - 1)) for _ in range(2))
        name = data.draw(st.sampled_from(sorted(OPERATIONS)))
        if name in "//%" and static[j] == 0:
            continue
        static.append(OPERATIONS[name](static[i], static[j]))
        symbolic.append(OPERATIONS[name](symbolic[i], symbolic[j]))
        assert tl.substitute(symbolic[-1], hidden.bindings) == static[-1]
        divisor = tl.divisibility(symbolic[-1])
        assert static[-1] == 0 if divisor == 0 else static[-1] % divisor == 0


def evaluated(terms: Terms, bindings: dict[str, int]) -> Any:
    """Terms with numbers put in; remainders too, which the normal form does not have."""
    total = 0
    for monomial, coefficient in terms:
        product: Any = coefficient
        for atom in monomial:
            if isinstance(atom, Operation) and atom.name == "%":
                product *= tl.substitute(atom.left, bindings) % tl.substitute(atom.right, bindings)
            else:
                product *= SymInt((((atom,), 1),)).substitute(bindings)
        total += product
    return total


@given(st.data())
def test_digits_and_ranges_of_symbolic_arithmetic(data: st.DataObject) -> None:
    """The form with remainders has the same value, and every value lies in the range that is claimed."""
    hidden = Hidden(data)
    static: list[int] = [data.draw(st.integers(1, 40)) for _ in range(3)] + [data.draw(numbers)]
    symbolic: list[Any] = [hidden.integer(value, 1) for value in static[:3]] + static[3:]
    for _ in range(data.draw(st.integers(1, 8))):
        i, j = (data.draw(st.integers(0, len(static) - 1)) for _ in range(2))
        name = data.draw(st.sampled_from(["+", "-", "*", "//", "%", "%", "%", "^", "&", "min"]))
        if name in "//%" and static[j] == 0:
            continue
        operation = OPERATIONS.get(name, tl.integers.minimum)
        static.append(operation(static[i], static[j]))
        symbolic.append(operation(symbolic[i], symbolic[j]))
        low, high = Ranges(lambda symbol: (-(-1 // symbol.divisor), 40 // symbol.divisor)).of(symbolic[-1])
        assert low <= static[-1] <= high
        if isinstance(symbolic[-1], SymInt):
            assert evaluated(digits(symbolic[-1]), hidden.bindings) == static[-1]


@given(st.data())
def test_the_digits_of_a_coordinate_are_small(data: st.DataObject) -> None:
    """An integer coordinate inside a compact layout: the range of the index is the size, as it is for each digit."""
    static = data.draw(compact_layouts(padding=False))
    index: Any = static(tl.sym_int(symbol="i", lower=0))
    length = tl.size(static)
    assert Ranges(lambda _: (0, length - 1)).of(index) == (0, length - 1)


def test_the_needs_are_named() -> None:
    """Without leave to assume, the operation says which integers it is about."""
    layout = Layout.parse("(?,?):(?,?)")
    with pytest.raises(tl.UndecidableError, match="composition"):
        tl.composition(layout, Layout(4, 1))
    with tl.assuming() as needs:
        tl.composition(layout, Layout(4, 1))
    assert [need.operation for need in needs] == ["composition"]


def test_dynamic_cases_that_work_without_assuming() -> None:
    m, n = tl.sym_int(symbol="m"), tl.sym_int(symbol="n")
    column_major, row_major = tl.make_layout((m, n)), Layout((m, n), (n, 1))
    assert tl.coalesce(column_major) == Layout(m * n, 1)
    assert tl.right_inverse(row_major) == Layout((n, m), (m, 1))
    assert tl.left_inverse(row_major) == Layout((n, m), (m, 1))
    assert tl.composition(column_major, Layout(n, m)) == Layout(n, m)
    assert tl.composition(Layout((8, n), (1, 8)), Layout(12, 1)) == Layout(12, 1)
    assert str(tl.logical_divide(column_major, (4, 4))) == "((4,?),(4,?)):((1,4),(?,?{div=4}))"


@pytest.mark.parametrize(("rows", "columns", "tile"), [(3, 2, 2), (2, 2, 3)])
def test_a_tile_that_crosses_dynamic_extents_is_refused(rows: int, columns: int, tile: int) -> None:
    """Extent by extent, the first pair would be covered by 4 tiles and the second by 1; 3 and 2 are right."""
    with tl.assuming() as needs:
        tl.logical_divide(Layout((rows, tl.sym_int(symbol="n")), (1, rows)), tl.sym_int(symbol="t"))
    assert any(tl.substitute(need.residue, {"n": columns, "t": tile}) for need in needs)
