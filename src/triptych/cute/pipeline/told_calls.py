"""Meta-stage, pipelines, debug builds: checkers are told which call of a pipeline comes to which stage.

From barriers alone nobody can say which call is missing. In other builds nothing is emitted.
"""

from __future__ import annotations

from typing import Any

from triptych.cute.pipeline.states import Place
from triptych.cute.tracing.device import bits32, device_trace, kernel_body
from triptych.kernel_ir.dialects.check import CHECK, CHECK_CALL
from triptych.metastage.values.scalars import Int32


class ToldCalls:
    """The calls of one pipeline of a kernel."""

    __slots__ = ("_groups", "_kind", "_number", "_stages")

    def __init__(self, kind: str, stages: int, groups: int = 0) -> None:
        self._kind, self._stages, self._groups = kind, stages, groups
        body = kernel_body()
        self._number = body.pipelines
        body.pipelines += 1

    def tell(self, call: str, state: Place | None = None, group: Any = 0) -> None:
        """Before the call does what it does: it may wait for ever. Some pipelines do not say which stage it is."""
        trace = device_trace()
        if not trace.instrumentation.records_pipelines:
            return
        builder = trace.builder
        CHECK.load(builder.context)
        facts = {"pipeline": self._number, "stages": self._stages, "groups": self._groups}
        facts["ring"] = getattr(state, "stages", self._stages)
        numbers = {name: builder.integer("i32", value) for name, value in facts.items()}
        words = {"call": builder.string(call), "kind": builder.string(self._kind)}
        index, phase = (Int32(0), Int32(0)) if state is None else (Int32(state.index), Int32(state.phase))
        turn = phase + Int32(group) * 2 if self._groups else phase
        trace.operation(CHECK_CALL, (bits32(index), bits32(turn)), attributes=numbers | words)
