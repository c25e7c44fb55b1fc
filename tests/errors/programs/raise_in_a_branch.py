import triptych as tt


@tt.jit
def root(n: tt.Int32):
    if n < 0:
        raise ValueError("no root of a negative number")  # error: TT0206 at "raise"
    return n


root(4)
