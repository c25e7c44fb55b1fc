import triptych as tt


@tt.jit
def f(x: tt.Int64):
    return x


f(1)
