import triptych as tt


@tt.jit
def f(x: tt.Float32):
    tt.printf("%d", x)


f(1.5)
