import triptych as tt


@tt.jit
def double(a: tt.Int8):
    return a + a


double(300)
