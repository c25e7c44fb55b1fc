"""What the lane analysis claims of a result holds for the numbers themselves, in 32-bit machine arithmetic."""

from __future__ import annotations

import operator
from collections.abc import Callable
from itertools import product

import pytest
from hypothesis import given
from hypothesis import strategies as st

from triptych.kernel_ir.analysis import lanes
from triptych.kernel_ir.analysis.lanes import Lanes, Level, known, uniform

WIDTH = 8
MODULUS = 2**32
ENDS = [n % MODULUS for around in (0, 2**31, 2**32) for n in range(around - 8, around + 9)]


@st.composite
def described(draw: st.DrawFn) -> tuple[list[int], Lanes]:
    """Unsigned numbers in all lanes, with a true description of them."""
    power = 2 ** draw(st.integers(0, 8))
    divisor = power * draw(st.sampled_from([1, 1, 3, 5]))
    base = divisor * draw(st.integers(0, 2**20))
    form = draw(st.sampled_from(["uniform", "constant", "counting", "any", "groups"]))
    if form in ("uniform", "constant"):
        constant = base if form == "constant" else None
        return [base] * WIDTH, uniform(Level.WARP, WIDTH, divisor, constant)
    first = draw(st.sampled_from([None, base]))
    if form == "counting":
        step = draw(st.integers(1, 4))
        offsets = tuple(step * lane for lane in range(WIDTH))
    elif form == "groups":
        size = draw(st.sampled_from([2, 4]))
        offsets = tuple(lane // size for lane in range(WIDTH))
    else:
        offsets = (0, *draw(st.lists(st.integers(0, 40), min_size=WIDTH - 1, max_size=WIDTH - 1)))
    return [base + offset for offset in offsets], known(Level.WARP, offsets, divisor, first)


OPERATIONS: dict[str, tuple[Callable[[Lanes, Lanes], Lanes], Callable[[int, int], int]]] = {
    "add": (lanes.add, operator.add),
    "subtract": (lanes.subtract, operator.sub),
    "multiply": (lanes.multiply, operator.mul),
    "divide": (lanes.divide_unsigned, operator.floordiv),
    "remainder": (lanes.remainder_unsigned, operator.mod),
    "and": (lambda a, b: lanes.bitwise(operator.and_, a, b), operator.and_),
    "or": (lambda a, b: lanes.bitwise(operator.or_, a, b), operator.or_),
    "xor": (lambda a, b: lanes.bitwise(operator.xor, a, b), operator.xor),
}


def holds(numbers: list[int], claim: Lanes) -> bool:
    if claim.offsets is not None and any(
        (number - numbers[0] - offset) % MODULUS for number, offset in zip(numbers, claim.offsets, strict=True)
    ):
        return False
    if claim.constant is not None and (numbers[0] - claim.constant) % MODULUS:
        return False
    first = numbers[0] % MODULUS
    if claim.offsets is None or claim.divisor == 1:
        return True
    return first == 0 if claim.divisor == 0 else first % (claim.divisor & -claim.divisor) == 0


@pytest.mark.parametrize("name", OPERATIONS)
@given(left=described(), right=described())
def test_claims_of_results_hold(name: str, left: tuple[list[int], Lanes], right: tuple[list[int], Lanes]) -> None:
    transfer, compute = OPERATIONS[name]
    (a, of_a), (b, of_b) = left, right
    if name in ("divide", "remainder") and 0 in b:
        return
    numbers = [compute(x, y) % MODULUS for x, y in zip(a, b, strict=True)]
    assert holds(numbers, transfer(of_a, of_b))


@pytest.mark.parametrize("name", OPERATIONS)
def test_claims_hold_at_the_ends_of_the_type(name: str) -> None:
    """A constant from the upper half of an unsigned type is kept as a negative one."""
    transfer, compute = OPERATIONS[name]
    for a, b in product(ENDS, repeat=2):
        if name in ("divide", "remainder") and b == 0:
            continue
        first, second = (n - MODULUS if n >= MODULUS // 2 else n for n in (a, b))
        right = uniform(Level.BLOCK, WIDTH, constant=second)
        for left in (uniform(Level.BLOCK, WIDTH, a & -a), uniform(Level.BLOCK, WIDTH, constant=first)):
            assert holds([compute(a, b) % MODULUS] * WIDTH, transfer(left, right)), f"{a}, {b}"


@given(left=described(), count=st.integers(0, 31))
def test_shifts(left: tuple[list[int], Lanes], count: int) -> None:
    numbers, description = left
    by = uniform(Level.BLOCK, WIDTH, constant=count)
    assert holds([n << count & MODULUS - 1 for n in numbers], lanes.shift_left(description, by))
    assert holds([n >> count for n in numbers], lanes.shift_right(description, by))


@given(left=described(), count=st.integers(0, 3))
def test_shifts_by_a_count_that_differs(left: tuple[list[int], Lanes], count: int) -> None:
    numbers, description = left
    by = known(Level.BLOCK, tuple(lane % 4 for lane in range(WIDTH)), constant=count)
    counts = [count + lane % 4 for lane in range(WIDTH)]
    assert holds(
        [n << c & MODULUS - 1 for n, c in zip(numbers, counts, strict=True)], lanes.shift_left(description, by)
    )
    assert holds([n >> c for n, c in zip(numbers, counts, strict=True)], lanes.shift_right(description, by))


@given(left=described(), right=described(), which=st.booleans())
def test_a_choice_is_described_by_both(
    left: tuple[list[int], Lanes], right: tuple[list[int], Lanes], which: bool
) -> None:
    met = lanes.join(left[1], right[1])
    assert holds(left[0] if which else right[0], met)


def test_thread_numbers_stay_known_where_kernels_divide_them() -> None:
    thread = known(Level.WARP, tuple(range(32)), 32)
    by = {n: uniform(Level.BLOCK, 32, constant=n) for n in (8, 16, 32, 64)}
    assert lanes.divide_unsigned(thread, by[32]).uniform
    assert lanes.divide_unsigned(thread, by[64]).uniform
    assert lanes.divide_unsigned(thread, by[8]).offsets == tuple(lane // 8 for lane in range(32))
    assert lanes.remainder_unsigned(thread, by[16]).offsets == tuple(lane % 16 for lane in range(32))
    assert str(lanes.remainder_unsigned(thread, by[64])) == "warp base + lane*1"
