import triptych as tt


@tt.jit
def double(n: tt.Int32):
    return n * 2


double(2**40)  # error: TT0603 at "double("
