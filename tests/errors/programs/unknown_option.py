import triptych as tt


@tt.jit(opt_levle=2)  # error: TT0505 at "tt.jit"
def same(n: tt.Int32):
    return n
