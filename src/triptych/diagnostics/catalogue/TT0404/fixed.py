import triptych as tt


@tt.jit
def f(x: tt.Int32):
    return x, x


f(3)
