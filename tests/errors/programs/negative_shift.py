import triptych as tt


@tt.jit
def shift(n: tt.Int32, count: tt.Int32):
    return n << count  # error: TT0607 at "n << count"


shift(1, -1)
