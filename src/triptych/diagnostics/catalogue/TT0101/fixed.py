import triptych as tt


@tt.jit
def f(x: tt.Int32, d: tt.Int32):
    return x // d if d != 0 else 0


f(3, 3)
