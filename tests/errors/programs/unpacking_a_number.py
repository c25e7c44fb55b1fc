import triptych as tt


@tt.jit
def swap(pair: tt.Int32):
    a, b = pair  # error: TT0301 at "a, b = pair"
    return b, a


swap(3)
