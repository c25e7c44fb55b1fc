import triptych as tt


@tt.jit
def f(n: tt.Int32):
    limit = 5
    return limit * n


f(3)
