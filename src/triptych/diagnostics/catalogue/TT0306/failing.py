import threading

import triptych as tt


@tt.jit
def scale(x: tt.Int32, config: tt.Constexpr):
    return x * 2


scale(1, threading.Lock())
