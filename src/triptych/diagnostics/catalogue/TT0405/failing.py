import triptych as tt
from triptych import cute


@tt.jit
def host():
    i, _, _ = cute.arch.thread_idx()
    tt.printf("%d", i)


host()
