import triptych as tt


@tt.jit
def shift(x: tt.Int8):
    return x + 300  # error: TT0302 at "x + 300"


shift(1)
