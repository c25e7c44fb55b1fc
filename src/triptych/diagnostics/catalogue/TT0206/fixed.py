import triptych as tt


@tt.jit
def f(n: tt.Int32):
    assert n >= 0, "negative"
    return n


f(3)
