import triptych as tt


@tt.jit
def f(x: tt.Float32):
    return x << 2


f(1.5)
