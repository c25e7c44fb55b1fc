import triptych as tt
from triptych import cute


@tt.kernel
def waits():
    cute.arch.cluster_arrive()
    cute.arch.cluster_wait()


@tt.jit
def run():
    waits().launch(grid=2, block=32, cluster=(2, 1, 1))


run()
