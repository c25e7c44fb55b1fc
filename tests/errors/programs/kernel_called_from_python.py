import triptych as tt


@tt.kernel
def fill(n: tt.Int32):
    pass


fill(4)  # error: TT0403 at "fill("
