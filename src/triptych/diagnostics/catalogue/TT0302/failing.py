import triptych as tt


@tt.jit
def f(x: tt.Int8):
    return x + 300


f(1)
