import triptych as tt


@tt.jit
def f(x: tt.Int32):
    for i in range(10_000_000):
        x = x * 3 + i
    return x


f(1)
