import triptych as tt
from triptych import cute


@tt.kernel
def waits():
    if cute.arch.warp_idx() == 0:
        cute.arch.barrier(barrier_id=1, number_of_threads=64)
    else:
        cute.arch.barrier_arrive(barrier_id=1, number_of_threads=64)


@tt.jit
def run():
    waits().launch(grid=1, block=64)


run()
