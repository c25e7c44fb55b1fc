import triptych as tt
from triptych import pipeline


@tt.kernel
def k():
    warp = pipeline.CooperativeGroup(pipeline.Agent.Thread, 32)
    pipeline.PipelineCpAsync.create(num_stages=3, producer_group=warp, consumer_group=warp)


@tt.jit
def f():
    k().launch(grid=1, block=64)


f()
