import triptych as tt


@tt.jit
def same(a: tt.Int32, b: tt.Int32):
    return 1 if a is b else 0  # error: TT0207 at "a is b"


same(5, 5)
