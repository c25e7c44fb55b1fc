"""Members of an enumeration of integers that a run-time condition chooses between."""

from __future__ import annotations

from enum import Enum, IntEnum
from typing import Any

import pytest

import triptych as tt
from triptych.metastage.trace.errors import JoinTypeError


class Order(IntEnum):
    ROWS = 0
    COLUMNS = 1


class Word(Enum):
    ROWS = 0
    COLUMNS = 1


@tt.jit
def chosen(n: tt.Int32) -> Any:
    order = Order.ROWS if n > 3 else Order.COLUMNS
    if n > 10:
        order = Order.ROWS
    same = Order.COLUMNS
    if n > 5:
        same = Order.COLUMNS
    return order == Order.ROWS, order * 10, same is Order.COLUMNS


@pytest.mark.parametrize("n", [1, 4, 11])
def test_the_number_of_the_member_crosses(n: int) -> None:
    assert chosen(n) == (n > 3, 0 if n > 3 else 10, True)


@tt.jit
def chosen_word(n: tt.Int32) -> Any:
    return (Word.ROWS if n > 3 else Word.COLUMNS) is Word.ROWS


def test_members_that_are_no_numbers_do_not_cross() -> None:
    with pytest.raises(JoinTypeError):
        chosen_word(1)
