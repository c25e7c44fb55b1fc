import triptych as tt


@tt.jit
def choose(n: tt.Int32):
    if n > 0:  # error: TT0202 at "n > 0"
        pair = n, 1
    else:
        pair = n, 1, 2
    return pair[0]


choose(1)
