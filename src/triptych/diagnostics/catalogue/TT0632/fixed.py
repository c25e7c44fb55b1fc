import triptych as tt
from triptych import cute


@tt.kernel
def meet(times: tt.Int64):
    for _ in range(times):
        cute.arch.sync_threads()


@tt.jit
def run(times: tt.Int64):
    meet(times).launch(grid=1, block=64)


run(5_000_000_000)  # without the checker
