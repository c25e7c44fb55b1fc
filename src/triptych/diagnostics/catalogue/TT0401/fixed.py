import triptych as tt


@tt.jit
def f(x: tt.Int32):
    return x


f(1)
