import threading

import triptych as tt


@tt.jit
def locked(n: tt.Int32, lock: tt.Constexpr):
    return n


locked(1, threading.Lock())  # error: TT0306 at "locked("
