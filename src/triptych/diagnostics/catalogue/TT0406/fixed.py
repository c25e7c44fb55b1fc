import triptych as tt


@tt.kernel
def k(n: tt.Int32):
    pass
