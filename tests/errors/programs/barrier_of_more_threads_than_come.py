import triptych as tt
from triptych import cute


@tt.kernel
def work():
    if cute.arch.warp_idx() < 2:
        cute.arch.barrier(barrier_id=1, number_of_threads=96)  # error: TT0622 at "cute"


@tt.jit
def host():
    work().launch(grid=1, block=96)


host()
