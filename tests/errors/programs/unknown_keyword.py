import triptych as tt


@tt.jit
def double(n: tt.Int32):
    return n * 2


double(m=1)  # error: TT0401 at "double("
