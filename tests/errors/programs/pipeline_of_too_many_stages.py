import triptych as tt
from triptych import pipeline

WARP = pipeline.CooperativeGroup(pipeline.Agent.Warp)


@tt.kernel
def kernel():
    create = pipeline.PipelineCpAsync.create
    create(num_stages=8, producer_group=WARP, consumer_group=WARP)  # error: TT0920 at "create(num"


@tt.jit
def launch():
    kernel().launch(grid=1, block=64)


launch()
