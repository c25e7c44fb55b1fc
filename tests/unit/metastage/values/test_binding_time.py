"""Annotations of parts: items of tuples and lists, fields of dataclasses and NamedTuples have the type that is said."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, List, NamedTuple, Tuple  # noqa: UP035 - as programs write them

import numpy as np
import pytest

import triptych as tt
from triptych import cute
from triptych.support.errors import TriptychWarning

if TYPE_CHECKING:
    from collections.abc import Sequence

LARGE = 10**9 + 7


@dataclass
class Plain:
    wide: tt.Int64
    free: Any
    pair: tuple[tt.Int64, tt.Int8]
    unknown: Sequence[int] | None = None


@dataclass
class Inherited(Plain):
    more: tt.Float64 = 1  # type: ignore[assignment]


class Named(NamedTuple):
    wide: tt.Int64
    free: int = 3


@tt.jit
def of_dataclass(a: Plain) -> Any:
    return a.wide * a.wide, a.free, a.pair[0] * a.pair[0]


@tt.jit
def inherited(a: Inherited) -> Any:
    return a.wide * a.wide, a.more * 0.1


@tt.jit
def of_named(n: Named) -> Any:
    return n.wide * n.wide, n.free * n.free


@tt.jit
def of_items(t: tuple[tt.Int64, tt.Float64], items: list[tt.Int64], many: tuple[tt.Int64, ...]) -> Any:
    return t[0] * t[0], t[1] * 0.1, items[0] * items[1], many[2] * many[2]


@tt.jit
def of_bare(t: Tuple, items: List) -> Any:  # type: ignore[type-arg]  # noqa: UP006
    return t[0] + t[1] * items[0]


def test_a_bare_container_says_nothing_of_its_items() -> None:
    assert of_bare((2, 0.5), [3]) == 3.5


def test_fields_have_the_type_that_is_said() -> None:
    number: Any = LARGE
    assert of_dataclass(Plain(number, 2, (number, number % 100))) == (LARGE**2, 2, LARGE**2)
    assert of_dataclass(Plain(number, 2.5, (number, number % 100))) == (LARGE**2, 2.5, LARGE**2)
    assert inherited(Inherited(number, 2, (number, number % 100))) == (LARGE**2, 0.1)


def test_named_tuples() -> None:
    number: Any = LARGE
    assert of_named(Named(number)) == (LARGE**2, 9)


def test_items_of_tuples_and_lists() -> None:
    assert of_items((LARGE, 1), [LARGE, LARGE], (1, 2, LARGE)) == (LARGE**2, 0.1, LARGE**2, LARGE**2)


def test_a_number_of_another_type_is_refused() -> None:
    with pytest.raises(TypeError, match=r"argument 't\[0\]' must be an int"):
        of_items((1.5, 1), [1, 1], (1, 2, 3))


def test_typed_numbers_keep_their_type() -> None:
    @tt.jit
    def kinds(t: tuple[tt.Int64, tt.Int64]) -> Any:
        return type(t[0]).width

    assert kinds((tt.Int16(1), 2)) == 16
    assert kinds((1, 2)) == 64


def test_an_annotation_of_another_length_says_nothing() -> None:
    @tt.jit
    def first(t: tuple[tt.Int64, tt.Int64]) -> Any:
        return type(t[0]).width

    assert first((1, 2, 3)) == 32


@dataclass
class WithStaticField:
    x: Any
    mode: tt.Constexpr[int]


class NamedWithStaticFields(NamedTuple):
    x: Any
    negative: tt.Constexpr[bool] = False
    name: tt.Constexpr[str] = "plain"


def test_constexpr_fields_are_part_of_the_program() -> None:
    """Whatever they hold: another value is another program, and Python computes with it."""

    @tt.jit
    def of_dataclass(a: WithStaticField) -> Any:
        assert type(a.mode) in (int, float)
        return a.x * a.mode

    @tt.jit
    def of_tuple(a: NamedWithStaticFields) -> Any:
        assert type(a.negative) is bool
        return -a.x if tt.const_expr(a.negative) else a.x + len(a.name)

    modes: list[Any] = [2, 3, 2, 2.0]
    assert [of_dataclass(WithStaticField(5, mode)) for mode in modes[:3]] == [10, 15, 10]
    assert of_dataclass(WithStaticField(5, modes[3])) == 10.0
    assert [of_tuple(NamedWithStaticFields(5, negative)) for negative in (True, False)] == [-5, 10]
    assert of_tuple(NamedWithStaticFields(5, name="long name")) == 14


class NamedByProtocol(NamedTuple):
    """As QuACK writes them: the protocol counts only what is a number of the language."""

    x: tt.Int32
    more: tt.Int32 = tt.Int32(1)

    def __c_pointers__(self) -> list[Any]:
        return [pointer for each in self if hasattr(each, "__c_pointers__") for pointer in each.__c_pointers__()]


def test_parts_of_a_named_tuple_are_its_items() -> None:
    @tt.jit
    def f(a: NamedByProtocol) -> Any:
        return a.x + a.more

    compiled = tt.compile(f, NamedByProtocol(tt.Int32(5)))
    number: Any = 8
    assert compiled(NamedByProtocol(tt.Int32(5), number)) == 13


def test_a_compiled_function_keeps_its_constexpr_fields() -> None:
    @tt.jit
    def f(a: WithStaticField) -> Any:
        return a.x * a.mode

    compiled = tt.compile(f, WithStaticField(1, 2))
    left_out: Any = None
    assert compiled(WithStaticField(7, 2)) == 14
    assert compiled(WithStaticField(7, left_out)) == 14
    with pytest.raises(TypeError, match=r"'a.mode' was 2 when the function was compiled"):
        compiled(WithStaticField(7, 3))


def test_a_hint_that_no_loop_has_changes_nothing() -> None:
    @tt.jit
    def total(n: tt.Int32) -> Any:
        found = tt.Int32(0)
        for i in tt.range(n, unfoll_full=True):  # type: ignore[call-arg,unused-ignore]
            found += i
        return found

    with pytest.warns(TriptychWarning, match="no hint `unfoll_full`: .*; did you mean `unroll_full`"):
        assert total(5) == 10


def test_zeros_of_kinds_of_numbers() -> None:
    assert (tt.Float.zero, tt.Integer.zero, tt.Float16.zero, tt.Int8.zero) == (0.0, 0, 0.0, 0)


@dataclass
class Scheduler:
    """As QuACK passes parameters of a scheduler to kernels."""

    rows: tt.Int32
    splits: tt.Constexpr[int] = 1
    order: tt.Constexpr[str] = "along m"


def test_constexpr_fields_are_static_in_kernels() -> None:
    @tt.kernel
    def kernel(out: cute.Tensor, scheduler: Scheduler) -> None:
        i, _, _ = cute.arch.thread_idx()
        assert (type(scheduler.splits), scheduler.order) == (int, "along m")
        out[i] = scheduler.rows if tt.const_expr(scheduler.splits == 1) else scheduler.rows * scheduler.splits

    @tt.jit
    def host(out: cute.Tensor, rows: tt.Int32, splits: tt.Constexpr[int]) -> None:
        kernel(out, Scheduler(rows, splits)).launch(grid=1, block=32)

    out = np.zeros(32, np.int32)
    for splits in (1, 3):
        host(out, 5, splits)
        assert (out == 5 * splits).all()
