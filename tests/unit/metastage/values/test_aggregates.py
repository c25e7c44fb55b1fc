"""Aggregates through arguments, branches, loops, calls and returns: compiled code agrees with the same Python."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from typing import Any, NamedTuple

import pytest
from hypothesis import given
from hypothesis import strategies as st

import triptych as tt
from tests.support.examples import examples
from triptych.metastage.trace.errors import JoinTypeError


class Pair(NamedTuple):
    """A NamedTuple."""

    x: Any
    y: Any


@dataclass(frozen=True)
class Frozen:
    """A frozen dataclass."""

    x: Any
    y: Any


@dataclass
class Mutable:
    """A dataclass that may be changed."""

    x: Any
    y: Any


class Protocol:
    """A class that says itself which values it is made of."""

    def __init__(self, x: Any, y: Any) -> None:
        self.x = x
        self.y = y

    def __extract_mlir_values__(self) -> Sequence[Any]:
        return [self.x, self.y]

    def __new_from_mlir_values__(self, values: Sequence[Any]) -> Protocol:
        return Protocol(*values)


MAKERS: list[Callable[[Any, Any], Any]] = [lambda x, y: (x, y), Pair, Frozen, Mutable]
each_maker = pytest.mark.parametrize("make", MAKERS, ids=["tuple", "NamedTuple", "frozen", "dataclass"])
each_kind = pytest.mark.parametrize(
    "make", [*MAKERS, Protocol], ids=["tuple", "NamedTuple", "frozen", "dataclass", "protocol"]
)


def parts(value: Any) -> tuple[Any, Any]:
    return value if type(value) is tuple else (value.x, value.y)


def agrees(function: Callable[..., Any], *arguments: Any) -> None:
    """Compiled for the first arguments, the function returns what Python returns, for all small integers."""
    native = tt.compile(function, *arguments)
    small = st.lists(st.integers(-20, 20), min_size=len(arguments), max_size=len(arguments))

    @examples(40)
    @given(small)
    def law(values: list[int]) -> None:
        assert native(*values) == function(*values)

    law()


@each_kind
def test_through_a_branch(make: Callable[[Any, Any], Any]) -> None:
    def program(a: Any, b: Any) -> Any:
        value = make(a, b)
        if a < b:
            value = make(b, a + 0)
        elif a == b:
            value = make(a * 2, b * 3)
        return parts(value)

    agrees(program, 1, 2)


@each_kind
def test_through_a_loop(make: Callable[[Any, Any], Any]) -> None:
    def program(n: Any, a: Any) -> Any:
        value = make(a, a + 1)
        for i in range(n):
            x, y = parts(value)
            value = make(y, x + i)
            if x > 100:
                break
        return parts(value)

    agrees(program, 1, 2)


@each_kind
def test_through_a_while_loop_and_a_call(make: Callable[[Any, Any], Any]) -> None:
    def step(value: Any) -> Any:
        x, y = parts(value)
        if x % 2 == 0:
            return make(x - 1, y + 1)
        return make(x - 2, y)

    def program(a: Any) -> Any:
        value = make(a, a * 0)
        while parts(value)[0] > 0:
            value = step(value)
        return parts(value)

    agrees(program, 1)


@each_kind
def test_defined_only_in_the_branches(make: Callable[[Any, Any], Any]) -> None:
    def program(a: Any, b: Any) -> Any:
        if a > b:
            value, order = make(a, b), 1
        else:
            value, order = make(b, a), 2
        return (*parts(value), order)

    agrees(program, 1, 2)


@each_maker
def test_conditional_expression_and_early_return(make: Callable[[Any, Any], Any]) -> None:
    def helper(a: Any, b: Any) -> Any:
        if a > 10:
            return make(a, 1)
        return make(b, 2) if b > 0 else make(a, b)

    agrees(lambda a, b: parts(helper(a, b)), 1, 2)


@each_maker
def test_as_argument_and_result(make: Callable[[Any, Any], Any]) -> None:
    def program(value: Any, n: Any) -> Any:
        x, y = parts(value)
        return make(x + n, y * 2)

    compiled = tt.compile(program, make(1, 2.0), 3)
    assert compiled(make(10, 4.0), 5) == program(make(10, 4.0), 5)
    assert type(compiled(make(1, 1.0), 1)) is type(make(1, 1.0))
    jitted: Any = tt.jit(program)
    assert jitted(make(10, 4.0), 5) == make(15, 8.0)


def test_a_plain_tuple_stands_for_the_named_one_that_a_function_was_compiled_for() -> None:
    """Programs take a NamedTuple apart, change its parts and hand a tuple on; the signature says what it is."""

    def program(pair: Any, nested: Any) -> Any:
        return pair.x - pair.y * nested.x[1]

    native = tt.compile(program, Pair(1, 2), Pair((3, 4), 5))
    assert native((7, 2), Pair((0, 3), 0)) == native(Pair(7, 2), ((0, 3), 0)) == 1
    for wrong in ((7, 2, 3), [7, 2], Frozen(7, 2)):
        with pytest.raises(TypeError, match="must be made like the one"):
            native(wrong, Pair((0, 3), 0))
    with pytest.raises(TypeError, match="must be made like the one"):
        tt.compile(program, Frozen(1, 2), Pair((3, 4), 5))((1, 2), Pair((3, 4), 5))
    swapped = tt.compile(lambda pair: pair[0], (1, 2))
    with pytest.raises(TypeError, match="must be made like the one"):
        swapped(Pair(1, 2))


@each_maker
def test_nested(make: Callable[[Any, Any], Any]) -> None:
    def program(a: Any, b: Any) -> Any:
        value = make(make(a, b), (a, make(b, 1)))
        if a > b:
            value = make(make(b, a), (b, make(a, 2)))
        for _ in range(2):
            outer, (c, inner) = parts(value)
            value = make(make(parts(outer)[1], parts(outer)[0]), (c + 1, make(parts(inner)[0], parts(inner)[1])))
        outer, (c, inner) = parts(value)
        return (*parts(outer), c, *parts(inner))

    agrees(program, 1, 2)


def test_static_parts_stay_static() -> None:
    @dataclass(frozen=True)
    class Tile:
        name: str
        size: int
        value: Any

    def program(a: Any) -> Any:
        tile = Tile("big", 4, a)
        if a > 0:
            tile = replace(tile, value=a + tile.size)
        return tile.value * len(tile.name)

    compiled = tt.compile(program, 1)
    assert [compiled(3), compiled(-3)] == [21, -9]


def test_static_part_that_differs_is_refused() -> None:
    def program(a: Any) -> Any:
        pair = Pair(a, "left")
        if a > 0:
            pair = Pair(a, "right")
        return pair.x

    with pytest.raises(JoinTypeError, match=r"`pair\.y`"):
        tt.compile(program, 1)


def test_mutable_dataclass_made_in_a_branch_may_be_changed_there() -> None:
    def program(a: Any) -> Any:
        value = Mutable(a, 0)
        if a > 0:
            value = Mutable(a, 1)
            value.y = a * 2
        return value.x + value.y

    compiled = tt.compile(program, 1)
    assert [compiled(3), compiled(-3)] == [9, -3]


def test_mutable_dataclass_changed_outside_dynamic_regions() -> None:
    def program(a: Any) -> Any:
        value = Mutable(a, 0)
        value.y = a * 2
        value.x += 1
        return value.x, value.y

    assert tt.compile(program, 1)(3) == (4, 6)


def test_list_of_run_time_values_unrolled() -> None:
    def program(a: Any, b: Any) -> Any:
        values = [a, b]
        values.append(a + b)
        total = 0
        for value in values:
            if value > 0:
                total += value
        return total

    agrees(program, 1, 2)


class Foreign:
    """A type the language does not know."""

    def __init__(self, real: float, imaginary: float) -> None:
        self.real, self.imaginary = real, imaginary


def test_adapter_makes_foreign_objects_arguments() -> None:
    tt.register_jit_arg_adapter(Foreign)(lambda value: Pair(value.real, value.imaginary))
    norm: Any = tt.jit(lambda z: z.x * z.x + z.y * z.y)
    assert norm(Foreign(3.0, 4.0)) == 25.0


class Handle:
    """An object that crosses by the argument protocol."""

    def __init__(self, values: tuple[Any, ...]) -> None:
        self.values = values

    def __jit_parts__(self) -> tuple[Any, ...]:
        return self.values

    def __from_jit_parts__(self, values: Sequence[Any]) -> Handle:
        return Handle(tuple(values))


def test_argument_protocol() -> None:
    total: Any = tt.jit(lambda handle: sum(handle.values))
    assert total(Handle((1, 2, 3))) == 6
    assert total(Handle((1.5, 2.5))) == 4.0
