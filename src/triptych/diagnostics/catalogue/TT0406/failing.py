import triptych as tt


@tt.jit
@tt.kernel
def k(n: tt.Int32):
    pass
