import triptych as tt


@tt.jit
def double(n: tt.Int32):
    twice: tt.Constexpr = n * 2  # error: TT0207 at "twice:"
    return twice


double(3)
