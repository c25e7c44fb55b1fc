"""Functions that many threads and processes compile and call at once, each beside its meaning in plain Python."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import triptych as tt
from triptych.metastage.trace.trace import active


def weighted_sum(n: tt.Int32, weight: tt.Int32) -> Any:
    total = 0
    for i in range(n):
        if i % 3 == 0:
            total += i * weight
        elif i > 40:
            break
        else:
            total -= 1
    return total


def collatz_steps(start: tt.Int32) -> Any:
    steps = 0
    value = start
    while value != 1:
        value = value // 2 if value % 2 == 0 else 3 * value + 1
        steps += 1
    return steps


def ordered(a: tt.Float64, b: tt.Float64) -> Any:
    return (a, b) if a <= b else (b, a)


def polynomial(x: tt.Int32, degree: tt.Constexpr[int]) -> Any:
    value = 1
    for _ in tt.range_constexpr(degree):
        value = value * x + 1
    return value


def python_polynomial(x: int, degree: int) -> int:
    value = 1
    for _ in range(degree):
        value = value * x + 1
    return value


@dataclass(frozen=True, slots=True)
class Case:
    """A compiled function, its oracle, and the arguments of its call number `i`."""

    compiled: Callable[..., Any]
    oracle: Callable[..., Any]
    arguments: Callable[[int], tuple[Any, ...]]


def fresh_cases() -> tuple[Case, ...]:
    """Functions that nothing has compiled yet."""
    return (
        Case(tt.jit(weighted_sum), weighted_sum, lambda i: (i % 60, i % 7 - 3)),
        Case(tt.jit(collatz_steps), collatz_steps, lambda i: (i % 97 + 1,)),
        Case(tt.jit(ordered), ordered, lambda i: (i * 0.5, 40.25 - i)),
        Case(tt.jit(polynomial), python_polynomial, lambda i: (i % 11, i % 4)),
    )


def wrong_results(cases: tuple[Case, ...], calls: int) -> list[str]:
    """Make `calls` calls and describe those whose results differ from Python's."""
    wrong: list[str] = []
    for i in range(calls):
        case = cases[i % len(cases)]
        arguments = case.arguments(i)
        found, expected = case.compiled(*arguments), case.oracle(*arguments)
        if found != expected:
            wrong.append(f"{case.compiled!r}{arguments}: {found}, expected {expected}")
    return wrong


def stop_llvm() -> None:
    """Emit an instruction that no assembler knows: LLVM ends the process that compiles it."""
    trace = active()
    assert trace is not None
    texts = {"asm_string": "no such instruction", "constraints": ""}
    attributes = {name: trace.builder.string(text) for name, text in texts.items()}
    trace.operation("llvm.inline_asm", attributes={**attributes, "has_side_effects": trace.builder.attribute("unit")})


def fatal(n: tt.Int32) -> tt.Int32:
    stop_llvm()
    return n
