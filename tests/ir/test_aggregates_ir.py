"""Golden IR of aggregates: objects are gone at the meta-stage, only their numbers cross."""

from __future__ import annotations

import inspect
from dataclasses import dataclass
from typing import Any, NamedTuple

import pytest

import triptych as tt
from tests.ir.filecheck import check, directives


class Pair(NamedTuple):
    first: Any
    second: Any


@dataclass
class Config:
    """Everything about a computation that is decided before it runs."""

    scale: float
    shifts: tuple[int, ...]
    negate: bool = False

    def apply(self, value: Any) -> Any:
        if self.negate:
            value = -value
        for shift in self.shifts:
            value = value + shift
        return value * self.scale


@tt.jit
def constexpr_object(x: tt.Float32, config: tt.Constexpr[Any]) -> Any:
    # CHECK: func.func @constexpr_object(%arg0: f32) -> f32 {
    # CHECK-NOT: scf.
    # CHECK-NOT: call
    # CHECK-NOT: arith.negf
    # CHECK: arith.addf %arg0
    # CHECK: arith.addf
    # CHECK: arith.constant 5.000000e-01 : f32
    # CHECK-NEXT: arith.mulf
    # CHECK-NEXT: return
    return config.apply(x)


@tt.jit
def constexpr_lambda(x: tt.Int32, function: tt.Constexpr[Any]) -> Any:
    # CHECK: func.func @constexpr_lambda(%arg0: i32) -> i32 {
    # CHECK-NEXT: arith.muli %arg0, %arg0
    # CHECK-NEXT: return
    return function(x)


@tt.jit
def tuple_argument(pair: Pair) -> Any:
    # CHECK: func.func @tuple_argument(%arg0: i32, %arg1: f32) -> (f32, i32)
    # CHECK-NEXT: return %arg1, %arg0 : f32, i32
    return Pair(pair.second, pair.first)


@tt.jit
def carried_tuple(n: tt.Int32) -> Any:
    # CHECK: scf.for
    # CHECK: iter_args(%{{.*}}, %{{.*}}) -> (i32, i32)
    # CHECK-NEXT: arith.addi
    # CHECK-NEXT: scf.yield
    pair = Pair(0, 1)
    for _ in range(n):
        pair = Pair(pair.second, pair.first + pair.second)
    return pair.first


CASES = [
    (constexpr_object, (1.0, Config(0.5, (1, 2)))),
    (constexpr_lambda, (1, lambda v: v * v)),
    (tuple_argument, (Pair(1, 2.0),)),
    (carried_tuple, (10,)),
]


@pytest.mark.parametrize(("function", "arguments"), CASES, ids=[function.__name__ for function, _ in CASES])
def test_aggregates(function: Any, arguments: tuple[Any, ...]) -> None:
    check(tt.compile(function, *arguments).mlir, directives(inspect.getsource(function)))
