import triptych as tt


@tt.jit
def scale(n: tt.Int32):
    if n > 0:
        factor = 2
    return n * factor  # error: TT0201 at "factor"


scale(3)
