import triptych as tt


@tt.jit
def double(n: tt.Int32):
    _tt_twice = n * 2  # error: TT0101 at "_tt_twice"
    return _tt_twice


double(3)
