"""Golden IR of control flow: the CHECK lines of each function say what the meta-stage makes of it."""

from __future__ import annotations

import inspect
from typing import Any

import pytest

import triptych as tt
from tests.ir.filecheck import check, directives


@tt.jit
def dynamic_loop(x: tt.Int32) -> Any:
    # CHECK: func.func @dynamic_loop(%arg0: i32) -> i32
    # CHECK-COUNT-1: scf.for
    # CHECK-NEXT: arith.muli
    # CHECK-NEXT: arith.addi
    # CHECK-NEXT: scf.yield
    # CHECK-NOT: scf.for
    # CHECK-NOT: arith.muli
    # CHECK: return
    total = 0
    for i in range(4):
        total = total * x + i
    return total


@tt.jit
def unrolled_loop(x: tt.Int32) -> Any:
    # CHECK: func.func @unrolled_loop
    # CHECK-NOT: scf.
    # CHECK-COUNT-4: arith.muli
    # CHECK-NOT: arith.muli
    # CHECK-NOT: scf.
    # CHECK: return
    total = 0
    for i in tt.range_constexpr(4):
        total = total * x + i
    return total


@tt.jit
def hinted_loop(n: tt.Int32) -> Any:
    # CHECK: scf.for
    # CHECK: triptych.unroll = 4
    total = 0
    for i in tt.range(n, unroll=4):
        total += i
    return total


@tt.jit
def joined_branches(x: tt.Int32) -> Any:
    # CHECK: %{{[0-9]+}} = arith.cmpi sgt
    # CHECK-NEXT: scf.if %{{[0-9]+}} -> (i32, f32) {
    # CHECK: arith.addi
    # CHECK: scf.yield
    # CHECK: } else {
    # CHECK: arith.subi
    # CHECK: scf.yield %{{[0-9]+}}, %{{.*}} : i32, f32
    # CHECK-NOT: scf.if
    # CHECK: return
    if x > 3:
        y, z = x + 1, 0.5
    else:
        y, z = x - 1, 1.5
    return y * z


@tt.jit
def branch_without_assignments(x: tt.Int32) -> Any:
    # CHECK: scf.if %{{[0-9]+}} {
    # CHECK-NEXT: gpu.printf
    # CHECK-NOT: scf.yield
    # CHECK: return %arg0
    if x > 3:
        tt.printf("large\n")
    return x


@tt.jit
def early_return(n: tt.Int32, limit: tt.Int32) -> Any:
    # CHECK: func.func @early_return
    # CHECK-NOT: scf.for
    # CHECK: scf.while
    # CHECK: scf.condition
    # CHECK: } do {
    # CHECK: scf.if
    # CHECK-NOT: scf.while
    # CHECK: return %
    for i in range(n):
        if i * i > limit:
            return i
    return -1


@tt.jit
def loop_left_by_break(n: tt.Int32) -> Any:
    # CHECK: scf.while
    # CHECK: scf.condition
    # CHECK-NOT: scf.while
    # CHECK: return
    total = 0
    while True:
        total += n
        if total > 100:
            break
    return total


@tt.jit
def loop_that_changes_no_variable(n: tt.Int32) -> None:
    # CHECK: scf.while
    # CHECK: scf.condition
    # CHECK-NOT: scf.while
    # CHECK: return
    while True:
        tt.printf("%d", n)
        if n > 100:
            break


@tt.jit
def short_circuit(x: tt.Int32, y: tt.Int32) -> Any:
    # CHECK: arith.cmpi sgt, %arg0
    # CHECK: scf.if %{{[0-9]+}} -> (i1) {
    # CHECK: cf.assert
    # CHECK: arith.cmpi eq
    # CHECK: scf.yield
    # CHECK: } else {
    # CHECK: scf.yield
    # CHECK: scf.if
    # CHECK-NOT: cf.assert
    # CHECK: return
    if x > 0 and y // x == 2:
        return 1
    return 0


@tt.jit
def chained_comparison(low: tt.Int32, x: tt.Int32, high: tt.Int32) -> Any:
    # CHECK: arith.cmpi slt, %arg0, %arg1
    # CHECK-NEXT: scf.if %{{[0-9]+}} -> (i1) {
    # CHECK-NEXT: arith.cmpi slt, %arg1, %arg2
    # CHECK-NOT: arith.cmpi
    # CHECK: return
    return low < x < high


@tt.jit
def static_branch(x: tt.Int32, wide: tt.Constexpr[Any]) -> Any:
    # CHECK: func.func @static_branch(%arg0: i32) -> i64
    # CHECK-NOT: scf.if
    # CHECK: arith.extsi %arg0 : i32 to i64
    # CHECK-NEXT: return
    if tt.const_expr(wide):
        return x.to(tt.Int64)
    return x


@tt.jit
def plain_python_condition(x: tt.Int32, wide: tt.Constexpr[Any]) -> Any:
    # CHECK: func.func @plain_python_condition
    # CHECK-NOT: scf.if
    # CHECK: return
    return x + 1 if wide else x


CASES = [
    (dynamic_loop, (10,)),
    (unrolled_loop, (10,)),
    (hinted_loop, (10,)),
    (joined_branches, (1,)),
    (branch_without_assignments, (1,)),
    (early_return, (10, 20)),
    (loop_left_by_break, (7,)),
    (loop_that_changes_no_variable, (7,)),
    (short_circuit, (1, 2)),
    (chained_comparison, (1, 2, 3)),
    (static_branch, (1, True)),
    (plain_python_condition, (1, True)),
]


@pytest.mark.parametrize(("function", "arguments"), CASES, ids=[function.__name__ for function, _ in CASES])
def test_control_flow(function: Any, arguments: tuple[Any, ...]) -> None:
    check(tt.compile(function, *arguments).mlir, directives(inspect.getsource(function)))
