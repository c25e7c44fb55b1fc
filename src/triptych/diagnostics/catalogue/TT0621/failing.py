import triptych as tt
from triptych import cute


@tt.kernel
def half():
    tidx, _, _ = cute.arch.thread_idx()
    if tidx < 16:
        cute.arch.sync_threads()
    cute.printf("thread %d", tidx)


@tt.jit
def run():
    half().launch(grid=1, block=32)


run()
