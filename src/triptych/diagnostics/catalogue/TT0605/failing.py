import triptych as tt


@tt.jit
def root(x: tt.Float32):
    assert x >= 0.0, "no root of a negative number"
    return x**0.5


root(-1.0)
