import triptych as tt


@tt.jit
def halve(n: tt.Int32):
    while n > 1:
        n = n / 2  # error: TT0203 at "n = "
    return n


halve(4)
