import triptych as tt


@tt.jit
def f(n: tt.Int32):
    range = 5
    return range(n)


f(3)
