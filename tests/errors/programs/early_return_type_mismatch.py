import triptych as tt


@tt.jit
def clamp(n: tt.Int32, x: tt.Float32):
    if n > 0:
        return n
    return x  # error: TT0204 at "return"


clamp(1, 2.0)
