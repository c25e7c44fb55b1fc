import triptych as tt


@tt.jit
def choose(n: tt.Int32):
    if tt.const_expr(n > 0):  # error: TT0207 at "tt.const_expr"
        return 1
    return 2


choose(3)
