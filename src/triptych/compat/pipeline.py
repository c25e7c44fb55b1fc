"""Pipelines and named barriers, under the name that public programs import.

`PipelineCpAsync` is the pipeline of GPUs from generation 80 on. The pipelines on transaction barriers (`PipelineAsync`
and those of the tensor memory accelerator) are not here.
"""

from __future__ import annotations

from triptych.cute.pipeline.async_copy_pipeline import Agent, CooperativeGroup, PipelineCpAsync
from triptych.cute.pipeline.named_barriers import NamedBarrier, arrive, sync
from triptych.cute.pipeline.states import PipelineState, PipelineUserType, make_pipeline_state

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
