import triptych as tt
from triptych import cute


@tt.kernel
def arrives():
    barrier = cute.arch.alloc_smem(tt.Int64, 1)
    with cute.arch.elect_one():
        cute.arch.mbarrier_init(barrier, 1)
    cute.arch.mbarrier_init_fence()
    cute.arch.sync_threads()
    cute.arch.mbarrier_arrive(barrier)
    cute.arch.mbarrier_wait(barrier, 0)


@tt.jit
def run():
    arrives().launch(grid=1, block=32)


run()
