import triptych as tt


@tt.jit
def f(n: tt.Int32, boxed: tt.Int32):
    return n + boxed


f(3, 3)
