import time

import triptych as tt


@tt.jit
def elapsed(since: tt.Float64):
    return time.perf_counter() - since  # error: TT0210 at "time.perf_counter()"


elapsed(0.0)
