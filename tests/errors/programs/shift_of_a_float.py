import triptych as tt


@tt.jit
def quadruple(x: tt.Float32):
    return x << 2  # error: TT0301 at "x << 2"


quadruple(1.5)
