"""Recorded calls of pipelines, for checkers: debug builds say which call comes to which stage, because from barriers
alone nobody can say which call is missing."""

from __future__ import annotations

from collections.abc import Callable
from functools import wraps
from typing import Any

from triptych.cute.pipeline.states import Place
from triptych.cute.tracing.device import bits32, device_function, device_trace, kernel_body, tracing
from triptych.kernel_ir.dialects.check import CHECK, CHECK_CALL
from triptych.metastage.values.scalars import Int32


class RecordedCalls:
    """The calls of one pipeline of a kernel."""

    __slots__ = ("_groups", "_kind", "_number", "_stages", "inside")

    def __init__(self, kind: str, stages: int, groups: int = 0) -> None:
        self._kind, self._stages, self._groups = kind, stages, groups
        self.inside = False
        """Whether a recorded call is being traced: the calls that it makes are its own affair."""
        body = kernel_body()
        self._number = body.pipelines
        body.pipelines += 1

    def record(self, call: str, state: Place | None = None, group: Any = 0) -> None:
        """Before the call does what it does: it may wait for ever. Some pipelines do not say which stage it is."""
        trace = device_trace()
        if not trace.instrumentation.records_pipelines:
            return
        builder = trace.builder
        CHECK.load(builder.context)
        facts = {"pipeline": self._number, "stages": self._stages, "groups": self._groups}
        facts["ring"] = getattr(state, "stages", 0) or self._stages
        numbers = {name: builder.integer("i32", value) for name, value in facts.items()}
        words = {"call": builder.string(call), "kind": builder.string(self._kind)}
        index, phase = (Int32(0), Int32(0)) if state is None else (Int32(state.index), Int32(state.phase))
        turn = (phase & 1) + Int32(group) * 2 if self._groups else phase & 1
        trace.operation(CHECK_CALL, (bits32(index), bits32(turn)), attributes=numbers | words)


def _recorded(function: Callable[..., Any]) -> Callable[..., Any]:
    """Record a method of a pipeline, which others may override, before it does what it does."""

    @wraps(function)
    def called(self: RecordsCalls, *args: object, **kwargs: object) -> Any:
        calls = self._calls
        if calls.inside:
            return tracing().hooks.call(function, self, *args, **kwargs)
        state: Any = kwargs.get("state", args[0] if args else None)
        calls.record(function.__name__, state)
        calls.inside = True
        try:
            return tracing().hooks.call(function, self, *args, **kwargs)
        finally:
            calls.inside = False

    return device_function(called)


_RECORDED = ("producer_acquire", "producer_commit", "producer_tail", "consumer_wait", "consumer_release")


class RecordsCalls:
    """Mixin of pipelines, and of classes that programs derive from them: their own methods are recorded as ours are."""

    _calls: RecordedCalls

    def __init_subclass__(cls) -> None:
        super().__init_subclass__()
        for name in _RECORDED:
            if name in vars(cls):
                setattr(cls, name, _recorded(vars(cls)[name]))
