"""`triptych.compat.pipeline` under its shorter name."""

from __future__ import annotations

from triptych.compat.pipeline import (
    Agent,
    CooperativeGroup,
    NamedBarrier,
    PipelineAsync,
    PipelineConsumer,
    PipelineCpAsync,
    PipelineOrder,
    PipelineProducer,
    PipelineState,
    PipelineTmaAsync,
    PipelineTmaStore,
    PipelineUserType,
    arrive,
    arrive_and_wait,
    make_pipeline_state,
    pipeline_init_arrive,
    pipeline_init_wait,
    sync,
)

__all__ = [
    "Agent",
    "CooperativeGroup",
    "NamedBarrier",
    "PipelineAsync",
    "PipelineConsumer",
    "PipelineCpAsync",
    "PipelineOrder",
    "PipelineProducer",
    "PipelineState",
    "PipelineTmaAsync",
    "PipelineTmaStore",
    "PipelineUserType",
    "arrive",
    "arrive_and_wait",
    "make_pipeline_state",
    "pipeline_init_arrive",
    "pipeline_init_wait",
    "sync",
]


def __dir__() -> list[str]:
    return __all__
