import triptych as tt


@tt.kernel
def double(x: tt.Int32):
    return x * 2  # error: TT0404 at "return"


@tt.jit
def host(n: tt.Int32):
    double(n).launch(grid=1, block=32)


host(4)
