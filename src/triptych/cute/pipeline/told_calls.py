"""Meta-stage, pipelines, debug builds: checkers are told which call of a pipeline comes to which stage.

From barriers alone nobody can say which call is missing. In other builds nothing is emitted.
"""

from __future__ import annotations

from triptych.cute.arch.device import bits32, device_trace, kernel_body
from triptych.cute.pipeline.states import Place
from triptych.simt.check_dialect import CHECK, CHECK_CALL


class ToldCalls:
    """The calls of one pipeline of a kernel."""

    __slots__ = ("_kind", "_number", "_stages")

    def __init__(self, kind: str, stages: int) -> None:
        self._kind, self._stages = kind, stages
        body = kernel_body()
        self._number = body.pipelines
        body.pipelines += 1

    def tell(self, call: str, state: Place) -> None:
        """Before the call does what it does: it may wait for ever."""
        trace = device_trace()
        if not trace.tells_calls:
            return
        builder = trace.builder
        CHECK.load(builder.context)
        numbers = {"pipeline": builder.integer("i32", self._number), "stages": builder.integer("i32", self._stages)}
        words = {"call": builder.string(call), "kind": builder.string(self._kind)}
        trace.operation(CHECK_CALL, (bits32(state.index), bits32(state.phase)), attributes=numbers | words)
