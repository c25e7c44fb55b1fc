import triptych as tt


@tt.jit
def f(n: tt.Int32):
    a, _, _ = (n, n, n)
    return a


f(3)
