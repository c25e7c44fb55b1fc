import triptych as tt


@tt.jit
def f(x: tt.Int8):
    return x.to(tt.Int32) + 300


f(1)
