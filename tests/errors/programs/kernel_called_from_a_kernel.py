import triptych as tt


@tt.kernel
def inner(n: tt.Int32):
    pass


@tt.kernel
def outer(n: tt.Int32):
    inner(n).launch(grid=1, block=1)  # error: TT0403 at "inner(n)"


@tt.jit
def host(n: tt.Int32):
    outer(n).launch(grid=1, block=1)


host(4)
