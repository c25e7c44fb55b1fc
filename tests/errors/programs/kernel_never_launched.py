import triptych as tt


@tt.kernel
def fill(n: tt.Int32):
    pass


@tt.jit
def host(n: tt.Int32):
    fill(n)  # error: TT0403 at "fill(n)"


host(4)
