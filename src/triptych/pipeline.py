"""Pipelines and named barriers, under the name that public programs import.

`PipelineCpAsync` is the pipeline of GPUs from generation 80 on; the others are made of mbarriers, of generation 90.
"""

from __future__ import annotations

from triptych.cute.pipeline.copy_pipelines import PipelineCpAsync, PipelineTmaStore
from triptych.cute.pipeline.launch_control import PipelineClcFetchAsync
from triptych.cute.pipeline.mbarrier_pipelines import PipelineAsync, PipelineTmaAsync
from triptych.cute.pipeline.mbarrier_ring import (
    MbarrierArray,
    agent_sync,
    alloc_reserved_mbarrier,
    pipeline_init_arrive,
    pipeline_init_wait,
)
from triptych.cute.pipeline.order import NamedBarrier, PipelineOrder, arrive, arrive_and_wait, sync
from triptych.cute.pipeline.participants import (
    Agent,
    CooperativeGroup,
    PipelineConsumer,
    PipelineOp,
    PipelineProducer,
)
from triptych.cute.pipeline.states import PipelineState, PipelineUserType, make_pipeline_state
from triptych.cute.pipeline.umma_pipelines import (
    PipelineAsyncUmma,
    PipelineTmaMultiConsumersAsync,
    PipelineTmaUmma,
    PipelineUmmaAsync,
)

__all__ = [
    "Agent",
    "CooperativeGroup",
    "MbarrierArray",
    "NamedBarrier",
    "PipelineAsync",
    "PipelineAsyncUmma",
    "PipelineClcFetchAsync",
    "PipelineConsumer",
    "PipelineCpAsync",
    "PipelineOp",
    "PipelineOrder",
    "PipelineProducer",
    "PipelineState",
    "PipelineTmaAsync",
    "PipelineTmaMultiConsumersAsync",
    "PipelineTmaStore",
    "PipelineTmaUmma",
    "PipelineUmmaAsync",
    "PipelineUserType",
    "agent_sync",
    "alloc_reserved_mbarrier",
    "arrive",
    "arrive_and_wait",
    "make_pipeline_state",
    "pipeline_init_arrive",
    "pipeline_init_wait",
    "sync",
]


def __dir__() -> list[str]:
    return __all__
