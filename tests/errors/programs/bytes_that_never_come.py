import triptych as tt
from triptych import cute


@tt.kernel
def waits_for_bytes() -> None:
    full = cute.arch.alloc_smem(tt.Int64, 2) + 1
    with cute.arch.elect_one():
        cute.arch.mbarrier_init(full, 1)
    cute.arch.mbarrier_init_fence()
    cute.arch.sync_threads()
    with cute.arch.elect_one():
        cute.arch.mbarrier_arrive_and_expect_tx(full, 4096)
    cute.arch.mbarrier_wait(full, 0)  # error: TT0622 at "cute"


@tt.jit
def run() -> None:
    waits_for_bytes().launch(grid=1, block=32)


run()
