"""Origin of run-time numbers: whether Python, running the function by itself, could have one of its own there.

What is loaded from tensors, their extents and strides, indices of threads, and what is computed of these are numbers
of the language in any case, so `isinstance(x, int)` has an answer. An argument that is a number, what `int(...)` gives,
and what a branch or a loop has chosen may be Python's own.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from triptych.ir import bindings
from triptych.ir.handles import Value
from triptych.metastage.trace.trace import Trace
from triptych.metastage.values.numeric import N, Numeric, trace_of

_PYTHONS = "numbers that Python may have itself"
_OUTSIDE = "what kernels receive, by what the host gives"
_READS = frozenset({"llvm.load", "llvm.atomicrmw", "llvm.cmpxchg"})
_CHOICES = frozenset({"arith.select"})


def note_of_python(number: N) -> N:
    """A number that is a Python number where nothing is compiled."""
    if number.is_dynamic:
        trace_of(number).tables[_PYTHONS][number.ir_value()] = True
    return number


def note_received(trace: Trace, inside: Sequence[Value], outside: Sequence[Value]) -> None:
    """What a kernel receives is what the host gives."""
    trace.tables[_OUTSIDE].update(zip(inside, outside, strict=True))


def is_surely_typed(number: Numeric) -> bool:
    """Whether it is no Python number, wherever the function runs."""
    trace = trace_of(number)
    pythons, outside = trace.tables[_PYTHONS], trace.tables[_OUTSIDE]
    pending: list[Value] = [number.ir_value()]
    seen: set[Any] = set()
    while pending:
        value = pending.pop()
        if value in seen:
            continue
        seen.add(value)
        if value in pythons:
            return False
        if value in outside:
            pending.append(outside[value])
            continue
        owner: Any = value.owner
        if isinstance(owner, bindings.mlir().Block):  # an argument: of the host's function what a tensor is made of
            if owner.owner.operation.name != "func.func":
                return False
        elif list(owner.operation.regions) or owner.operation.name in _CHOICES:
            return False
        elif owner.operation.name not in _READS:
            pending += owner.operation.operands
    return True
