import triptych as tt


@tt.jit
def f(n: tt.Int32):
    if n > 0:
        y = 1
    return y


f(3)
