import triptych as tt


@tt.jit
def f(x: tt.Float32, y: tt.Float32):
    return x == 0.0 or x == y


f(float("nan"), float("nan"))
