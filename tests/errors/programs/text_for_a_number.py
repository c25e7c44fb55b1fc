import triptych as tt


@tt.jit
def double(n: tt.Int32):
    return n * 2


double("three")  # error: TT0402 at "double("
