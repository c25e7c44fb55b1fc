import triptych as tt


@tt.jit
def same(n: tt.Int32):
    return n


tt.compile(same, 1, opt_level=4)  # error: TT0505 at "tt.compile"
