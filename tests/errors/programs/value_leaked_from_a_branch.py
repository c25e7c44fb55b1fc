import triptych as tt


@tt.jit
def leak(n: tt.Int32):
    kept = []
    if n > 0:
        tt.at_trace_time(kept.append, n * n)
    return n + kept[0]  # error: TT0208 at "n + kept[0]"


leak(3)
