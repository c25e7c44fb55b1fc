import triptych as tt
from triptych import cute


@tt.kernel
def whole():
    tidx, _, _ = cute.arch.thread_idx()
    cute.arch.sync_threads()
    if tidx < 2:
        cute.printf("thread %d", tidx)


@tt.jit
def run():
    whole().launch(grid=1, block=32)


run()
