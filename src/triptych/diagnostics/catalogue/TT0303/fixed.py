import triptych as tt


@tt.jit
def f(x: tt.Float32):
    tt.printf("%f", x)


f(1.5)
