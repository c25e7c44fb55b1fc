"""`triptych.compat.pipeline` under its shorter name."""

from __future__ import annotations

from triptych.compat.pipeline import (
    Agent,
    CooperativeGroup,
    NamedBarrier,
    PipelineCpAsync,
    PipelineState,
    PipelineUserType,
    arrive,
    make_pipeline_state,
    sync,
)

__all__ = [
    "Agent",
    "CooperativeGroup",
    "NamedBarrier",
    "PipelineCpAsync",
    "PipelineState",
    "PipelineUserType",
    "arrive",
    "make_pipeline_state",
    "sync",
]


def __dir__() -> list[str]:
    return __all__
