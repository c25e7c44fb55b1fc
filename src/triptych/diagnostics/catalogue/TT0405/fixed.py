import triptych as tt
from triptych import cute


@tt.kernel
def k():
    i, _, _ = cute.arch.thread_idx()
    tt.printf("%d", i)


@tt.jit
def host():
    k().launch(grid=1, block=1)


host()
