from __future__ import annotations

import enum
import functools
import math
import operator
import re
import sys
import threading
import types
import typing
from collections import OrderedDict, defaultdict, deque, namedtuple
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from decimal import Decimal
from fractions import Fraction
from pathlib import PurePosixPath
from typing import Any, NamedTuple

import numpy
import pytest
from hypothesis import given
from hypothesis import strategies as st

from triptych.fingerprint import releases
from triptych.fingerprint.primitive_tokens import UnstableConstexprError, digest
from triptych.fingerprint.tokens import Walk, token


class Colour(enum.Enum):
    RED = 1
    BLUE = 2


class Rights(enum.Flag):
    READ = 1
    WRITE = 2


@dataclass(frozen=True)
class Frozen:
    width: int
    op: object = None


@dataclass
class Changing:
    width: int
    parts: list[int] = field(default_factory=list)


class Slotted:
    __slots__ = ("x", "y")

    def __init__(self, x: int) -> None:
        self.x = x


class Plain:
    def __init__(self, x: object) -> None:
        self.x = x


class PlainTwin:
    def __init__(self, x: object) -> None:
        self.x = x


class Point(NamedTuple):
    x: int
    y: int = 0


class ListOfMine(list[int]):
    pass


class Keyed:
    def __init__(self, x: int) -> None:
        self.x = x
        self.lock = threading.Lock()

    def __cache_key__(self) -> object:
        return self.x


class WithCachedProperty:
    def __init__(self, x: int) -> None:
        self.x = x

    @functools.cached_property
    def double(self) -> int:
        return 2 * self.x


def triple(x: int) -> int:
    return 3 * x


def adder(n: int) -> Callable[[int], int]:
    return lambda x: x + n


NAN = float("nan")
Pair = namedtuple("Pair", "a b")

DIFFERENT: list[list[object]] = [
    [1, True, 1.0, "1", b"1", 1 + 0j, (1,), [1], {1}, frozenset({1}), {1: 1}, Colour.RED, Rights.READ, Fraction(1)],
    [0.0, -0.0, NAN, -NAN, math.inf, -math.inf, 0, False, None, (), [], {}, set(), frozenset(), "", b"", ...],
    [10**5000, 10**5000 + 1, -(10**5000)],
    ["a\ud800", "a", "b"],
    [("a", "bc"), ("ab", "c"), ("abc",), (("a",), "bc")],
    [{"a": 1, "b": 2}, {"b": 2, "a": 1}, {"a": 2, "b": 1}, OrderedDict(a=1, b=2), defaultdict(int, a=1, b=2)],
    [Colour.RED, Colour.BLUE, Colour, Rights.READ | Rights.WRITE, Rights.READ, Rights.WRITE],
    [int, float, Frozen, Changing, Plain, PlainTwin, list[int], list[float], int | str, int | float],
    [typing.Annotated[int, 1], typing.Annotated[int, 2], typing.Any, typing.Literal["a"], typing.Literal["b"]],
    [Frozen(1), Frozen(2), Frozen(1, 2), Frozen(True), Changing(1), Plain(1), PlainTwin(1), Slotted(1), Point(1)],
    [Plain(1), Plain(1.0), Plain([1]), Plain(Plain(1))],
    [Slotted(1), Slotted(2)],
    [Point(1), Point(1, 1), (1, 0), Pair(1, 0), Pair(0, 1)],
    [ListOfMine([1]), ListOfMine([2]), [1], [2]],
    [triple, adder, adder(1), adder(2), lambda x: x + 1, lambda x: x + 2, len, max, operator.add, [].append],
    [
        functools.partial(triple, 1),
        functools.partial(triple, 2),
        functools.partial(adder, 1),
        functools.partial(triple),
    ],
    [Plain(1).__init__, Plain(2).__init__, Plain.__init__],  # type: ignore[misc]
    [math, re, sys],
    [deque([1, 2]), deque([2, 1]), deque([1, 2], 5)],
    [Decimal("1.0"), Decimal("1.00"), PurePosixPath("a"), PurePosixPath("b"), re.compile("a"), re.compile("b")],
    [numpy.arange(3), numpy.arange(4), numpy.arange(3.0), numpy.float32(1), numpy.float64(1), numpy.dtype("f4")],
    [slice(1), slice(1, 2), range(1), range(2), range(0, 4, 2)],
    [[[], []], [[[]]], [[]]],
    [(lambda: 1), (lambda: True), (lambda: 1.0), (lambda: -0.0), (lambda: 0.0)],
    [Keyed(1), Keyed(2), WithCachedProperty(1), WithCachedProperty(2)],
    [types.MappingProxyType({"a": 1}), types.MappingProxyType({"a": 2}), {"a": 1}],
    [types.SimpleNamespace(a=1), types.SimpleNamespace(a=2)],
]


@pytest.mark.parametrize("values", DIFFERENT, ids=range(len(DIFFERENT)))
def test_different_values_have_different_tokens(values: list[object]) -> None:
    digests = [digest(token(value)) for value in values]
    assert len(set(digests)) == len(values)
    assert [digest(token(value)) for value in values] == digests


def test_a_hook_of_ours_does_not_make_sys_a_users_module(monkeypatch: pytest.MonkeyPatch) -> None:
    """On a terminal `sys.excepthook` is Triptych's; reading all that `sys` holds would take minutes and gigabytes."""
    monkeypatch.setattr(sys, "excepthook", releases.release)
    assert releases.release("sys") == "python"


def test_all_modules_of_the_process_are_known_by_name() -> None:
    """Reading them would take minutes where many are loaded, and none of them is what a program means."""
    walk = Walk()
    assert walk.value({"all": sys.modules}) == Walk().value({"all": sys.modules})
    assert len(walk.changeable) == 1


SAME: list[Callable[[], object]] = [
    lambda: NAN,
    lambda: Frozen(1, triple),
    lambda: Changing(1, [2]),
    lambda: Plain([Plain(1)]),
    lambda: Slotted(3),
    lambda: Point(1, 2),
    lambda: {"a": {1, 2, 3}},
    lambda: frozenset({"x", "y", "z", ("t", 1)}),
    lambda: functools.partial(triple, 1),
    lambda: adder(5),
    lambda: Keyed(4),
    lambda: numpy.arange(5),
    lambda: numpy.dtype("f4"),
    lambda: typing.Annotated[int, 1],
    lambda: Plain(3).__init__,  # type: ignore[misc]
    lambda: {Colour.RED, Colour.BLUE},
]


@pytest.mark.parametrize("make", SAME, ids=range(len(SAME)))
def test_equal_content_made_twice_has_one_token(make: Callable[[], object]) -> None:
    assert token(make()) == token(make())


def test_addresses_are_no_part_of_a_token() -> None:
    kept = [Plain(n) for n in range(50)]
    assert len({digest(token(Plain(7))) for _ in kept}) == 1


def test_frozen_values_are_one_value_however_they_are_shared() -> None:
    one = Frozen(1)
    assert token((one, one)) == token((Frozen(1), Frozen(1)))


def test_cached_results_are_content() -> None:
    """Whether they were computed or assigned cannot be told."""
    fresh, used, assigned = WithCachedProperty(2), WithCachedProperty(2), WithCachedProperty(2)
    assert used.double == 4
    vars(assigned)["double"] = 5
    assert len({token(fresh), token(used), token(assigned)}) == 3


def test_flags_computed_before_do_not_show() -> None:
    before = token(Rights.READ)
    assert ~Rights.READ is Rights.WRITE
    assert token(Rights.READ) == before


def test_cycles_end() -> None:
    loop: list[Any] = [1]
    loop.append(loop)
    node = Plain(None)
    node.x = {"me": node}
    assert token(loop) != token([1, [1]])
    assert digest(token(node)) == digest(token(node))


def test_a_frozen_cycle_ends() -> None:
    one = Frozen(1)
    object.__setattr__(one, "op", one)
    assert token(one) != token(Frozen(1, Frozen(1)))


def test_recursive_functions_end() -> None:
    def even(n: int) -> bool:
        return n == 0 or odd(n - 1)

    def odd(n: int) -> bool:
        return n != 0 and even(n - 1)

    assert token(even) != token(odd)
    assert token(even) == token(even)


def test_sentinels_are_distinguished_by_identity() -> None:
    one, two = object(), object()
    assert token((one, one)) != token((one, two))
    assert token((one, two)) == token((two, one))


def test_two_lambdas_on_one_line() -> None:
    first, second = (lambda x: x + 1), (lambda x: x - 1)
    assert token(first) != token(second)


def test_a_wrapper_is_not_what_it_is_named_after() -> None:
    @functools.wraps(operator.add)
    def fake(a: int, b: int) -> int:
        return a - b

    assert token(fake) != token(operator.add)


def test_a_class_from_a_namespace_without_a_name_is_read() -> None:
    """Such a class says that it belongs to `builtins`."""

    def made(text: str) -> object:
        namespace: dict[str, object] = {}
        exec(text, namespace)
        return namespace["C"]

    assert token(made("class C:\n    x = 1")) != token(made("class C:\n    x = 2"))


def test_pickling_an_instance_does_not_change_its_class() -> None:
    """A process that sends a configuration to another one, and the one that gets it, have the same key for it."""

    @dataclass(frozen=True)
    class Tiles:
        m: int = 64

    before = token(Tiles), token(Tiles())
    Tiles().__reduce_ex__(2)  # what `pickle` does first
    assert "__slotnames__" in vars(Tiles)
    assert (token(Tiles), token(Tiles())) == before


def test_lru_cache_shows_the_function_it_wraps() -> None:
    def one(x: int) -> int:
        return x

    def two(x: int) -> int:
        return -x

    assert token(functools.lru_cache(one)) != token(functools.lru_cache(two))


def _generator() -> Iterator[int]:
    yield 1


UNSTABLE: list[Callable[[], object]] = [
    threading.Lock,
    _generator,
    lambda: Plain(threading.Lock()),
    lambda: {"deep": [threading.Lock()]},
    lambda: {adder(1), adder(2)},
    lambda: sys._getframe(),
]


@pytest.mark.parametrize("make", UNSTABLE, ids=range(len(UNSTABLE)))
def test_values_without_content_are_refused(make: Callable[[], object]) -> None:
    with pytest.raises(UnstableConstexprError) as caught:
        token(make())
    assert isinstance(caught.value, TypeError)
    assert "__cache_key__" in str(caught.value)
    assert "frozen dataclass" in str(caught.value)


def test_the_refusal_says_where() -> None:
    with pytest.raises(UnstableConstexprError, match=re.escape("config.x['deep'][0] is a _thread.lock")):
        Walk().strict_value(Plain({"deep": [threading.Lock()]}), "config")


def test_what_is_nested_too_deeply_is_refused() -> None:
    nested: list[Any] = []
    for _ in range(20_000):
        nested = [nested]
    with pytest.raises(UnstableConstexprError, match="nested too deeply"):
        token(nested)


def test_what_a_definition_holds_may_be_local_to_the_process() -> None:
    lock = threading.Lock()
    walk = Walk()
    assert walk.value([1, lock]) == Walk().value([1, lock])
    assert walk.value([1, lock]) != walk.value([2, lock])
    assert walk.value(lock) != walk.value(threading.Lock())
    assert not walk.portable


scalars = st.none() | st.booleans() | st.integers() | st.floats() | st.text() | st.binary() | st.sampled_from(Colour)
hashable = st.recursive(scalars, lambda inner: st.tuples(inner, inner) | st.frozensets(inner, max_size=3), max_leaves=6)
values = st.recursive(
    scalars | hashable,
    lambda inner: (
        st.lists(inner, max_size=3)
        | st.tuples(inner)
        | st.dictionaries(hashable, inner, max_size=3)
        | st.sets(hashable, max_size=3)
        | st.builds(Frozen, inner, inner)
        | st.builds(Plain, inner)
    ),
    max_leaves=10,
)


def spelt(value: object) -> object:
    """The oracle: a value as text that differs exactly when type or content differs."""
    match value:
        case float():
            return f"float {value.hex()} {math.copysign(1, value)}"
        case tuple() | list():
            return [type(value).__name__, *map(spelt, value)]
        case set() | frozenset():
            return [type(value).__name__, *sorted(map(repr, map(spelt, value)))]
        case dict():
            return ["dict", *([spelt(key), spelt(item)] for key, item in value.items())]
        case Frozen() | Plain():
            return [type(value).__name__, *map(spelt, vars(value).values())]
        case _:
            return f"{type(value).__name__} {value!r}"


@given(values, values)
def test_tokens_are_equal_exactly_when_values_are(one: object, other: object) -> None:
    assert (token(one) == token(other)) == (spelt(one) == spelt(other))
    assert (digest(token(one)) == digest(token(other))) == (spelt(one) == spelt(other))


@given(values)
def test_a_copy_has_the_same_token(value: object) -> None:
    assert token(_copied(value)) == token(value)


def _copied(value: Any) -> Any:
    match value:
        case tuple() | list() | set() | frozenset():
            return type(value)(map(_copied, value))
        case dict():
            return {_copied(key): _copied(item) for key, item in value.items()}
        case Frozen() | Plain():
            return type(value)(*map(_copied, vars(value).values()))
        case str():
            return "".join(list(value))
        case _:
            return value
