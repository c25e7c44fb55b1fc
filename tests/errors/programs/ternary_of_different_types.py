import triptych as tt


@tt.jit
def choose(n: tt.Int32):
    return "big" if n > 10 else n  # error: TT0202 at "\"big\""


choose(1)
