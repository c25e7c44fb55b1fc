import triptych as tt
from triptych import cute


@tt.kernel
def announce() -> None:
    cute.arch.cluster_wait()  # error: TT0627 at "cute"


@tt.jit
def run() -> None:
    announce().launch(grid=2, block=64, cluster=(2, 1, 1))


run()
