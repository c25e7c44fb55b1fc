import triptych as tt


@tt.jit
def shift(x: tt.Int32, n: tt.Int32):
    return x << n


shift(1, 4)
