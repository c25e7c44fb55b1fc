import triptych as tt


@tt.kernel
def k(n: tt.Int32):
    pass


@tt.jit
def host(n: tt.Int32):
    k(n).launch(grid=(1, 1, 1), block=(32, 1, 1))


host(3)
