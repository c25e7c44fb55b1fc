"""What tracing costs for each operation emitted, for long traces of several kinds; and what follows, for scale.

    python -m benchmarks.trace_cost [--json]

Times are CPU time of this process, the smallest of several traces. The first row is the floor: creating operations
through the MLIR bindings with nothing around it.
"""

from __future__ import annotations

import sys
import time
from collections.abc import Callable, Sequence
from types import FunctionType
from typing import Any

import triptych as tt
from benchmarks.rows import Row, run
from triptych.dsl import BASE
from triptych.ir import bindings
from triptych.ir.builder import Builder
from triptych.ir.modules import SerializedModule
from triptych.metastage.arguments.specs import shape_of
from triptych.metastage.tracer import Specialization, trace
from triptych.objectstage.lower import lower
from triptych.objectstage.target import CompileOptions, find_target
from triptych.prestage.rewrite import rewrite
from triptych.stages import Traced

SIZES = (1_000, 10_000, 30_000)
SECONDS = 2.0
"""Of tracing, again and again, for each row: on a busy machine some traces run undisturbed."""
BAR = 15.0


def arithmetic(n: tt.Int32, count: tt.Constexpr[int]) -> Any:
    a = n
    b = n + 1
    for _ in tt.range_constexpr(count // 4):
        a = a + b
        b = b * a
        a = a - b
        b = b ^ a
    return a


def nested(n: tt.Int32, count: tt.Constexpr[int]) -> Any:
    a = n
    for _ in tt.range_constexpr(count // 17):
        if a > 3:
            a = a + 1
        elif a < n:
            a = a - n
        for i in range(n):
            if i < a:
                a = a + i
    return a


def step(x: tt.Int32, y: tt.Int32) -> Any:
    z = x + y
    return z * y


def helper_calls(n: tt.Int32, count: tt.Constexpr[int]) -> Any:
    a = n
    for _ in tt.range_constexpr(count // 2):
        a = step(a, n)
    return a


def mixed(n: tt.Int32, count: tt.Constexpr[int]) -> Any:
    a = n
    b = n + 1
    for k in tt.range_constexpr(count // 36):
        a = a * 5 + b * 3 - k
        b = step(b, a) ^ (a >> 2)
        if a > b:
            a = a - b + k
            b = b + a * 2
        else:
            b = (b - a) & 1023
        for i in range(3):
            b = b + i * a + 7
            a = a ^ b
    return a


KINDS: dict[str, Callable[..., Any]] = {
    "arithmetic": arithmetic,
    "helper calls": helper_calls,
    "mixed program": mixed,
    "only branches and loops": nested,
}


def traced(function: Callable[..., Any], size: int) -> tuple[Traced, float]:
    """The trace and the CPU seconds it took."""
    assert isinstance(function, FunctionType)
    rewritten = rewrite(function)
    specialization = Specialization({"count": size}, {"n": shape_of(3, tt.Int32, "n", None)})
    best, began = float("inf"), time.process_time()
    while time.process_time() - began < SECONDS or best == float("inf"):
        started = time.process_time()
        result, _ = trace(rewritten, specialization, BASE.hooks, rewrite)
        best = min(best, time.process_time() - started)
    return result, best


def operations_in(kept: SerializedModule) -> int:
    """How many operations a module has."""
    module, count = kept.read(), 0

    def visit(_operation: Any) -> Any:
        nonlocal count
        count += 1
        return bindings.mlir().WalkResult.ADVANCE

    module.operation.walk(visit)
    return count


def floor(size: int) -> float:
    """CPU seconds of creating `size` additions and nothing else."""
    builder = Builder()
    integer, location = builder.type("i32"), builder.unknown
    module = builder.module(location)
    _, block = builder.function(module, "f", [integer], location)
    builder.insertion = builder.at_end(block)
    value = block.arguments[0]
    started = time.process_time()
    for _ in range(size):
        value = builder.value("arith.addi", (value, value), integer, location=location)
    seconds = time.process_time() - started
    assert module is not None  # kept until here: operations die with their module
    return seconds


def what_follows(module: Traced, operations: int) -> list[Row]:
    """Lowering (this process) and code generation without optimisation (a worker) of the same trace."""
    target = find_target("cpu")
    target.start()
    started = time.process_time()
    lowered = lower(module, target)
    lowering = time.process_time() - started
    began = time.perf_counter()
    target.codegen(lowered, CompileOptions(opt_level=0))
    generating = time.perf_counter() - began
    return [
        Row(f"lowering, mixed, {operations:,} operations", lowering / operations * 1e6, "us CPU/op"),
        Row(f"code generation at -O0, mixed, {operations:,} operations", generating / operations * 1e6, "us wall/op"),
    ]


def measure() -> Sequence[Row]:
    """Microseconds for each operation."""
    lowest = min(floor(10_000) for _ in range(20)) / 10_000
    rows = [Row("floor: the bindings alone", lowest * 1e6, "us CPU/op")]
    for kind, function in KINDS.items():
        for size in SIZES:
            result, seconds = traced(function, size)
            operations = operations_in(result.module)
            rows.append(Row(f"trace, {kind}, {operations:,} operations", seconds / operations * 1e6, "us CPU/op", BAR))
            if kind == "mixed program" and size == SIZES[1]:
                rows += what_follows(result, operations)
    return rows


if __name__ == "__main__":
    sys.exit(run(__doc__, measure))
