import triptych as tt


@tt.jit
def choose(n: tt.Int32, x: tt.Float32):
    if n > 0:  # error: TT0202 at "n > 0"
        y = n
    else:
        y = x
    return y


choose(1, 2.0)
