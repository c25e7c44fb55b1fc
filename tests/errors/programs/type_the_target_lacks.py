import triptych as tt


@tt.jit
def same(n: tt.Int128):
    return n


same(1)  # error: TT0501 at "same("
