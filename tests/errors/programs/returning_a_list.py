import triptych as tt


@tt.jit
def pair(n: tt.Int32):
    return [n, n]  # error: TT0404 at "return"


pair(1)
