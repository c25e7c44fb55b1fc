"""Meta-stage, arithmetic on vectors: the emitters of scalar operators emit for every element of a vector at once.

Input: a trace and a number of elements. Output: what stands in for the trace in `arithmetic` and `conversion`, so that
an operator on tensors means, in every detail, what it means on numbers.
"""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from typing import Any, cast

from triptych.cute.memory.vectors import all_of, splat, vector_type
from triptych.metastage.trace.trace import Trace

_SCALAR_SUFFIX = re.compile(r"\.(?=(?:i|f|bf)\d)")
"""Before the type in the name of an overloaded intrinsic, as in `llvm.fptosi.sat.i32.f32`."""


def lanes(trace: Trace, count: int) -> Trace:
    """The trace as emitters of operators see it when they work on vectors of `count` elements."""
    return cast(Trace, _Lanes(trace, count))


class _Lanes:
    """The part of a trace that emits operators."""

    def __init__(self, trace: Trace, count: int) -> None:
        self._trace = trace
        self._count = count
        self.builder = trace.builder
        self.contraction = trace.contraction
        self.kernel = None
        """Checks of vectors are made where they are emitted, as those of a host function."""

    def value(
        self, name: str, operands: Sequence[Any], result: str, attributes: Mapping[str, Any] | None = None
    ) -> Any:
        """One operation on vectors; constants are one number for all elements."""
        if name == "arith.constant":
            return splat(self._trace, self._trace.value(name, operands, result, attributes), self._count, result)
        if name == "llvm.call_intrinsic":
            attributes = {**(attributes or {}), "intrin": self._vector_intrinsic(attributes)}
        return self._trace.value(name, operands, vector_type(self._count, result), attributes)

    def operation(self, name: str, operands: Sequence[Any], attributes: Mapping[str, Any] | None = None) -> Any:
        """A run-time check holds when it holds for every element."""
        assert name == "cf.assert"
        holds = [all_of(self._trace, vector) for vector in operands]
        return self._trace.operation(name, holds, attributes=attributes)

    def _vector_intrinsic(self, attributes: Mapping[str, Any] | None) -> Any:
        name = (attributes or {})["intrin"].value
        return self.builder.string(_SCALAR_SUFFIX.sub(f".v{self._count}", name))
