import triptych as tt


@tt.jit
def double(n: tt.Int32):
    return n * 2


double(1.5)  # error: TT0602 at "double("
