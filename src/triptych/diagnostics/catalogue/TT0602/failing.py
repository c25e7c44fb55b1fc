import triptych as tt


@tt.jit
def double(a: tt.Int32):
    return a + a


tt.compile(double, 1)("one")
