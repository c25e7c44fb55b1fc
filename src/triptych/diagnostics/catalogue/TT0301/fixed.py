import triptych as tt


@tt.jit
def f(x: tt.Float32):
    return x.to(tt.Int32) << 2


f(1.5)
