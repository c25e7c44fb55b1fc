import triptych as tt


@tt.jit
def count(n: tt.Int32):
    for i in range(n):
        yield i  # error: TT0101 at "yield"


count(3)
