import triptych as tt
from triptych import cute
from triptych.support.config import override


@tt.kernel
def meet(times: tt.Int64):
    for _ in range(times):
        cute.arch.sync_threads()


@tt.jit
def run(times: tt.Int64):
    meet(times).launch(grid=1, block=64)


with override(debug="races"):
    run(5_000_000_000)  # more barriers than the checker can count
