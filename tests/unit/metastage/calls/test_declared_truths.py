"""True and False given for a parameter that is a Boolean: run-time numbers that `const_expr` still knows."""

from __future__ import annotations

from typing import Any

import pytest

import triptych as tt
from triptych.metastage.trace.errors import StaticRequiredError


@tt.jit
def chosen(flag: tt.Boolean, n: tt.Int32) -> Any:
    assert isinstance(flag, tt.Boolean)
    found = n
    if tt.const_expr(not flag):
        found = n + 1
    if tt.const_expr(flag):
        found = n + 2
    return found


@tt.jit
def by_literals(n: tt.Int32) -> Any:
    return chosen(True, n), chosen(False, n)


def test_const_expr_knows_what_the_call_says() -> None:
    assert by_literals(10) == (12, 11)


def test_a_loop_on_such_a_parameter_is_one_at_run_time() -> None:
    @tt.jit
    def steps(again: tt.Boolean, n: tt.Int32) -> Any:
        count = tt.Int32(0)
        while again:
            count += 1
            again = count < n
        return count

    @tt.jit
    def outer(n: tt.Int32) -> Any:
        return steps(True, n)

    assert [outer(5), outer(0)] == [5, 1]


def test_a_condition_of_the_run_is_no_constant() -> None:
    @tt.jit
    def outer(n: tt.Int32) -> Any:
        return chosen(n > 3, n)

    with pytest.raises(StaticRequiredError, match="const_expr"):
        outer(1)
