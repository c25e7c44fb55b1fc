import triptych as tt


@tt.jit
def f(x: tt.Float32, y: tt.Float32):
    return x in (0.0, y)


f(float("nan"), float("nan"))
