"""Swizzles of symbolic indices: whatever is taken out of the permutation, the index is the one of the number."""

from __future__ import annotations

from typing import Any

from hypothesis import given
from hypothesis import strategies as st

from triptych.layout import Swizzle, SymInt, sym_int

NAMES = ("x", "y")


@st.composite
def swizzles(draw: Any) -> Swizzle:
    bits = draw(st.integers(0, 3))
    shift = draw(st.integers(bits, 4))
    return Swizzle(bits, draw(st.integers(0, 4)), draw(st.sampled_from([shift, -shift])))


@given(
    swizzle=swizzles(),
    factors=st.tuples(*[st.sampled_from([1, 2, 8, 64, 512, 4096]) for _ in NAMES]),
    constant=st.integers(-5000, 5000),
    values=st.tuples(*[st.integers(1, 300) for _ in NAMES]),
)
def test_index_is_that_of_the_number(
    swizzle: Swizzle, factors: tuple[int, int], constant: int, values: tuple[int, int]
) -> None:
    index: Any = constant
    for name, factor in zip(NAMES, factors, strict=True):
        index = index + sym_int(symbol=name) * factor
    number = constant + sum(factor * value for factor, value in zip(factors, values, strict=True))
    permuted: Any = swizzle(index)
    assert permuted.substitute(dict(zip(NAMES, values, strict=True))) == swizzle(number)
    rest, added = swizzle.split(index)
    assert rest + added == index


def test_neighbours_and_whole_ranges_share_what_is_permuted() -> None:
    """S<3,3,3> leaves 8 elements together, and permutes 512 in themselves."""
    swizzle = Swizzle(3, 3, 3)
    thread, stage = sym_int(symbol="thread", divisibility=8), sym_int(symbol="stage", divisibility=512)
    here: Any = swizzle(thread)
    assert isinstance(here, SymInt)
    assert swizzle(thread + 5) - here == 5
    assert swizzle(thread + 1024) - here == 1024
    assert swizzle(thread + stage + 3) - here == stage + 3
    assert swizzle(thread + 64) != here + 64


@given(
    swizzle=swizzles(),
    digits=st.lists(
        st.tuples(st.sampled_from([1, 4, 8, 32]), st.sampled_from([2, 4, 8, 32]), st.integers(-3, 600)), max_size=4
    ),
    constant=st.integers(-600, 600),
    value=st.integers(1, 300),
)
def test_digits_of_a_thread_are_permuted_like_its_number(
    swizzle: Swizzle, digits: list[tuple[int, int, int]], constant: int, value: int
) -> None:
    """Coordinates of a thread are `x // a % b`, each with a stride: what is only added changes no bit that is read."""
    index: Any = constant + sum((sym_int(symbol="x") // a % b * stride for a, b, stride in digits), 0)
    number = constant + sum(value // a % b * stride for a, b, stride in digits)
    permuted: Any = swizzle(index)
    assert (permuted.substitute({"x": value}) if isinstance(permuted, SymInt) else permuted) == swizzle(number)


def test_neighbours_of_a_digit_below_a_unit_share_what_is_permuted() -> None:
    """The pairs of an accumulator: 8 elements stay together, and four threads have two each."""
    swizzle, thread = Swizzle(3, 3, 3), sym_int(symbol="thread")
    pair: Any = thread % 4 * 2 + thread // 4 % 8 * 64
    assert swizzle(pair + 1) - swizzle(pair) == 1
    rest, added = swizzle.split(pair + 1)
    assert rest == thread // 4 % 8 * 64
    assert added == thread % 4 * 2 + 1


def test_neighbours_of_a_multiple_of_two_share_what_is_permuted() -> None:
    """Nothing bounds the index, but it is even: the next one differs in the lowest bit."""
    swizzle, twice = Swizzle(3, 3, 3), sym_int(symbol="twice", divisibility=2)
    assert swizzle(twice + 1) - swizzle(twice) == 1
    assert swizzle(twice + 2) - swizzle(twice) != 2
