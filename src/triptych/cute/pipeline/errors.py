"""What can be wrong with pipelines while a kernel is traced."""

from __future__ import annotations

from triptych.cute.tracing.cute_errors import TensorError


class PipelineError(TensorError, ValueError):
    """A pipeline whose producers and consumers, or whose stages, the barriers of a block cannot serve."""

    code = "TT0920"
    failing = """
from triptych import cute, pipeline

@tt.kernel
def k():
    block = pipeline.CooperativeGroup(pipeline.Agent.ThreadBlock)
    warp = pipeline.CooperativeGroup(pipeline.Agent.Thread, 32)
    pipeline.PipelineCpAsync.create(num_stages=3, producer_group=warp, consumer_group=block)

@tt.jit
def f():
    k().launch(grid=1, block=64)

f()
"""
    fixed = """
from triptych import cute, pipeline

@tt.kernel
def k():
    warp = pipeline.CooperativeGroup(pipeline.Agent.Thread, 32)
    pipeline.PipelineCpAsync.create(num_stages=3, producer_group=warp, consumer_group=warp)

@tt.jit
def f():
    k().launch(grid=1, block=64)

f()
"""
