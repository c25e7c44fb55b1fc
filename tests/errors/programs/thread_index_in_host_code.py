import triptych as tt
from triptych import cute


@tt.jit
def host(n: tt.Int32):
    x, _, _ = cute.arch.thread_idx()  # error: TT0405 at "cute.arch.thread_idx()"
    return x + n


host(4)
