import triptych as tt


@tt.jit
def positive(n: tt.Int32):
    if n > 0:
        return n  # error: TT0204 at "return"


positive(1)
