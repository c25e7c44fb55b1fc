"""`in` and indexing follow the protocols of Python for every class, with run-time operands too."""

from __future__ import annotations

import enum
import math
from collections import Counter, OrderedDict, UserList, defaultdict, deque
from collections.abc import Callable, Iterator, Sequence
from types import MappingProxyType
from typing import Any

import numpy as np
import pytest

import triptych as tt
from tests.unit.metastage.compiled import outcome
from triptych.diagnostics.runtime_errors import NanMembershipError
from triptych.metastage.trace.errors import OperandTypeError, StaticRequiredError


class Interval:
    """Unpacks to its ends, and contains what is between them."""

    def __iter__(self) -> Iterator[int]:
        return iter((2, 10))

    def __contains__(self, n: Any) -> Any:
        if n == 7:
            return False
        return n >= 2 and n < 10


class Tens:
    """Only the oldest protocol: items by number until IndexError."""

    def __getitem__(self, index: int) -> int:
        if index >= 3:
            raise IndexError
        return index * 10


class Pair(Sequence[int]):
    """Inherits its `__contains__`."""

    def __len__(self) -> int:
        return 2

    def __getitem__(self, index: Any) -> Any:
        if index >= 2:
            raise IndexError
        return index + 4


class Generated:
    def __iter__(self) -> Iterator[int]:
        yield 1
        yield 5


class OneBased(list[int]):
    """Indexed in another way than it is stored, and iterated as if it were empty."""

    def __getitem__(self, index: Any) -> Any:
        return super().__getitem__(index - 1)

    def __iter__(self) -> Iterator[int]:
        return iter(())


class Clamped(tuple[int, ...]):
    def __getitem__(self, index: Any) -> Any:
        if index > 2:
            index = 2
        return tuple.__getitem__(self, index)


class Others(list[int]):
    def __contains__(self, n: Any) -> Any:
        return not super().__contains__(n)


class Half:
    """Its equality can fail, so it must not be asked after the item has been found."""

    def __eq__(self, other: Any) -> Any:
        return 10 // other == 2

    __hash__ = None  # type: ignore[assignment]


class Static:
    @staticmethod
    def __contains__(n: Any) -> Any:
        return n > 4


class Member(enum.IntEnum):
    ONE = 1
    FIVE = 5


ONE_BASED, CLAMPED = OneBased([0, 5, 10]), Clamped((0, 5, 10))

CONTAINERS: tuple[Any, ...] = (
    Interval(),
    Tens(),
    Pair(),
    Generated(),
    ONE_BASED,
    CLAMPED,
    Others([1, 5]),
    Static(),
    [0, Half(), 10],
    (Member.ONE, Member.FIVE),
    [1, "a", None, (1,), 5.0],
    {1: 2, 5: 6, "a": 1, (1, 2): 3},
    {1: 2, 5: 6}.keys(),
    {1: 2, 5: 6}.values(),
    {1, 5.0, None},
    {True, 10.0},
    frozenset({10}),
    deque([1, 5]),
    OrderedDict({5: 1}),
    Counter([5, 5]),
    defaultdict(int, {5: 1}),
    range(0, 11, 5),
    [300, -(2**40), 2**70],
    [],
)
NUMBERS = (-3, 0, 1, 2, 5, 6, 7, 10, 20)


@pytest.mark.parametrize("container", CONTAINERS, ids=lambda c: type(c).__name__)
@pytest.mark.parametrize("name", ["Int8", "Int32", "Uint64", "Float32"])
def test_containers(container: Any, name: str) -> None:
    def inside(n: Any) -> Any:
        return (1 if n in container else 0), (1 if n not in container else 0)

    inside.__annotations__ = {"n": getattr(tt, name)}
    native = tt.jit(inside)
    for n in NUMBERS:
        if n >= 0 or name != "Uint64":
            assert outcome(native, n) == outcome(inside, float(n) if name == "Float32" else n), n


@pytest.mark.parametrize("value", [True, False])
def test_truth_values(value: bool) -> None:
    def inside(b: tt.Boolean) -> Any:
        return b in (1, 2.5), b in {0}, b in (True,), b in range(1), b in [1.0], b in {"a": 1}, 1 in (b,), 0 in [b]

    assert tt.jit(inside)(value) == inside(value)  # type: ignore[arg-type]


def test_run_time_items() -> None:
    def inside(n: tt.Int32, m: tt.Int64) -> Any:
        return 5 in [n, 3], 3 in [n, 3], n in (m, 7), m in [n], n not in (m,), n in [n]

    for n, m in ((5, 5), (5, 6), (7, 2**40)):
        assert tt.jit(inside)(n, m) == inside(n, m)  # type: ignore[arg-type]


def test_integers_and_floats_are_compared_exactly() -> None:
    def inside(n: tt.Int64, x: tt.Float64) -> Any:
        return n in (2.0**53, 1.5), n in {2.0**63}, n in [x], x in (n, 3)

    for n in (2**53, 2**53 + 1, 2**63 - 1):
        for x in (2.0**53, 2.0**63, 3.0):
            assert tt.jit(inside)(n, x) == inside(n, x)  # type: ignore[arg-type]


def test_nan_is_found_where_it_is_the_same_object() -> None:
    def itself(x: tt.Float32) -> Any:
        return x in [x]

    def other(x: tt.Float32, y: tt.Float32) -> Any:
        return x in (0.0, y)

    def constant(x: tt.Float32) -> Any:
        return x in [math.nan, 1.0]

    assert tt.jit(itself)(math.nan) is True
    assert [tt.jit(other)(*pair) for pair in ((1.0, 1.0), (1.0, math.nan), (math.nan, 1.0))] == [True, False, False]
    assert tt.jit(constant)(1.0) is True
    with pytest.raises(NanMembershipError):
        tt.jit(other)(math.nan, math.nan)
    with pytest.raises(NanMembershipError):
        tt.jit(constant)(math.nan)


class Endless:
    def __getitem__(self, index: int) -> int:
        return index


class Naturals:
    def __iter__(self) -> Iterator[int]:
        n = 0
        while True:
            yield n
            n += 1


class NoContainer:
    __contains__ = None

    def __iter__(self) -> Iterator[int]:
        return iter((1, 2))


REFUSED: tuple[tuple[Callable[[], Any], type[Exception]], ...] = (
    (Endless, StaticRequiredError),
    (Naturals, StaticRequiredError),
    (NoContainer, OperandTypeError),
    (object, OperandTypeError),
    (lambda: "abc", OperandTypeError),
    (lambda: b"abc", StaticRequiredError),
    (lambda: iter([1, 2]), StaticRequiredError),
    (lambda: (i for i in (1, 2)), StaticRequiredError),
    (lambda: np.arange(3), StaticRequiredError),
    (lambda: MappingProxyType({1: 1}), StaticRequiredError),
    (lambda: {1: 1}.items(), StaticRequiredError),
    (lambda: {Member.ONE}, StaticRequiredError),
    (lambda: UserList([1, 2]), StaticRequiredError),
)


@pytest.mark.parametrize(("make", "error"), REFUSED)
def test_what_python_would_have_to_decide_now_is_refused(make: Callable[[], Any], error: type[Exception]) -> None:
    container = make()

    def inside(n: tt.Int32) -> Any:
        return n in container

    with pytest.raises(error):
        tt.jit(inside)(1)


def test_known_items_stay_pythons() -> None:
    def inside(n: tt.Int32) -> Any:
        found = "a" in "abc", "x" not in {"x": 1}, (1, 2) in {(1, 2)}, [1] in [[1]], None in [None], int in (int, str)
        return found, n

    assert tt.jit(inside)(1) == inside(1)  # type: ignore[arg-type]


# indexing ---------------------------------------------------------------------------------------------------------
ITEMS: tuple[Any, ...] = (
    list(range(300)),
    tuple(range(0, 900, 3)),
    range(5, 50, 7),
    [7],
    CLAMPED,
)


@pytest.mark.parametrize("items", ITEMS, ids=lambda items: type(items).__name__)
@pytest.mark.parametrize("name", ["Int8", "Uint8", "Int32", "Uint64", "Int64"])
def test_indices_of_every_type(items: Any, name: str) -> None:
    def item(n: Any) -> Any:
        return items[n]

    item.__annotations__ = {"n": getattr(tt, name)}
    native = tt.jit(item)
    low = -128 if name.startswith("Int") else 0
    for n in (0, 1, 2, 3, 6, 7, 126, 127, low, -1, -2, -7, -8, *((2**32, 2**33 - 1) if "64" in name else ())):
        if n >= low:
            assert outcome(native, n) == outcome(item, n), n


def test_a_class_decides_what_its_indices_mean() -> None:
    def item(n: tt.Int32) -> Any:
        return ONE_BASED[n], n in ONE_BASED

    for n in (-1, 0, 1, 2, 3, 4):
        assert outcome(tt.jit(item), n) == outcome(item, n)


@pytest.mark.parametrize("items", [(10, 20), [10, 20], range(2)])
def test_a_float_is_no_index(items: Any) -> None:
    def item(x: tt.Float32) -> Any:
        return items[x]

    with pytest.raises(OperandTypeError):
        tt.jit(item)(1.0)


def test_methods_of_builtin_classes_by_name() -> None:
    def named(n: tt.Int32) -> Any:
        items = [4, 5, 6]
        return list.__getitem__(items, n), (4, 5, 6).__getitem__(n), list.__contains__(items, n), {5: 1}.__contains__(n)

    for n in (0, 2, -1):
        assert tt.jit(named)(n) == named(n)  # type: ignore[arg-type]
