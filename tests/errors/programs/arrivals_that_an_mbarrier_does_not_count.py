import triptych as tt
from triptych import cute


@tt.kernel
def announce() -> None:
    barrier = cute.arch.alloc_smem(tt.Int64, 1)
    if cute.arch.warp_idx() == 0:
        with cute.arch.elect_one():
            cute.arch.mbarrier_init(barrier, 1)
    cute.arch.mbarrier_init_fence()
    cute.arch.sync_threads()
    cute.arch.mbarrier_arrive(barrier)  # error: TT0626 at "cute"


@tt.jit
def run() -> None:
    announce().launch(grid=1, block=64)


run()
