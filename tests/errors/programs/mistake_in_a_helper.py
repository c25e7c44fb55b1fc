import triptych as tt


def half(x):
    return x >> 1  # error: TT0301 at "x >> 1"


def middle(a, b):
    return half(a + b)


@tt.jit
def average(a: tt.Float32, b: tt.Float32):
    return middle(a, b)


average(1.0, 2.0)
