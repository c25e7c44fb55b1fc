import triptych as tt


@tt.jit
def f(n: tt.Int32, x: tt.Float32):
    if n > 0:
        return n
    return x


f(3, 1.5)
