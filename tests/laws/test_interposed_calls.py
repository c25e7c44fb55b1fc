"""Calls that traced code did not make are never traced: what Python runs in between leaves no trace in the program."""

from __future__ import annotations

import inspect
import sys
from collections.abc import Callable
from typing import Any

import pytest

import triptych as tt
from tests.ir.traced import traced_ir
from tests.laws.interposed import KINDS, nothing
from triptych import cute
from triptych.support.interrupts import defer_signals


@tt.jit
def small(x: tt.Int32) -> Any:
    tt.printf("small runs\n")
    return x + 1


def in_the_host(fire: Callable[[], Any]) -> Any:
    @tt.jit
    def outer(n: tt.Int32) -> Any:
        a = n * 7
        fire()
        return a + n

    return outer


def in_a_kernel(fire: Callable[[], Any]) -> Any:
    @tt.kernel
    def body(n: tt.Int32) -> None:
        a = n * 7
        fire()
        cute.printf("%d", a + n)

    @tt.jit
    def outer(n: tt.Int32) -> None:
        body(n).launch(grid=1, block=1)

    return outer


def in_a_nested_call(fire: Callable[[], Any]) -> Any:
    @tt.jit
    def inner(n: tt.Int32) -> Any:
        a = n * 7
        fire()
        return a

    @tt.jit
    def outer(n: tt.Int32) -> Any:
        return inner(n + 1) + n

    return outer


MOMENTS = (in_the_host, in_a_kernel, in_a_nested_call)


@pytest.mark.parametrize("moment", MOMENTS, ids=lambda moment: moment.__name__)
@pytest.mark.parametrize("name", KINDS)
def test_a_call_in_between_is_python_s(name: str, moment: Callable[..., Any], capfd: Any) -> None:
    assert small(1) == 2
    capfd.readouterr()
    got: list[Any] = []
    with KINDS[name](lambda: got.append(small(4))) as fire:
        program = moment(fire)
        with_it = defer_signals(lambda: traced_ir(program, 3))
    assert got == [5]
    assert capfd.readouterr().out == "small runs\n"
    assert with_it == traced_ir(moment(nothing), 3)


UNDECIDED = {"generator_that_is_dropped", "monitoring"}
"""Frames do not tell them from what a program calls: only calls of compiled functions are kept apart."""


@pytest.mark.parametrize("moment", MOMENTS, ids=lambda moment: moment.__name__)
@pytest.mark.parametrize("name", [name for name in KINDS if name not in UNDECIDED])
def test_operations_in_between_are_python_s(name: str, moment: Callable[..., Any], capfd: Any) -> None:
    def action() -> None:
        three = tt.Int32(3)
        tt.printf("%d said\n", three)
        got.append((three == 3, type(three), hasattr(tt.Int32, "mlir_type")))

    got: list[Any] = []
    with KINDS[name](action) as fire:
        program = moment(fire)
        with_it = defer_signals(lambda: traced_ir(program, 3))
    assert got == [(True, tt.Int32, False)]
    assert capfd.readouterr().out == "3 said\n"
    assert with_it == traced_ir(moment(nothing), 3)


def test_a_hook_that_computes_with_values_of_the_program_is_reported() -> None:
    told: list[str] = []

    def hook(frame: Any, event: str, _: object) -> Any:
        found = inspect.getargvalues(frame).locals.get("a")
        if not told and isinstance(found, tt.Int32):
            try:
                print(found + 1)
            except RuntimeError as error:
                told.append(str(error))
        return hook

    program = in_the_host(nothing)
    expected = traced_ir(program, 3)
    sys.settrace(hook)
    try:
        assert traced_ir(program, 3) == expected
    finally:
        sys.settrace(None)
    assert "used by code that the program has not called" in told[0]


def test_functions_passed_to_a_library_are_the_program_s() -> None:
    @tt.jit
    def outer(n: tt.Int32) -> Any:
        return sum(map(small, (n, 2, 3)))

    assert traced_ir(outer, 3).count("gpu.printf") == 3
