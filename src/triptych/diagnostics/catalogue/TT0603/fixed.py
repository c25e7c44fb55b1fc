import triptych as tt


@tt.jit
def double(a: tt.Int32):
    return a + a


double(300)
